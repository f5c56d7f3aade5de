// Why here: one decision in its six steps, the scores of the nodes, the terms of a score, and what others would have done.

import { byId, element, svgNode } from "./parts.js";
import { allChoices, askJson, tried } from "./asking.js";
import { addressOf, fillScene, number, showOver, signed, table, takeAddress, timedSceneOf } from "./scene.js";

let ready = false;

export async function openWhy() {
  const choices = await allChoices();
  if (!ready) {
    fillScene("why", choices, "ocs");
    if (byId("why-trace").value !== "default") byId("why-task").value = "1"; // a file of the user's may be short
    byId("why-form").addEventListener("submit", (event) => {
      event.preventDefault();
      history.replaceState(null, "", `/why?${addressOf(timedSceneOf("why"), { task: byId("why-task").value.trim() })}`);
      load();
    });
    byId("why-form").addEventListener("input", () => showOver("why"));
    for (const [id, by] of [["why-earlier", -1], ["why-later", 1]]) {
      byId(id).addEventListener("click", () => {
        byId("why-task").value = String(Math.max(1, (shown ? shown.number : 0) + by));
        byId("why-form").requestSubmit();
      });
    }
    ready = true;
  }
  takeAddress("why");
  showOver("why");
  await load();
}

let shown = null;
const load = tried(async () => {
  byId("why-show").disabled = true;
  byId("why-wait").textContent = "Working it out …";
  try {
    shown = await askJson("/api/why", { ...timedSceneOf("why"), task: byId("why-task").value.trim() });
  } finally {
    byId("why-show").disabled = false;
    byId("why-wait").textContent = "";
  }
  show(shown);
});

const heading = (text) => element("h2", text);

function show(why) {
  const box = byId("why-answer"), chosen = (place) => why.nodes[place].node === why.node;
  const gpus = why.gpus ? `, GPU ${why.gpus}` : "";
  box.replaceChildren(element("p", why.node ? `${why.task} goes to ${why.node}${gpus}.` : `${why.task} fits nowhere and fails.`, "first"));
  box.append(element("p", `It asks for ${why.text}. Task ${number(why.number, 0)} of ${number(why.of, 0)}, ${why.when ? `placed on ${why.when}, ` : ""}at load ${why.load.toFixed(3)}, policy ${why.policy}.`, "note"));
  if (why.chosen_by_auto) box.append(element("p", why.chosen_by_auto, "note"));
  box.append(heading("The six steps"), table(["Step", "What happened"], why.steps, "The six steps of the decision"));
  showOthers(box, why);
  if (why.nodes.length) {
    box.append(heading("Scores of the best nodes"));
    const longer = why.nodes[0].longer_w !== null; // nodes sleep, and the policy pays for the time that it keeps them awake
    const heads = ["Node", "Type", ...why.components.flatMap(({ name, weight }) => [`${name} raw`, `${name} normalised`, `${name} x ${weight}`]), ...(longer ? ["W, awake for longer"] : []), "Total", "Watts", "Fragmented GPUs"];
    const rows = why.nodes.map((node) => [`${node.node}${node.node === why.node ? " (chosen)" : ""}`, node.type, ...node.scores.flatMap((scores) => scores.map((value) => short(value))), ...(longer ? [number(node.longer_w, 1)] : []), short(node.total), signed(node.cost.watts, 1), signed(node.cost.fragmentation_gpus, 2)]);
    box.append(table(heads, rows, "Nodes that fit, best first", chosen), element("p", `${number(why.fitting, 0)} nodes fit, ${why.nodes.length} shown. Watts and fragmentation: what the task adds there.`, "note"));
    why.components.forEach((component, c) => { if (component.terms.length) showTerms(box, why, component, c); });
  }
  if (why.refused.length) {
    const counts = Object.entries(why.reasons).map(([reason, count]) => `${reason}: ${number(count, 0)}`).join("; ");
    box.append(heading("Nodes that do not fit"), table(["Node", "Type", "First reason"], why.refused.map((node) => [node.node, node.type, node.reason]), "Nodes that do not fit"), element("p", `${counts}. ${why.refused.length} shown.`, "note"));
  }
}

