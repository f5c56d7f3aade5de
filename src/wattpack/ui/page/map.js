// The map: which datacenter and policies, the slider through arrivals or time, what is pointed at and pinned.

import { byId, element } from "./parts.js";
import { allChoices, ask, fillSelect, tried } from "./asking.js";
import { addressOf, policiesOf, showOver, takeAddress, timedSceneOf } from "./scene.js";
import { nodeText, showNode } from "./map_node.js";
import { MapData } from "./map_data.js";
import { cssOf, ownersOf, scaleOf, sleepOf } from "./map_colours.js";
import { MapDrawing } from "./map_draw.js";

const HOUR = 3600, DAY = 86400;
const state = { sides: [], frame: 0, playing: 0, by: "share", zoom: 1, pinned: -1, asked: null };
let choices = null;
const dark = matchMedia("(prefers-color-scheme: dark)");

export async function openMap() {
  if (!choices) {
    choices = await allChoices();
    setUp();
  }
  const given = takeAddress("map");
  showOver("map");
  if (!state.asked || given.datacenter) await load(Number(given.at));
}

export function closeMap() { stop(); }

function request(policy) {
  return { ...timedSceneOf("map"), policy };
}

const load = tried(async (at) => {
  stop();
  const policies = [byId("map-policy").value, byId("map-other").value].filter(Boolean);
  byId("map-wait").textContent = "Working it out … the first time on a machine this compiles for a minute.";
  byId("map-show").disabled = true;
  try {
    const answers = [];
    for (const policy of policies) answers.push(new MapData(await (await ask("/api/map", request(policy))).arrayBuffer()));
    state.asked = request(policies[0]);
    state.sides = answers.map((data, place) => ({ data, policy: policies[place] }));
  } finally {
    byId("map-wait").textContent = "";
    byId("map-show").disabled = false;
  }
  state.pinned = -1;
  state.zoom = 1;
  build();
  const { frames } = state.sides[0].data;
  byId("map-at").max = String(frames);
  goTo(Number.isFinite(at) && at > 0 ? Math.min(frames, at) : Math.round(frames * 0.5));
});

function build() {
  const { sides } = state;
  byId("map-sides").replaceChildren();
  byId("map-sides").className = sides.length > 1 ? "two" : "";
  sides.forEach((side, place) => {
    const figure = byId("map-sides").appendChild(element("figure"));
    const caption = figure.appendChild(element("figcaption"));
    caption.appendChild(element("strong", titleOf(side.policy)));
    side.numbers = caption.appendChild(element("span", "", "unit"));
    const box = figure.appendChild(element("div", undefined, "map-scroll"));
    side.canvas = box.appendChild(element("canvas"));
    Object.assign(side.canvas, { tabIndex: 0 });
    side.canvas.setAttribute("role", "application");
    side.canvas.setAttribute("aria-label", `Map of ${side.data.datacenter} under ${side.policy}: ${side.data.nodes} nodes. Arrow keys move from node to node, Enter pins one.`);
    side.drawing = new MapDrawing(side.canvas);
    side.canvas.addEventListener("pointermove", (event) => point(place, side.drawing.nodeAt(event.offsetX, event.offsetY)));
    side.canvas.addEventListener("pointerleave", () => point(place, -1));
    side.canvas.addEventListener("click", (event) => pin(side.drawing.nodeAt(event.offsetX, event.offsetY)));
    side.canvas.addEventListener("keydown", (event) => key(event, place));
    if (side.data.chosen) figure.appendChild(element("p", side.data.chosen, "note"));
  });
  layOut();
}

const titleOf = (policy) => (policiesOf(choices).find(([name]) => name === policy) || [policy, policy])[1];

function layOut() {
  for (const { data, drawing, canvas } of state.sides) {
    drawing.setTheme(dark.matches);
    drawing.data = data;
    drawing.setColours(state.by, data);
    drawing.layOut(data, canvas.parentElement.clientWidth, state.sides.length > 1 ? 520 : 560, state.zoom);
  }
  legend();
}

