// Curves over load: decodes them, keeps what the reader chose, and hands the chart what to draw.

import { BASE64, byId, decode, element, makeSortable, swatch } from "./parts.js";
import { Chart } from "./chart.js";

// Loads that the curve has a value or a gap for: letters that end a number.
const reach = (text) => [...text].filter((letter) => letter === "~" || BASE64.indexOf(letter) < 32).length;

const percent = (value) => value.toFixed(2).replace("-", "−") + " %";

function measuresOf(data) {
  const megawatts = data.units.eopc >= 10; // small datacenters read better in kW
  const hasSaving = data.traces.some((trace) => trace.curves.some((curve) => curve.mean.saving.length > 0));
  const all = [
    { key: "saving", name: "Saving", unit: `% of the W per GPU served of ${data.against}`, scale: 1, format: percent, zeroLine: true, settled: 0.1 },
    { key: "eopc", name: "EOPC", unit: megawatts ? "MW" : "kW", scale: megawatts ? 1e-6 : 1e-3, format: (v) => v.toFixed(3) + (megawatts ? " MW" : " kW"), fromZero: true },
    { key: "grar", name: "GRAR", unit: "GPU allocated / requested", scale: 1, format: (v) => v.toFixed(4) },
    { key: "allocated", name: "GPU allocated", unit: "% of capacity", scale: 100, format: percent, fromZero: true },
    { key: "fragmentation", name: "Fragmentation", unit: "GPUs", scale: 1, format: (v) => v.toFixed(1), fromZero: true },
    { key: "reasons", name: "Fragmentation by reason", unit: "GPUs", scale: 1, format: (v) => v.toFixed(v < 10 ? 1 : 0), stacked: true, fromZero: true },
  ];
  return all.filter((measure) => measure.key !== "saving" || hasSaving);
}

// What is shown: the payload, and what the reader chose. A payload with more runs keeps the reader's choice.
let data, LOADS, measures, chart;
const state = { trace: 0, measure: null, policy: 0, range: null, bands: true, hidden: new Set() };
const decoded = new Map();

function once(key, make) {
  if (!decoded.has(key)) decoded.set(key, make());
  return decoded.get(key);
}

function reached(trace) {
  const length = Math.max(...data.traces[trace].curves.map((curve) => reach(curve.mean.eopc)));
  return LOADS[Math.max(1, length - 1)];
}

const wholeRange = () => [0, Math.min(1, reached(state.trace))];

// The lines of the chosen measure, those hidden included: {label, cls, dash, y, spread, name}.
function allLines() {
  const { trace, measure, policy } = state;
  const curves = data.traces[trace].curves;
  if (measure.stacked) {
    const curve = curves[policy];
    return data.reasons
      .map((reason, i) => ({ name: "reason " + reason.name, label: reason.name, cls: "r" + i, dash: [], y: once(`${trace}/${policy}/r${i}`, () => decode(curve.reasons[i], data.units.reasons, data.count)) }))
      .filter((line) => line.y.some((value) => value > 0));
  }
  return curves.map((curve, place) => {
    const { name, label, dash } = data.policies[curve.policy];
    const unit = data.units[measure.key] * measure.scale;
    const spread = curve.spread[measure.key];
    return {
      name, label, dash, cls: "p" + curve.policy, heavy: label === data.against,
      y: once(`${trace}/${place}/${measure.key}`, () => decode(curve.mean[measure.key], unit, data.count)),
      spread: spread && spread.length ? once(`${trace}/${place}/${measure.key}/spread`, () => decode(spread, unit, data.count)) : null,
    };
  }).filter((line) => line.y.some(Number.isFinite));
}

const shownLines = () => allLines().filter((line) => !state.hidden.has(line.name));

function zoomTo(range) {
  state.range = range && range[1] - range[0] >= 0.02 ? range.map((load) => Math.round(load * 100) / 100) : null;
  render();
}

function showReadout(place, across, spoken) {
  const box = byId("readout");
  box.hidden = place === null;
  if (place === null) return;
  const { measure } = state;
  const rows = shownLines().filter((line) => Number.isFinite(line.y[place]));
  if (measure.stacked) rows.reverse();
  else rows.sort((a, b) => b.y[place] - a.y[place]);
  const table = element("table");
  table.appendChild(element("caption", "Load " + LOADS[place].toFixed(2)));
  for (const line of rows) {
    const row = table.insertRow();
    const head = row.appendChild(element("th"));
    head.scope = "row";
    head.append(swatch(line, measure.stacked), line.label);
    const cell = row.insertCell();
    cell.textContent = measure.format(line.y[place]);
    if (state.bands && line.spread && !(measure.key === "saving" && line.heavy)) cell.appendChild(element("small", " ±" + measure.format(line.spread[place]).replace(/ .*/, "")));
  }
  if (measure.stacked) {
    const row = table.insertRow();
    row.appendChild(element("th", "total"));
    row.insertCell().textContent = measure.format(rows.reduce((sum, line) => sum + line.y[place], 0));
  }
  box.replaceChildren(table);
  // Beside the crosshair, on the side that has more room; below the chart on a narrow page (the style says so).
  const scale = byId("chart").clientWidth / byId("plot").viewBox.baseVal.width;
  const onLeft = across * scale > byId("chart").clientWidth / 2;
  box.style.left = onLeft ? "" : across * scale + 14 + "px";
  box.style.right = onLeft ? byId("chart").clientWidth - across * scale + 14 + "px" : "";
  if (spoken) byId("live").textContent = `Load ${LOADS[place].toFixed(2)}: ` + rows.map((line) => `${line.label} ${measure.format(line.y[place])}`).join(", ");
}

