// One run: how far it is, its curves as they grow, and what there is to take away.

import { byId, element } from "./parts.js";
import { showCurves } from "./curves.js";
import { showTime } from "./time.js";
import { askJson, showFault, tried } from "./asking.js";

let followed = null; // the stream of the run that is shown
let shown = { id: "", kind: "", done: -1 };
let asking = null;

export function closeRun() {
  if (followed) followed.close();
  followed = null;
}

export async function openRun(id) {
  shown = { id, kind: "", done: -1 };
  for (const part of ["run-words", "run-curves", "tables", "run-files"]) byId(part).replaceChildren();
  const status = await askJson(`/api/runs/${id}`);
  await take(status);
  if (status.state !== "running") return;
  followed = new EventSource(`/api/runs/${id}/events`);
  followed.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (now.state !== "running") closeRun();
    take(now).catch(showFault);
  };
}

const STATES = { running: "running", done: "done", failed: "failed", refused: "not started", cancelled: "cancelled; finished runs are kept", gone: "gone" };

async function take(status) {
  if (status.id !== shown.id) return;
  byId("run-title").textContent = status.title;
  const on = status.state === "running", count = status.all ? `${status.done} of ${status.all} runs` : "starting (the first time on a machine it compiles for a minute)";
  byId("run-state").replaceChildren(element("span", STATES[status.state], `state ${status.state}`), ` ${status.all || on ? count : ""}${status.seconds ? `, ${status.seconds} s` : ""}`);
  const bar = byId("run-progress");
  bar.hidden = !on;
  bar.max = status.all || 1;
  if (status.all) bar.value = status.done;
  else bar.removeAttribute("value");
  byId("run-cancel").hidden = !on;
  byId("run-remove").hidden = on || status.kind === "results";
  byId("run-command").textContent = status.command;
  byId("run-python").textContent = status.python;
  showFault(status.line ? { message: status.line } : null);
  showFiles(status);
  if (status.state !== "gone" && (status.done !== shown.done || !on)) await showResults(status);
}

async function showResults(status) {
  if (asking) return; // the next change asks again; the end always does
  const { id } = shown;
  asking = askJson(`/api/runs/${id}/results`);
  let found;
  try {
    found = await asking;
  } finally {
    asking = null;
  }
  if (id !== shown.id || found.kind === "none") return;
  shown.done = found.done;
  if (shown.kind !== found.kind) {
    byId("run-curves").replaceChildren(byId(found.kind === "time" ? "time-markup" : "curves-markup").content.cloneNode(true));
    shown.kind = found.kind;
  }
  addColours(found.colours);
  // Markup of the report, made and escaped by the server; the content policy lets no script in it run.
  byId("run-words").innerHTML = found.words;
  byId("tables").innerHTML = `<h2>Numbers</h2>${found.tables}`;
  const select = byId("trace"), before = select.value;
  select.innerHTML = found.options;
  if (before) select.value = before;
  if (byId("tiles")) byId("tiles").innerHTML = found.tiles;
  if (found.kind === "time") showTime(found.data);
  else showCurves(found.data);
  showFigures(status, found);
  if (found.done < status.done && status.state !== "running") await showResults(status);
}

let sheet = null;
// Colours of the policies of this run, as the report's style has them.
export function addColours(text) {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  sheet.replaceSync(text);
}

function showFiles(status) {
  byId("run-files-part").hidden = !status.files.length;
  byId("run-files").replaceChildren(...status.files.map((name) => link(`/api/runs/${status.id}/files/${name}`, name, name.endsWith(".html"))));
}

function showFigures(status, found) {
  byId("run-files-part").hidden = false;
  for (const old of byId("run-files").querySelectorAll(".figure")) old.remove();
  found.traces.forEach((trace, place) => {
    for (const kind of ["png", "svg", "pdf"]) {
      const item = link(`/api/runs/${status.id}/figures/${place}.${kind}`, found.traces.length > 1 ? `figure of ${trace}, ${kind.toUpperCase()}` : `figure, ${kind.toUpperCase()}`, false);
      item.className = "figure";
      byId("run-files").appendChild(item);
    }
  });
}

function link(path, text, opens) {
  const item = element("li"), anchor = item.appendChild(element("a", text));
  anchor.href = path;
  if (opens) anchor.target = "_blank";
  else anchor.setAttribute("download", "");
  return item;
}

byId("run-cancel").addEventListener("click", tried(async () => {
  byId("run-cancel").disabled = true;
  try {
    await askJson(`/api/runs/${shown.id}/cancel`, {});
  } finally {
    byId("run-cancel").disabled = false;
  }
}));
byId("run-remove").addEventListener("click", tried(async () => {
  const { id } = shown;
  shown = { id: "", kind: "", done: -1 }; // nothing more is asked of a run that goes
  closeRun();
  if (asking) await asking.catch(() => null);
  await askJson(`/api/runs/${id}`, undefined, "DELETE");
  dispatchEvent(new CustomEvent("go", { detail: "/" }));
}));