// Six digits, as the command line prints scores.
const short = (value) => (value === 0 ? "0" : Number(value.toPrecision(6)).toString()).replace("-", "−");

function showOthers(box, why) {
  const own = why.nodes.find((node) => node.node === why.node);
  const mine = own ? [[why.policy, own.node, why.gpus, signed(own.cost.watts, 1), signed(own.cost.fragmentation_gpus, 2), "chosen"]] : [];
  const rows = why.others.map((other) => [other.label, other.node || "nowhere", other.gpus, other.cost ? signed(other.cost.watts, 1) : "", other.cost ? signed(other.cost.fragmentation_gpus, 2) : "", own && other.node === own.node ? "the same node" : own && other.cost ? `${signed(other.cost.watts - own.cost.watts, 1)} W, ${signed(other.cost.fragmentation_gpus - own.cost.fragmentation_gpus, 2)} GPU against the choice` : ""]);
  box.append(heading("What others would have done here"), table(["Policy", "Node", "GPUs", "Watts", "Fragmented GPUs", "Difference"], [...mine, ...rows], "What other policies would have done", (place) => mine.length > 0 && place === 0));
}

// Terms of a score as stacked bars: what counts for a node to the right, what counts against it to the left.
function showTerms(box, why, component, c) {
  const nodes = why.nodes.slice(0, 10), used = component.terms.map((_, t) => t).filter((t) => nodes.some((node) => Math.abs(node.terms[c][t]) > 1e-9));
  if (!used.length) return;
  box.append(heading(`Terms of ${component.name}, each times its price`));
  const card = box.appendChild(element("figure", undefined, "card")), svg = svgNode(card, "svg", { class: "bars", role: "img", "aria-label": `Terms of ${component.name} on the best nodes; the table below has the values` });
  const sums = nodes.map((node) => [0, 1].map((side) => used.reduce((sum, t) => sum + Math.max(0, (side ? 1 : -1) * node.terms[c][t]), 0)));
  const against = Math.max(...sums.map(([low]) => low)), forIt = Math.max(...sums.map(([, high]) => high));
  const wide = Math.max(300, Math.min(1000, box.clientWidth - 44)), left = 120, scale = (wide - left - 10) / (against + forIt || 1), zero = left + against * scale;
  svg.setAttribute("viewBox", `0 0 ${wide} ${nodes.length * 24 + 6}`);
  nodes.forEach((node, place) => {
    const y = place * 24 + 4;
    svgNode(svg, "text", { x: left - 8, y: y + 13, "text-anchor": "end", class: node.node === why.node ? "chosen" : "" }).textContent = node.node;
    let low = zero, high = zero;
    used.forEach((t, order) => {
      const width = Math.abs(node.terms[c][t]) * scale;
      if (width === 0) return;
      if (node.terms[c][t] < 0) low -= width;
      const bar = svgNode(svg, "rect", { class: `term t${order % 10}`, x: node.terms[c][t] < 0 ? low : high, y, width, height: 17 });
      svgNode(bar, "title", {}).textContent = `${component.terms[t]} ${short(node.terms[c][t])}`;
      if (node.terms[c][t] > 0) high += width;
    });
  });
  svgNode(svg, "line", { class: "zero", x1: zero, x2: zero, y1: 0, y2: nodes.length * 24 + 4 });
  const keys = card.appendChild(element("div", undefined, "legend"));
  used.forEach((t, order) => {
    const item = keys.appendChild(element("span", undefined, "key"));
    item.appendChild(element("i", undefined, `t${order % 10}`));
    item.append(component.terms[t]);
  });
  const numbered = used.map((t) => component.terms[t]).filter((term) => why.meanings[term]);
  if (numbered.length) box.append(element("p", numbered.map((term) => `${term}: ${why.meanings[term]}`).join("; "), "note meanings"));
  const heads = ["Node", ...used.map((t) => component.terms[t]), "Sum"];
  box.append(table(heads, nodes.map((node) => [node.node, ...used.map((t) => number(node.terms[c][t], 2)), number(node.scores[c][0], 2)]), `Terms of ${component.name}`, (place) => nodes[place].node === why.node));
}
