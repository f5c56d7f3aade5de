// Ask: would a task, a pod or a list of tasks fit a datacenter that a policy has filled; and if nodes came first.

import { byId, element } from "./parts.js";
import { allChoices, askJson, tried, upload } from "./asking.js";
import { fillScene, number, sceneOf, signed, table, takeAddress } from "./scene.js";

let ready = false, chosenFile = null;
const kind = () => byId("ask-form").elements["ask-kind"].value;

export async function openAsk() {
  const choices = await allChoices();
  if (!ready) {
    ready = true;
    fillScene("ask", choices, "ocs");
    byId("ask-form").addEventListener("input", (event) => {
      for (const part of byId("ask-form").querySelectorAll("[data-ask]")) part.hidden = part.dataset.ask !== kind();
      if (event.target === byId("ask-load")) byId("ask-load-value").textContent = Number(byId("ask-load").value).toFixed(2);
    });
    byId("ask-file").addEventListener("change", (event) => { [chosenFile] = event.target.files; });
    byId("ask-form").addEventListener("submit", (event) => { event.preventDefault(); load(); });
    byId("ask-run").disabled = false; // a click before this would send the form, which the page may not
  }
  takeAddress("ask");
  byId("ask-load-value").textContent = Number(byId("ask-load").value).toFixed(2);
}

const load = tried(async () => {
  byId("ask-answer").replaceChildren();
  /** @type {any} */
  const scene = { ...sceneOf("ask"), load: Number(byId("ask-load").value), come: byId("ask-come").value.split(/[\s,;]+/).filter(Boolean) };
  const value = (id) => Number(byId(id).value);
  if (kind() === "task") scene.task = { vcpu: value("ask-vcpu"), memory_gib: value("ask-memory"), gpus: value("ask-gpus"), model: byId("ask-model").value.trim() };
  else if (kind() === "pod") scene.pod = byId("ask-pod").value;
  else {
    const text = byId("ask-tasks").value;
    const file = chosenFile || new File([text], "pasted.csv");
    scene.tasks = (await upload("tasks", file)).name;
  }
  byId("ask-run").disabled = true;
  byId("ask-wait").textContent = "Working it out …";
  try {
    show(await askJson("/api/ask", scene), scene.come);
  } finally {
    byId("ask-run").disabled = false;
    byId("ask-wait").textContent = "";
  }
});

const gain = (cost) => `${signed(cost.watts, 1)} W, ${signed(cost.fragmentation_gpus, 2)} GPU fragmented`;

function sentence(found) {
  if (found.tasks > 1) return `${number(found.placed, 0)} of ${number(found.tasks, 0)} tasks fit: ${gain(found.cost)}.`;
  const [row] = found.rows;
  return row.node ? `It fits: ${row.node} (${row.type})${row.gpus ? `, GPU ${row.gpus}` : ""}: ${gain(row.cost)}.` : `It fits none of ${number(found.nodes, 0)} nodes: ${row.missing}.`;
}

function show(answer, come) {
  const box = byId("ask-answer");
  box.append(element("p", sentence(answer.now), "first"));
  box.append(element("p", `${answer.line}; after ${number(answer.arrived, 0)} tasks, at load ${answer.load.toFixed(3)}.`, "note"));
  part(box, answer.now);
  if (answer.then) {
    box.append(element("h2", `If ${come.join(", ")} came first`), element("p", sentence(answer.then), "first"));
    part(box, answer.then);
  }
}

function part(box, found) {
  if (found.closed) box.append(element("p", `${found.closed}.`, "note"));
  if (found.not_open.length) box.append(table(["Not open to the pod", "Nodes", "Which"], found.not_open.map((one) => [one.why, number(one.count, 0), one.nodes.join(", ") + (one.count > one.nodes.length ? ", …" : "")]), "Nodes that are not open to the pod"));
  if (found.tasks > 1) {
    const rows = found.rows.map((row) => [row.task, row.text, row.node || "nowhere", row.gpus, row.cost ? signed(row.cost.watts, 1) : "", row.cost ? signed(row.cost.fragmentation_gpus, 2) : "", row.missing]);
    box.append(table(["Task", "Asks for", "Node", "GPUs", "Watts", "Fragmented GPUs", "Missing"], rows, "The tasks, one after another"));
    if (found.tasks > found.rows.length) box.append(element("p", `The first ${found.rows.length} are shown.`, "note"));
  }
  const reasons = Object.entries(found.reasons);
  if (!reasons.length) return;
  box.append(element("h3", found.tasks > 1 ? "What the first task that fits nowhere lacks" : "What is missing"));
  box.append(table(["Reason", "Nodes"], reasons.map(([reason, count]) => [reason, number(count, 0)]), "Nodes by the first reason why they do not fit"));
  if (found.nearest.length) box.append(table(["Nearest nodes", "What they lack"], found.nearest.map((near) => [near.node, near.text]), "Nearest nodes"));
  if (found.moves.length) box.append(element("h3", "What would have to move"), table(["Room on", "Move"], found.moves.map((near) => [near.node, near.text]), "Moves that make room"));
  else box.append(element("p", "Moving up to 8 running tasks would not make room.", "note"));
}
