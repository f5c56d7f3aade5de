// What the pages share: packed curves, elements with text, tables that sort, pieces of charts in SVG.

// A curve is a string of whole units, each the difference from the one before, in base64 VLQ; ~ is a place without a value.
export const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGIT_OF = new Map([...BASE64].map((letter, digit) => [letter, digit]));

export function decode(text, unit, count) {
  const values = new Array(count).fill(NaN);
  let place = 0, sum = 0, number = 0, shift = 0;
  for (const letter of text) {
    if (letter === "~") { place++; continue; }
    const digit = DIGIT_OF.get(letter);
    number += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    sum += number & 1 ? -(number >> 1) : number >> 1;
    values[place++] = sum * unit;
    number = shift = 0;
  }
  return values;
}

export const byId = (id) => document.getElementById(id);

export function element(name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

// A click sorts by the column, numbers from the largest, names from a; a second click turns the order round.
export function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const numbers = [...table.tBodies[0].rows].every((row) => Number.isFinite(Number(row.cells[column].dataset.key)));
    const turned = head.getAttribute("aria-sort") === (numbers ? "descending" : "ascending");
    const direction = numbers === turned ? 1 : -1;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    const key = (row) => (numbers ? Number(row.cells[column].dataset.key) : row.cells[column].dataset.key);
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => direction * (numbers ? key(a) - key(b) : key(a).localeCompare(key(b))));
    table.tBodies[0].append(...rows);
  }));
}

const SVG = "http://www.w3.org/2000/svg";

export function svgNode(parent, name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  parent.appendChild(node);
  return node;
}

// Round numbers that cover [low, high] in about `count` steps.
export function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].map((nice) => nice * power).find((size) => size >= rough - 1e-12);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (/^2\.5/.test((step / power).toFixed(1)) ? 1 : 0)) };
}

export function swatch(line, stacked) {
  const box = document.createElementNS(SVG, "svg");
  for (const [key, value] of [["class", "swatch " + line.cls], ["width", stacked ? 12 : 26], ["height", 12], ["aria-hidden", "true"]]) box.setAttribute(String(key), String(value));
  if (stacked) svgNode(box, "rect", { width: 12, height: 12, rx: 2 });
  else svgNode(box, "line", { x1: 0, x2: 26, y1: 6, y2: 6, "stroke-dasharray": dashes(line) });
  return box;
}

export function dashes(line) {
  return line.dash.length ? line.dash.map((part) => part * 2).join(" ") : "none";
}

// How a chart is read and zoomed: by pointer, finger and keys. A chart that extends it sets model.range, left, right and
// brush when it draws, and has the methods x, point, nearest, first and last.
export class ZoomedByPointer {
  /** @type {any} */ model;
  /** @type {any} */ brush;
  left = 0;
  right = 0;

  /** @param {number} value @returns {number} */ x(value) { throw new Error(`x(${value}) is the chart's own`); }
  /** @param {number | null} place @param {boolean} [spoken] */ point(place, spoken) { throw new Error(`point(${place}, ${spoken}) is the chart's own`); }
  /** @param {number} value @returns {number} */ nearest(value) { throw new Error(`nearest(${value}) is the chart's own`); }
  /** @returns {number} */ first() { throw new Error("first() is the chart's own"); }
  /** @returns {number} */ last() { throw new Error("last() is the chart's own"); }

  constructor(svg, onPoint, onZoom) {
    this.svg = svg;
    this.onPoint = onPoint;
    this.onZoom = onZoom;
    this.place = null; // index of what is read out
    this.drag = null; // value where the mouse went down
    svg.addEventListener("mousedown", (event) => event.preventDefault()); // the frame of the focus is for the keyboard
    svg.addEventListener("pointerdown", (event) => this.down(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    svg.addEventListener("pointerup", (event) => this.up(event));
    svg.addEventListener("pointercancel", () => this.cancel());
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && this.drag === null) this.point(null); });
    svg.addEventListener("dblclick", () => this.onZoom(null));
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  valueAt(event) {
    const box = this.svg.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width * this.svg.viewBox.baseVal.width;
    const [from, to] = this.model.range;
    return Math.min(to, Math.max(from, from + (across - this.left) / (this.right - this.left) * (to - from)));
  }

  down(event) {
    this.point(this.nearest(this.valueAt(event)));
    // A finger drags the read-out along, a mouse draws the range to zoom into.
    if (event.pointerType === "mouse" && event.button === 0) {
      this.drag = this.valueAt(event);
      this.svg.setPointerCapture(event.pointerId);
    }
  }

  move(event) {
    const value = this.valueAt(event);
    if (this.drag !== null) {
      const [from, to] = [this.x(Math.min(value, this.drag)), this.x(Math.max(value, this.drag))];
      this.brush.setAttribute("x", from);
      this.brush.setAttribute("width", to - from);
    }
    this.point(this.nearest(value));
  }

  up(event) {
    if (this.drag === null) return;
    const [from, to] = [Math.min(this.drag, this.valueAt(event)), Math.max(this.drag, this.valueAt(event))];
    this.cancel();
    if (this.x(to) - this.x(from) > 8) this.onZoom([from, to]);
  }

  cancel() {
    this.drag = null;
    if (this.brush) this.brush.setAttribute("width", 0);
  }

  key(event) {
    const first = this.first(), last = this.last(), step = event.shiftKey ? 10 : 1;
    const here = this.place === null ? Math.round((first + last) / 2) : this.place;
    const moves = { ArrowLeft: here - step, ArrowRight: here + step, Home: first, End: last };
    if (event.key === "Escape") this.point(null);
    else if (event.key in moves) this.point(Math.min(last, Math.max(first, moves[event.key])), true);
    else return;
    event.preventDefault();
  }
}
