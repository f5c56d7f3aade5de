// The fields that say which datacenter a question is about: nodes, tasks, the policy that filled it.

import { byId, element } from "./parts.js";
import { fillSelect } from "./asking.js";

const MIXES = [["pwr:0.05+fgd:0.95", "PWR 0.05 + FGD 0.95"], ["pwr:0.1+fgd:0.9", "PWR 0.1 + FGD 0.9"], ["pwr:0.2+fgd:0.8", "PWR 0.2 + FGD 0.8"]];

export const policiesOf = (choices) => [...choices.policies.map((own) => [own.name, own.label]), ...MIXES];

// Fill the selects `PREFIX-datacenter`, `-trace` and `-policy`; an address may name a policy that is not in the list.
export function fillScene(prefix, choices, policy) {
  fillSelect(byId(`${prefix}-datacenter`), choices.datacenters.map((own) => [own.name, own.name]), byId(`${prefix}-datacenter`).value);
  fillSelect(byId(`${prefix}-trace`), choices.traces.map((own) => [own.name, own.name]), byId(`${prefix}-trace`).value);
  fillSelect(byId(`${prefix}-policy`), policiesOf(choices), policy);
  const order = byId(`${prefix}-order`), seed = byId(`${prefix}-seed`);
  order.addEventListener("change", () => { seed.disabled = order.value === "file"; });
}

export function sceneOf(prefix) {
  const text = (name) => byId(`${prefix}-${name}`).value.trim();
  return { datacenter: text("datacenter"), trace: text("trace"), policy: text("policy"), seed: text("order") === "file" ? null : Number(text("seed")), add: text("add").split(/[\s,;]+/).filter(Boolean) };
}

// The same with what a scene over time has beside it.
export function timedSceneOf(prefix) {
  const text = (name) => byId(`${prefix}-${name}`).value, over = text("over");
  return { ...sceneOf(prefix), over, ...(over === "time" ? { load: Number(text("load")), days: Number(text("days")), sleep: text("sleep") } : {}) };
}

// A scene as the part of an address that `takeAddress` reads.
export function addressOf(scene, more) {
  const { seed, add, ...kept } = scene;
  return new URLSearchParams({ ...kept, seed: seed === null ? "" : String(seed), add: add.join(" "), ...more });
}

// Fields of a scene over time only there.
export function showOver(prefix) {
  for (const part of byId(`${prefix}-form`).querySelectorAll("[data-over]")) part.hidden = part.dataset.over !== byId(`${prefix}-over`).value;
  byId(`${prefix}-seed`).disabled = byId(`${prefix}-order`).value === "file";
}

// Put the parts of an address into the fields of these names.
export function takeAddress(prefix) {
  const given = Object.fromEntries(new URLSearchParams(location.search));
  for (const [name, value] of Object.entries(given)) {
    const field = byId(`${prefix}-${name}`);
    if (!field || (name === "seed" && value === "")) continue; // without a seed: in the order of the file
    if (field instanceof HTMLSelectElement && ![...field.options].some((option) => option.value === value)) field.appendChild(Object.assign(element("option", value), { value }));
    field.value = value;
  }
  if ("seed" in given && byId(`${prefix}-order`) && !("order" in given)) byId(`${prefix}-order`).value = given.seed === "" ? "file" : "seed";
  if (byId(`${prefix}-order`)) byId(`${prefix}-seed`).disabled = byId(`${prefix}-order`).value === "file";
  return given;
}

export function table(heads, rows, caption, chosen) {
  const box = element("div", undefined, "scroll"), made = box.appendChild(element("table", undefined, "plain"));
  Object.assign(box, { tabIndex: 0 });
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", caption);
  made.appendChild(element("caption", caption, "visually-hidden"));
  const head = made.createTHead().insertRow();
  const wordy = (text) => typeof text === "string" && /[a-z]{3}/i.test(text);
  heads.forEach((text, column) => { head.appendChild(element("th", text, rows.length && wordy(rows[0][column]) ? "text" : undefined)).scope = "col"; });
  const body = made.createTBody();
  rows.forEach((cells, place) => {
    const row = body.insertRow();
    if (chosen && chosen(place)) row.className = "chosen";
    cells.forEach((text, column) => {
      if (column === 0) row.appendChild(element("th", text)).scope = "row";
      else row.appendChild(element("td", text, !wordy(text) ? undefined : text.length > 40 ? "text long" : "text"));
    });
  });
  return box;
}

// No minus before what rounds to zero.
export const number = (value, digits) => (Number(value.toFixed(digits)) || 0).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
export const signed = (value, digits) => (Number(value.toFixed(digits)) >= 0 ? "+" : "") + number(value, digits);