function legend() {
  const box = byId("map-legend"), { data } = state.sides[0], table = scaleOf(dark.matches);
  const key = (colour, text) => {
    const item = element("span", undefined, "key"), mark = item.appendChild(element("i"));
    mark.style.background = colour;
    item.append(text);
    return item;
  };
  const asleep = sleepOf(dark.matches, "asleep");
  const sleeping = data.notAwake().map(([name]) => key(name === "asleep" ? asleep : `linear-gradient(${sleepOf(dark.matches, name)} 50%, ${asleep} 50%)`, name));
  if (state.by === "fragmentation") {
    box.replaceChildren(key(cssOf(table[0]), "in use"), ...data.reasons.map((reason) => key(dark.matches ? reason.dark : reason.light, reason.name)), ...sleeping);
    return;
  }
  if (state.by === "owner") {
    const owners = ownersOf(dark.matches);
    box.replaceChildren(...data.owners.map((name, place) => key(cssOf(owners[place]), name)), ...sleeping);
    return;
  }
  const most = state.sides[0].drawing.mostWatts;
  const steps = [0, 250, 500, 750, 1000].map((share) => key(cssOf(table[share]), state.by === "watts" ? `${Math.round(most * share / 1000)} W` : share ? `${share / 10} %` : "free"));
  box.replaceChildren(...steps, ...sleeping);
}

export function goTo(frame) {
  const { sides } = state;
  if (!sides.length) return;
  state.frame = Math.max(0, Math.min(sides[0].data.frames, Math.round(frame)));
  for (const side of sides) side.drawing.draw(side.data.goTo(Math.min(state.frame, side.data.frames)));
  byId("map-at").value = String(state.frame);
  const words = when(sides[0].data);
  byId("map-at").setAttribute("aria-valuetext", words);
  byId("map-when").textContent = words;
  for (const { data, numbers } of sides) {
    const now = data.totals();
    numbers.textContent = ` ${(now.watts / 1000).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} kW, ${now.allocated.toFixed(1)} of ${data.gpus} GPUs in use, ${now.lost.toFixed(1)} fragmented${now.failed ? `, ${now.failed} tasks failed` : ""}${data.notAwake().map(([name, count]) => (count || name === "asleep" ? `, ${count.toLocaleString("en")} ${count === 1 ? "node" : "nodes"} ${name}` : "")).join("")}`;
  }
  for (const { drawing, data } of sides) if (drawing.pointed >= 0) byId("map-pointed").textContent = nodeText(data, drawing.pointed);
  if (!state.playing) details();
}

function when(data) {
  const { at } = data.totals(), events = data.of.ends[data.frame];
  if (state.asked.over === "arrivals") return `${events.toLocaleString("en")} tasks, load ${at.toFixed(3)}`;
  const day = Math.floor(at / DAY), rest = at - day * DAY, pad = (value) => String(Math.floor(value)).padStart(2, "0");
  return `day ${day + 1}, ${pad(rest / HOUR)}:${pad(rest % HOUR / 60)}`;
}

// What is pinned, and the numbers of every group: the values of the map as tables.
function details() {
  const { sides, pinned } = state;
  showNode(byId("map-node"), sides, pinned, whyOf);
  const table = byId("map-table");
  table.replaceChildren();
  const head = table.createTHead().insertRow();
  const names = ["Nodes of a type", ...sides.flatMap(({ policy, data }) => [`nodes in use, ${policy}`, ...(data.sleeps ? [`nodes asleep, ${policy}`] : []), `GPUs in use, ${policy}`, `kW, ${policy}`, `fragmented GPUs, ${policy}`])];
  for (const name of names) head.appendChild(element("th", name)).scope = "col";
  const body = table.createTBody(), rows = sides.map(({ data }) => data.byGroup()), { sleeps } = sides[0].data;
  sides[0].data.groups.forEach((group, g) => {
    const row = body.insertRow();
    row.appendChild(element("th", `${group.label}, ${group.more}: ${rows[0][g].nodes}`)).scope = "row";
    for (const side of rows) for (const value of [String(side[g].busy), ...(sleeps ? [String(side[g].asleep)] : []), side[g].used.toFixed(1), (side[g].watts / 1000).toFixed(1), side[g].lost.toFixed(1)]) row.insertCell().textContent = value;
  });
}

