// Questions to the server of this page, and how a fault is shown: the server's one line, as it is.

import { byId, element } from "./parts.js";

export async function ask(path, body, method) {
  const sent = body === undefined ? { method: method || "GET" } : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, sent);
  } catch {
    throw new Error("the server of this page does not answer; is `wattpack ui` still running?");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({ error: `${path}: ${answer.status}` }));
  throw new Error(said.error);
}

export const askJson = async (path, body, method) => (await ask(path, body, method)).json();

export async function upload(kind, file) {
  const answer = await fetch(`/api/uploads?kind=${kind}&name=${encodeURIComponent(file.name)}`, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file }).catch(() => null);
  if (!answer) throw new Error(`${file.name}: not taken, expected a smaller file or a server that answers`);
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error);
  return said;
}

export function showFault(fault) {
  const box = byId("fault");
  box.hidden = !fault;
  box.textContent = fault ? fault.message || String(fault) : "";
  if (fault) box.scrollIntoView({ block: "nearest" });
}

// An action whose fault is shown to the reader.
export const tried = (action) => async (...given) => {
  try {
    showFault(null);
    return await action(...given);
  } catch (fault) {
    showFault(fault);
    return undefined;
  }
};

export function fillSelect(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => {
    const option = element("option", text);
    option.value = value;
    option.selected = value === chosen;
    return option;
  }));
}

// A later call ends the earlier one.
export function soon(action, wait) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(action, wait); };
}

let choices = null;
// What can be chosen: asked once, and again after an upload.
export async function allChoices(again) {
  if (!choices || again) choices = askJson("/api/choices").catch((fault) => { choices = null; throw fault; });
  return choices;
}
