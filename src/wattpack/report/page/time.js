// Charts over time: decodes the curves, keeps what the reader chose, and hands the charts what to draw.

import { byId, decode, element, makeSortable, swatch } from "./parts.js";
import { TimeCharts } from "./time_chart.js";

let data, charts;
const HOUR = 3600, DAY = 86400;
const STEPS = [60, 300, 600, 1800, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 56 * DAY, 112 * DAY, 365 * DAY];
const state = { group: 0, range: null, hidden: new Set() };
const decoded = new Map();

const group = () => data.groups[state.group];
const whole = () => [0, group().step * group().count];

function values(text, unit) {
  const key = `${state.group}/${text}/${unit}`;
  if (!decoded.has(key)) decoded.set(key, decode(text, unit, group().count));
  return decoded.get(key);
}

// The time of day and the date where the run has one, else the day of the run.
function clock(seconds, fine) {
  const { start } = group();
  const pad = (number) => String(number).padStart(2, "0");
  if (start === null) {
    const day = Math.floor(seconds / DAY + 1e-9), rest = Math.round(seconds - day * DAY);
    return fine ? `day ${day + 1}, ${pad(Math.floor(rest / HOUR))}:${pad(Math.floor(rest % HOUR / 60))}` : rest ? `${pad(Math.floor(rest / HOUR))}:${pad(Math.floor(rest % HOUR / 60))}` : `day ${day + 1}`;
  }
  const at = new Date((start + seconds) * 1000); // of the run's own time zone: `start` has its offset in it
  const date = `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`, time = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
  return fine ? `${date} ${time}` : time === "00:00" ? date.slice(5) : time;
}

// Full hours and days of the clock.
function timeTicks(from, to, most) {
  const step = STEPS.find((size) => (to - from) / size <= most) || Math.ceil((to - from) / most / DAY) * DAY;
  const offset = group().start === null ? 0 : ((group().start % step) + step) % step;
  const found = [];
  for (let at = Math.ceil((from + offset) / step) * step - offset; at <= to; at += step) found.push([at, clock(at, false)]);
  return found;
}

function panels() {
  const shown = group().panels.filter((panel) => !panel.areas || !state.hidden.has(group().curves[panel.curve].name));
  return shown.map((panel) => ({
    ...panel,
    areas: panel.areas && panel.areas.map((area, place) => ({ cls: "n" + place, y: values(area.lo, panel.step) })),
    lines: panel.lines.map((line) => {
      const lo = values(line.lo, panel.step);
      const curve = line.curve === undefined ? { name: line.name, cls: "signal", dash: line.dash || [] } : group().curves[line.curve];
      return { ...curve, curve: line.curve, lo, hi: line.hi === undefined ? lo : values(line.hi, panel.step) };
    }).filter((line) => !state.hidden.has(line.name)),
  }));
}

function zoom(range) {
  const [from, to] = whole();
  const least = Math.min(to - from, 4 * group().step);
  state.range = range === null || range[1] - range[0] >= to - from ? null : range;
  if (state.range) {
    const width = Math.max(least, range[1] - range[0]);
    const start = Math.min(Math.max(from, range[0]), to - width);
    state.range = [start, start + width];
  }
  render();
}

// One value of a bucket, or its range, with the digits that its panel has.
function shown(panel, line, place) {
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(panel.step) + 1e-9)));
  const [low, high] = [line.lo[place], line.hi[place]].map((value) => value.toFixed(Math.min(digits, panel.digits)).replace("-", "−"));
  return low === high ? low : `${low} to ${high}`;
}