function point(place, n, spoken) {
  const { drawing, data } = state.sides[place];
  if (n === drawing.pointed) return;
  const before = drawing.pointed;
  drawing.pointed = n;
  drawing.draw([before, n].filter((one) => one >= 0));
  drawing.toScreen(0, drawing.high);
  byId("map-pointed").textContent = n < 0 ? "Point at a node, or use the arrow keys on the map." : nodeText(data, n);
  if (spoken) byId("map-spoken").textContent = byId("map-pointed").textContent;
}

function pin(n) {
  state.pinned = n === state.pinned ? -1 : n;
  for (const { drawing } of state.sides) {
    drawing.pinned = state.pinned;
    drawing.toScreen(0, drawing.high);
  }
  showNode(byId("map-node"), state.sides, state.pinned, whyOf);
}

// The address of "Why here?" for a task of the map that is shown: the form may have been changed since.
const whyOf = (policy, task) => `/why?${addressOf({ ...state.asked, policy }, { task: String(task + 1) })}`;

function key(event, place) {
  const { drawing } = state.sides[place], moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (event.key in moves) point(place, drawing.beside(drawing.pointed, ...moves[event.key]), true);
  else if (event.key === "Enter" || event.key === " ") pin(drawing.pointed);
  else if (event.key === "Escape") { point(place, -1); if (state.pinned >= 0) pin(state.pinned); }
  else return;
  event.preventDefault();
}

// Some 20 s from the start to the end, whatever their number of frames.
function play() {
  if (state.playing) { stop(); return; }
  const { frames } = state.sides[0].data, begun = performance.now(), from = state.frame >= frames ? 0 : state.frame;
  const step = (now) => {
    goTo(from + (now - begun) / 20000 * frames);
    if (state.frame >= frames) stop();
    else state.playing = requestAnimationFrame(step);
  };
  state.playing = requestAnimationFrame(step);
  byId("map-play").textContent = "Pause";
}

function stop() {
  if (!state.playing) return;
  cancelAnimationFrame(state.playing);
  state.playing = 0;
  byId("map-play").textContent = "Play";
  details();
}

function setUp() {
  fillSelect(byId("map-datacenter"), choices.datacenters.map((own) => [own.name, own.name]), "");
  fillSelect(byId("map-trace"), choices.traces.map((own) => [own.name, own.name]), "");
  fillSelect(byId("map-policy"), policiesOf(choices), "fgd");
  fillSelect(byId("map-other"), [["", "none"], ...policiesOf(choices)], "ocs");
  byId("map-form").addEventListener("input", () => showOver("map"));
  byId("map-form").addEventListener("submit", (event) => {
    event.preventDefault();
    history.replaceState(null, "", `/map?${addressOf(request(byId("map-policy").value), { other: byId("map-other").value })}`);
    load();
  });
  let wanted = -1; // several events may come before a frame is drawn: only the last counts
  byId("map-at").addEventListener("input", (event) => {
    if (wanted < 0) requestAnimationFrame(() => { const frame = wanted; wanted = -1; goTo(frame); });
    wanted = Number(event.target.value);
  });
  byId("map-play").addEventListener("click", play);
  for (const input of document.querySelectorAll("input[name='map-by']")) {
    input.addEventListener("change", (event) => { state.by = event.target.value; layOut(); });
  }
  byId("map-larger").addEventListener("click", () => { state.zoom = Math.min(6, state.zoom * 1.5); layOut(); });
  byId("map-smaller").addEventListener("click", () => { state.zoom = Math.max(1, state.zoom / 1.5); layOut(); });
  dark.addEventListener("change", () => { if (state.sides.length) layOut(); });
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) < 2 || !state.sides.length) return;
    width = entry.contentRect.width;
    layOut();
  }).observe(byId("map-sides"));
}
