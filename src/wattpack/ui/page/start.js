// The form that starts a run, and the list of runs.

import { byId, element } from "./parts.js";
import { allChoices, askJson, fillSelect, soon, tried, upload } from "./asking.js";

let ready = null; // the form is filled once

export async function openStart() {
  const choices = await allChoices(ready !== null);
  if (ready === null) setUp(choices);
  ready = choices;
  showRuns(choices.runs);
  tellWords();
}

const kind = () => byId("start-form").elements.kind.value;
const checked = (id) => [...byId(id).querySelectorAll("input:checked")].map((input) => input.value);
const words = (id) => byId(id).value.split(/[\s,;]+/).filter(Boolean);

// The request as the server takes it; options of the other kind are left out.
export function request() {
  const shared = {
    kind: kind(), datacenter: byId("start-datacenter").value, traces: checked("start-traces"), policies: checked("start-policies"), against: byId("start-against").value,
    seeds: Number(byId("start-seeds").value), bound: byId("start-bound").checked, profile: byId("start-profile").value,
    add: words("start-add"), remove: words("start-remove"), replace: words("start-replace"),
  };
  if (kind() === "compare") return shared;
  const text = (id) => byId(id).value.trim(), ownTimes = byId("start-own-times").checked;
  return {
    ...shared, load: ownTimes ? null : Number(byId("start-load").value), days: ownTimes ? null : Number(byId("start-days").value), queue: byId("start-queue").value,
    patience: text("start-patience"), pue: text("start-pue"), carbon: byId("start-carbon").value, price: text("start-price"), budget_kw: text("start-budget"),
    sleep: byId("start-sleep").checked ? "on" : "", cap: text("start-cap"),
  };
}

function pill(parent, name, text, title, chosen) {
  const label = byId(parent).appendChild(element("label"));
  const input = label.appendChild(element("input"));
  Object.assign(input, { type: "checkbox", value: name, checked: chosen });
  label.appendChild(element("span", text));
  label.title = title;
}

function addPolicy(expression, text) {
  const there = [...byId("start-policies").querySelectorAll("input")].find((input) => input.value === expression);
  if (there) there.checked = true;
  else pill("start-policies", expression, text, expression, true);
  tellWords();
}

function fillInputs(choices) {
  const before = byId("start-datacenter").value;
  fillSelect(byId("start-datacenter"), choices.datacenters.map((own) => [own.name, own.name]), before);
  const chosen = new Set(byId("start-traces").querySelector("input") ? checked("start-traces") : [choices.traces[0].name]);
  for (const old of [...byId("start-traces").querySelectorAll("label")]) old.remove();
  for (const trace of choices.traces) pill("start-traces", trace.name, trace.name, `${trace.tasks.toLocaleString("en")} tasks`, chosen.has(trace.name));
}

const tellWords = soon(async () => {
  const own = ready.datacenters.find((one) => one.name === byId("start-datacenter").value);
  byId("start-datacenter-text").textContent = own ? own.text : "";
  const asked = request();
  const runs = asked.traces.length * new Set([asked.against || "fgd", ...asked.policies]).size * asked.seeds;
  byId("start-note").textContent = asked.traces.length === 0 ? "Choose a trace." : `${runs} runs`;
  byId("start-run").disabled = asked.traces.length === 0;
  if (asked.traces.length === 0) return;
  // What cannot be said as a command is shown when it is started.
  const told = await askJson("/api/words", asked).catch((fault) => ({ command: fault.message, python: "" }));
  byId("start-command").textContent = told.command;
  byId("start-python").textContent = told.python;
}, 120);

function setUp(choices) {
  fillInputs(choices);
  for (const policy of choices.policies) pill("start-policies", policy.name, policy.label, policy.text, ["fgd", "pwr", "ocs"].includes(policy.name));
  addPolicy("pwr:0.1+fgd:0.9", "PWR 0.1 + FGD 0.9");
  fillSelect(byId("start-against"), [["", "the default"], ...choices.policies.map((policy) => [policy.name, policy.label])], "");
  fillSelect(byId("start-profile"), choices.profiles.map((name) => [name, name]), choices.profiles[0]);
  fillSelect(byId("start-carbon"), [["", "none"], ...choices.zones], "");
  for (const id of ["alpha", "knob", "load"]) {
    byId(`start-${id}`).addEventListener("input", (event) => { byId(`start-${id}-value`).textContent = Number(event.target.value).toFixed(2); });
  }
  byId("start-alpha-add").addEventListener("click", () => {
    const alpha = Number(byId("start-alpha").value), rest = Math.round((1 - alpha) * 100) / 100;
    addPolicy(`pwr:${alpha}+fgd:${rest}`, `PWR ${alpha} + FGD ${rest}`);
  });
  byId("start-knob-add").addEventListener("click", () => addPolicy(`ocs@${Number(byId("start-knob").value)}`, `OCS@${Number(byId("start-knob").value)}`));
  for (const [id, sort] of [["start-nodes-file", "nodes"], ["start-tasks-file", "tasks"]]) {
    byId(id).addEventListener("change", tried(async (event) => {
      const [file] = event.target.files;
      if (!file) return;
      event.target.value = "";
      const kept = await upload(sort, file);
      ready = await allChoices(true);
      fillInputs(ready);
      if (sort === "nodes") byId("start-datacenter").value = kept.name;
      else for (const input of byId("start-traces").querySelectorAll("input")) input.checked = input.value === kept.name;
      byId("start-note").textContent = `${file.name}: ${kept.text}`;
      tellWords();
    }));
  }
  byId("start-form").addEventListener("input", () => {
    for (const part of byId("start-form").querySelectorAll("[data-kind]")) part.hidden = part.dataset.kind !== kind();
    for (const id of ["start-load", "start-days"]) byId(id).disabled = byId("start-own-times").checked;
    tellWords();
  });
  byId("start-form").addEventListener("submit", tried(async (event) => {
    event.preventDefault();
    byId("start-run").disabled = true;
    try {
      const run = await askJson("/api/runs", request());
      dispatchEvent(new CustomEvent("go", { detail: `/runs/${run.id}` }));
    } finally {
      byId("start-run").disabled = false;
    }
  }));
}

function showRuns(runs) {
  byId("start-runs").replaceChildren(...runs.map((run) => {
    const row = element("li");
    const link = row.appendChild(element("a", run.title));
    link.href = `/runs/${run.id}`;
    row.append(element("span", run.state, `state ${run.state}`), element("span", run.line || `${run.kind}, ${run.done} of ${run.all} runs, ${run.id}`, "note"));
    return row;
  }));
  if (!runs.length) byId("start-runs").appendChild(element("li", "None yet.", "note"));
}