function showReadout(place, across, spoken) {
  const box = byId("readout");
  box.hidden = place === null;
  if (place === null) return;
  const { model } = charts, own = model.panels.filter((panel) => panel.lines.some((line) => line.curve !== undefined));
  const table = element("table");
  table.appendChild(element("caption", clock(place * group().step, true)));
  const head = table.createTHead().insertRow();
  head.appendChild(element("th", ""));
  for (const panel of own) head.appendChild(element("td", panel.short));
  const stacks = model.panels.filter((panel) => panel.areas);
  if (stacks.length) head.appendChild(element("td", stacks[0].short));
  const body = table.createTBody();
  const said = [];
  group().curves.forEach((curve, number) => {
    if (state.hidden.has(curve.name)) return;
    const row = body.insertRow();
    const name = row.appendChild(element("th"));
    name.scope = "row";
    name.append(swatch(curve), curve.name);
    for (const panel of own) {
      const line = panel.lines.find((one) => one.curve === number);
      row.insertCell().textContent = line && Number.isFinite(line.lo[place]) ? shown(panel, line, place) : "";
    }
    const stack = stacks.find((panel) => panel.curve === number);
    if (stack) row.insertCell().textContent = stack.areas.map((area) => Number(area.y[place].toFixed(1))).join(" / ");
    said.push([...row.cells].map((cell) => cell.textContent).join(" "));
  });
  for (const panel of model.panels) {
    for (const line of panel.lines.filter((one) => one.curve === undefined && Number.isFinite(one.lo[place]))) {
      const row = body.insertRow();
      row.appendChild(element("th", line.name));
      const cell = row.insertCell();
      cell.colSpan = own.length + (stacks.length ? 1 : 0);
      cell.textContent = `${shown(panel, line, place)} ${panel.unit}`;
    }
  }
  box.replaceChildren(table);
  const scale = byId("chart").clientWidth / byId("plot").viewBox.baseVal.width;
  const onLeft = across * scale > byId("chart").clientWidth / 2;
  box.style.left = onLeft ? "" : across * scale + 14 + "px";
  box.style.right = onLeft ? byId("chart").clientWidth - across * scale + 14 + "px" : "";
  if (spoken) byId("live").textContent = `${clock(place * group().step, true)}: ${said.join("; ")}`;
}

function renderLegend() {
  const legend = byId("legend");
  const { activeElement } = document, held = activeElement instanceof HTMLElement && legend.contains(activeElement) ? activeElement.dataset.name : null;
  legend.replaceChildren();
  for (const curve of group().curves) {
    const button = legend.appendChild(element("button"));
    button.type = "button";
    button.dataset.name = curve.name;
    button.append(swatch(curve), curve.name);
    button.setAttribute("aria-pressed", String(!state.hidden.has(curve.name)));
    button.addEventListener("click", () => {
      if (!state.hidden.delete(curve.name)) state.hidden.add(curve.name);
      render();
    });
    if (curve.name === held) button.focus();
  }
}

function render() {
  const range = state.range || whole();
  byId("chart-note").textContent = group().note;
  byId("shown-range").textContent = `${clock(range[0], true)} to ${clock(range[1], true)}`;
  for (const button of byId("ranges").children) button.setAttribute("aria-pressed", String(Number(button.dataset.seconds) === Math.round(state.range ? range[1] - range[0] : 0)));
  for (const part of document.querySelectorAll(".trace")) part.hidden = Number(part.dataset.trace) !== state.group;
  if (byId("states")) byId("states").hidden = !group().panels.some((panel) => panel.areas);
  renderLegend();
  charts.draw({ step: group().step, count: group().count, range, ticks: timeTicks, panels: panels(), label: `${group().title}: ${group().panels.map((panel) => panel.name).join(", ")} over time. Arrow keys read the values.` });
}

function shift(share) {
  const range = state.range || whole(), by = (range[1] - range[0]) * share;
  zoom([range[0] + by, range[1] + by]);
}

function fillRanges() {
  byId("ranges").replaceChildren();
  const length = group().step * group().count;
  /** @type {[string, number][]} */
  const lengths = [["all", 0], ["4 weeks", 28 * DAY], ["a week", 7 * DAY], ["a day", DAY], ["6 hours", 6 * HOUR], ["an hour", HOUR]];
  for (const [name, seconds] of lengths) {
    if (seconds >= length || (seconds > 0 && seconds < 8 * group().step)) continue;
    const button = byId("ranges").appendChild(element("button", name));
    button.type = "button";
    button.dataset.seconds = seconds;
    button.addEventListener("click", () => {
      const range = state.range || whole(), middle = state.range ? (range[0] + range[1]) / 2 : seconds / 2;
      zoom(seconds === 0 ? null : [middle - seconds / 2, middle + seconds / 2]);
    });
  }
}

function setUp() {
  byId("trace").addEventListener("change", (event) => { state.group = Number(event.target.value); state.range = null; fillRanges(); render(); });
  byId("earlier").addEventListener("click", () => shift(-0.5));
  byId("later").addEventListener("click", () => shift(0.5));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("curves").hidden = false;
  charts = new TimeCharts(byId("plot"), showReadout, (range) => zoom(range));
  new ResizeObserver(() => charts.model && charts.draw(charts.model)).observe(byId("chart"));
}

// Draw a payload into the elements of `time_curves.html`, which are in the page.
export function showTime(given) {
  data = given;
  decoded.clear();
  if (!charts || charts.svg !== byId("plot")) {
    Object.assign(state, { group: 0, range: null, hidden: new Set() });
    setUp();
  }
  state.group = Math.min(state.group, data.groups.length - 1);
  byId("trace-field").hidden = data.groups.length < 2;
  for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
  fillRanges();
  render();
}
