// Live: a running service, asked every few seconds while this view is looked at. Read-only.

import { byId, element } from "./parts.js";
import { askJson, showFault } from "./asking.js";
import { number, signed, table } from "./scene.js";

const EVERY_MS = 3000, KEPT = 400; // 20 minutes of values
let timer = 0, open = false;
const history = [];
const seen = { states: null, latest: "", changes: [] }; // of nodes that sleep, since this view was opened

export async function openLive() {
  open = true;
  await look();
}

export function closeLive() {
  open = false;
  clearTimeout(timer);
}

// Nothing is asked while the page is in the background.
document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (open && !document.hidden) look();
});

async function look() {
  clearTimeout(timer);
  try {
    const found = await askJson("/api/live");
    if (!open) return;
    showFault(null);
    history.push(found.power_w / 1000);
    if (history.length > KEPT) history.shift();
    if (found.sleep) noteChanges(found.sleep);
    show(found);
  } catch (fault) {
    if (open) showFault(fault);
  }
  if (open && !document.hidden) timer = setTimeout(look, EVERY_MS);
}

function tile(name, value, more) {
  const box = element("div");
  box.append(element("dt", name));
  const body = box.appendChild(element("dd"));
  body.append(element("b", value), element("span", more));
  return box;
}

// The power of the last minutes as one line; the tile beside it has the value.
function spark() {
  const low = Math.min(...history), high = Math.max(...history), room = high - low || 1;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 400 60");
  svg.setAttribute("class", "spark");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Power since this view was opened: ${number(low, 2)} to ${number(high, 2)} kW`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", history.map((value, i) => `${(i / Math.max(1, history.length - 1) * 396 + 2).toFixed(1)},${(56 - (value - low) / room * 52).toFixed(1)}`).join(" "));
  svg.appendChild(line);
  return svg;
}

const nodes = (count, what) => `${number(count, 0)} ${what}`;

function sleepTile(sleep) {
  const { asleep = 0, ...others } = sleep.states;
  const more = Object.entries(others).map(([state, count]) => nodes(count, state));
  if (sleep.mode === "advise") more.push(`${nodes(sleep.would_sleep, "could sleep")}, ${number(sleep.would_save_w / 1000, 2)} kW`);
  return tile("Nodes asleep", number(asleep, 0), [`${number(sleep.saved_w / 1000, 2)} kW saved`, ...more].join(", "));
}

// What sleeps and changes, why, and what has changed while this page looked.
function sleepParts(sleep) {
  const doing = sleep.stopped ? `No node goes to sleep now: ${sleep.stopped}.` : sleep.mode === "advise" ? "Mode advise: nothing is switched." : sleep.acting ? "This service switches nodes off and on." : "Another replica switches nodes now.";
  const { asleep: slept = 0, awake: woke = 0 } = sleep.changes;
  const parts = [element("h2", "Nodes that sleep"), element("p", `${doing} ${nodes(sleep.may_sleep, "nodes may sleep")}; ${number(sleep.free_gpus, 0)} free ${sleep.free_gpus === 1 ? "GPU is" : "GPUs are"} awake, at least ${number(sleep.reserve_gpus, 0)} stay so. Since the service started, nodes fell asleep ${number(slept, 0)} times and woke ${number(woke, 0)} times.${sleep.errors ? ` ${number(sleep.errors, 0)} calls failed.` : ""}`, "first")];
  if (sleep.nodes.length) parts.push(table(["Node", "State", "Since", "Why", "Saves, W", "Pods that wait for it", "To get it back"], sleep.nodes.map((own) => [own.node, own.would_sleep && own.state === "awake" ? "would sleep" : own.state, own.since.replace("T", " ").slice(0, 19), own.why || (own.empty_s === null ? "" : `empty for ${number(own.empty_s / 60, 0)} min`), number(own.idle_w - own.asleep_w, 0), own.promised.join(", "), own.undo.split(";")[0]]), "Nodes that sleep or change, the latest first"));
  if (seen.changes.length) parts.push(element("h3", "Changes seen since this view was opened"), table(["Time", "Node", "Before", "Now", "Why"], seen.changes, "Changes seen since this view was opened, the latest first"));
  return parts;
}

// The service keeps no list of nodes that have woken: the page notes what differs from the last look.
function noteChanges(sleep) {
  const now = new Map(sleep.nodes.filter((own) => own.state !== "awake").map((own) => [own.node, own]));
  const all = Object.values(sleep.states).reduce((sum, count) => sum + count, 0) === now.size; // of very many the latest are told
  if (seen.states) {
    const time = new Date().toLocaleTimeString("en-GB");
    for (const [node, own] of now) if (seen.states.get(node) !== own.state && (seen.states.has(node) || own.since >= seen.latest)) seen.changes.unshift([time, node, seen.states.get(node) || "awake", own.state, own.why]);
    for (const [node, state] of seen.states) if (all && !now.has(node)) seen.changes.unshift([time, node, state, "awake", ""]);
    seen.changes.length = Math.min(seen.changes.length, 20);
  }
  seen.states = new Map([...now].map(([node, own]) => [node, own.state]));
  seen.latest = [...now.values()].reduce((latest, own) => (own.since > latest ? own.since : latest), seen.latest);
}

function show(found) {
  const box = byId("live-answer"), held = document.activeElement && box.contains(document.activeElement);
  const tiles = element("dl", undefined, "tiles");
  tiles.append(
    tile("Power, modelled", `${number(found.power_w / 1000, 2)} kW`, found.policy),
    tile("GPUs in use", number(found.gpus_in_use, 1), `of ${number(found.gpus, 0)} on ${number(found.nodes, 0)} nodes`),
    tile("Fragmented GPUs", number(found.fragmentation_gpus, 2), "free, but of no use to the pods that come"),
    tile("Pods waiting", number(found.waiting, 0), `${number(found.tasks, 0)} placed, ${number(found.reserved, 0)} reserved`),
  );
  if (found.sleep) tiles.append(sleepTile(found.sleep));
  const standing = `${found.address}: mode ${found.mode}, ${found.ready ? "in step with the cluster" : "not in step with the cluster yet"}, ${found.mode === "shadow" ? "only watches" : found.leader ? "decides" : "does not decide now"}.`;
  const parts = [element("p", standing, "note"), tiles];
  if (history.length > 1) parts.push(spark());
  if (found.auto) parts.push(element("p", found.auto, "note"));
  parts.push(element("h2", "GPU models"), table(["Model", "Nodes", "GPUs", "In use", "kW"], found.models.map((own) => [own.model || "no GPU", number(own.nodes, 0), number(own.gpus, 0), number(own.in_use, 1), number(own.power_w / 1000, 2)]), "GPU models"));
  parts.push(element("h2", "The last decisions"));
  if (found.decisions.length) parts.push(table(["Pod", "Node", "Watts", "Fragmented GPUs", "Reason"], found.decisions.map((own) => [own.pod, own.node || "nowhere", signed(own.watts, 1), signed(own.fragmentation_gpus, 2), own.reason]), "The last decisions, the latest first"));
  else parts.push(element("p", found.mode === "shadow" ? "None: shadow mode binds nothing." : "None yet.", "note"));
  if (found.sleep) parts.push(...sleepParts(found.sleep));
  if (found.shadow) {
    const own = found.shadow;
    parts.push(element("h2", "What the policy would have done"), element("p", `${number(own.same_node, 0)} pods on the same node, ${number(own.other_node, 0)} on another, ${number(own.policy_has_no_room, 0)} without room. The cluster draws ${number(own.cluster_w / 1000, 2)} kW; under the policy ${number(own.cluster_under_policy_w / 1000, 2)} kW, ${number(own.estimated_saving * 100, 1)} % less.`, "first"));
    if (!own.pods.length) parts.push(element("p", "No pod has been placed since the service started.", "note"));
    else parts.push(table(["Pod", "Scheduler's node", "Watts", "Policy's node", "Watts", "Agreement"], own.pods.slice(-20).reverse().map((pod) => [pod.pod, pod.node, signed(pod.watts, 1), pod.policy_node, signed(pod.policy_watts, 1), pod.agreement.replace("_", " ")]), "Pods under the policy and under the scheduler in place"));
  }
  if (found.measured.length) parts.push(element("h2", "Modelled against measured"), table(["Model", "GPUs", "Measured W", "Modelled W", "Error, W a GPU"], found.measured.map((own) => [own.model, number(own.gpus, 0), number(own.measured_w, 1), number(own.modelled_w, 1), signed(own.error_w_per_gpu, 1)]), "Modelled against measured watts"));
  if (found.not_understood.length) {
    parts.push(element("h2", "Not understood"));
    const list = element("ul", undefined, "limits");
    for (const line of found.not_understood) list.appendChild(element("li", line));
    parts.push(list);
  }
  if (!held) box.replaceChildren(...parts);
}