function renderLegend() {
  const legend = byId("legend");
  const { activeElement } = document, held = activeElement instanceof HTMLElement && legend.contains(activeElement) ? activeElement.dataset.name : null;
  legend.replaceChildren();
  for (const line of allLines()) {
    const button = legend.appendChild(element("button"));
    button.type = "button";
    button.dataset.name = line.name;
    button.append(swatch(line, state.measure.stacked), line.label);
    button.setAttribute("aria-pressed", String(!state.hidden.has(line.name)));
    button.addEventListener("click", () => {
      if (!state.hidden.delete(line.name)) state.hidden.add(line.name);
      render();
    });
    if (line.name === held) button.focus();
  }
}

function render() {
  const { measure } = state;
  const trace = data.traces[state.trace];
  const range = state.range || wholeRange();
  const about = measure.stacked ? `, ${data.policies[trace.curves[state.policy].policy].label}` : "";
  byId("chart-title").replaceChildren(`${measure.name} on ${trace.label}${about} `, element("span", `(${measure.unit})`, "unit"));
  byId("policy-field").hidden = !measure.stacked;
  byId("bands").closest("label").hidden = Boolean(measure.stacked) || !allLines().some((line) => line.spread);
  byId("from").value = range[0].toFixed(2);
  byId("to").value = range[1].toFixed(2);
  for (const button of byId("ranges").children) button.setAttribute("aria-pressed", String(button.dataset.range === range.map((load) => load.toFixed(2)).join()));
  for (const part of document.querySelectorAll(".trace")) part.hidden = Number(part.dataset.trace) !== state.trace;
  renderLegend();
  chart.draw({
    x: LOADS, range, lines: shownLines(), stacked: measure.stacked, bands: state.bands, zeroLine: measure.zeroLine,
    settled: measure.settled || 0, fromZero: measure.fromZero && !state.range, format: measure.format,
    label: `${measure.name} over load on ${trace.label}${about}, in ${measure.unit}. Arrow keys read the values.`,
  });
}

function fillPolicies() {
  const select = byId("policy");
  const before = select.selectedOptions.length ? select.selectedOptions[0].textContent : data.policies.find((p) => p.label === data.against)?.label;
  select.replaceChildren();
  data.traces[state.trace].curves.forEach((curve, place) => {
    if (!curve.reasons.some((reason) => reason.length)) return;
    const option = select.appendChild(element("option", data.policies[curve.policy].label));
    option.value = place;
    option.selected = option.textContent === before;
  });
  state.policy = Number(select.value) || 0;
}

function setUp() {
  for (const measure of measures) {
    const label = byId("measures").appendChild(element("label"));
    const input = label.appendChild(element("input"));
    Object.assign(input, { type: "radio", name: "measure", value: measure.key, checked: measure === state.measure });
    label.appendChild(element("span", measure.name));
    input.addEventListener("change", () => { state.measure = measures.find((own) => own.key === measure.key); render(); });
  }
  for (const [from, to] of [[0, 1], [0.8, 1], [0, 1.3]].filter((range) => range[1] <= reached(0) + 0.005)) {
    const button = byId("ranges").appendChild(element("button", `${from}–${to}`));
    button.type = "button";
    button.dataset.range = `${from.toFixed(2)},${to.toFixed(2)}`;
    button.addEventListener("click", () => { state.range = from === 0 && to === 1 ? null : [from, to]; render(); });
  }
  byId("trace").addEventListener("change", (event) => { state.trace = Number(event.target.value); fillPolicies(); render(); });
  byId("policy").addEventListener("change", (event) => { state.policy = Number(event.target.value); render(); });
  byId("bands").addEventListener("change", (event) => { state.bands = event.target.checked; render(); });
  for (const id of ["from", "to"]) {
    byId(id).addEventListener("change", () => {
      const range = [Number(byId("from").value), Number(byId("to").value)].map((load) => Math.min(1.3, Math.max(0, load)));
      if (range[1] - range[0] >= 0.02) state.range = range;
      render();
    });
  }
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("curves").hidden = false;
  chart = new Chart(byId("plot"), showReadout, zoomTo);
  new ResizeObserver(() => chart.model && chart.draw(chart.model)).observe(byId("chart"));
}

// Draw a payload into the elements of `curves.html`, which are in the page.
export function showCurves(given) {
  data = given;
  LOADS = Array.from({ length: data.count }, (_, i) => Math.round(i * data.step * 1000) / 1000);
  decoded.clear();
  const fresh = !chart || chart.svg !== byId("plot");
  measures = measuresOf(data);
  state.measure = (!fresh && measures.find((measure) => measure.key === state.measure.key)) || measures[0];
  if (fresh) Object.assign(state, { trace: 0, range: null, bands: true, hidden: new Set() });
  state.trace = Math.min(state.trace, data.traces.length - 1);
  if (fresh) setUp();
  byId("trace-field").hidden = data.traces.length < 2;
  for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
  fillPolicies();
  render();
}
