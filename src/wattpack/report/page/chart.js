// A line or stacked-area chart in SVG. It knows nothing of policies: it draws a model and says where the reader points.
//
// model: {x: [load], range: [from, to], lines: [{label, cls, dash, heavy, y, spread}], stacked, bands, fromZero, zeroLine,
//         settled: loads below it do not stretch the y axis, format(value), label}

import { ZoomedByPointer, dashes, svgNode, ticks } from "./parts.js";

export class Chart extends ZoomedByPointer {
  low = 0;
  high = 1;
  /** @type {any} */ overlay;

  constructor(svg, onPoint, onZoom) {
    super(svg, onPoint, onZoom);
    svg.addEventListener("blur", () => this.point(null));
  }

  draw(model) {
    this.model = model;
    const width = Math.max(280, this.svg.parentNode.clientWidth);
    const height = Math.round(Math.min(460, Math.max(270, width * 0.46)));
    this.left = 52; this.right = width - 12; this.top = 10; this.bottom = height - 44;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("aria-label", model.label);
    this.svg.replaceChildren();
    [this.low, this.high] = this.limits();
    const clip = svgNode(svgNode(svgNode(this.svg, "defs", {}), "clipPath", { id: "inside" }), "rect", {});
    for (const [key, value] of [["x", this.left], ["y", this.top - 3], ["width", this.right - this.left], ["height", this.bottom - this.top + 4]]) clip.setAttribute(key, value);
    this.axes(width, height);
    const body = svgNode(this.svg, "g", { "clip-path": "url(#inside)" });
    if (model.zeroLine) svgNode(body, "line", { class: "zero", x1: this.left, x2: this.right, y1: this.y(0), y2: this.y(0) });
    if (model.stacked) this.areas(body);
    else this.curves(body);
    this.overlay = svgNode(this.svg, "g", {});
    this.brush = svgNode(this.svg, "rect", { class: "brush", y: this.top, height: this.bottom - this.top, width: 0 });
    this.point(this.place);
  }

  x(load) { return this.left + (load - this.model.range[0]) / (this.model.range[1] - this.model.range[0]) * (this.right - this.left); }
  y(value) { return this.bottom - (value - this.low) / (this.high - this.low) * (this.bottom - this.top); }
  inRange(index) { return this.model.x[index] >= this.model.range[0] - 1e-9 && this.model.x[index] <= this.model.range[1] + 1e-9; }

  limits() {
    let low = Infinity, high = -Infinity;
    const { x, lines, stacked, settled, fromZero, bands } = this.model;
    const from = settled < this.model.range[1] ? settled : 0;
    for (let i = 0; i < x.length; i++) {
      if (!this.inRange(i) || x[i] < from) continue;
      const values = lines.map((line) => line.y[i]).filter(Number.isFinite);
      if (stacked) values.splice(0, values.length, values.reduce((sum, value) => sum + value, 0));
      else if (bands) for (const line of lines) if (line.spread && Number.isFinite(line.spread[i])) values.push(line.y[i] + line.spread[i], line.y[i] - line.spread[i]);
      for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
    }
    if (!Number.isFinite(low)) return [0, 1];
    if (stacked || fromZero) low = Math.min(low, 0);
    const room = (high - low || Math.abs(high) || 1) * 0.04;
    return [low === 0 ? 0 : low - room, high + room];
  }

  axes(width, height) {
    const across = ticks(this.model.range[0], this.model.range[1], width < 520 ? 5 : 10);
    const upward = ticks(this.low, this.high, 7);
    for (const value of upward.found) {
      svgNode(this.svg, "line", { class: "grid", x1: this.left, x2: this.right, y1: this.y(value), y2: this.y(value) });
      svgNode(this.svg, "text", { x: this.left - 8, y: this.y(value) + 4, "text-anchor": "end" }).textContent = value.toFixed(upward.digits).replace("-", "−");
    }
    svgNode(this.svg, "line", { class: "axis", x1: this.left, x2: this.right, y1: this.bottom, y2: this.bottom });
    for (const value of across.found) {
      svgNode(this.svg, "line", { class: "axis", x1: this.x(value), x2: this.x(value), y1: this.bottom, y2: this.bottom + 5 });
      const anchor = this.x(value) > this.right - 8 ? "end" : "middle";
      svgNode(this.svg, "text", { x: anchor === "end" ? this.right + 8 : this.x(value), y: this.bottom + 19, "text-anchor": anchor }).textContent = value.toFixed(across.digits);
    }
    svgNode(this.svg, "text", { x: (this.left + this.right) / 2, y: height - 5, "text-anchor": "middle" }).textContent = "load (requested GPU / GPU capacity)";
  }

  // Points of a curve as path data; a gap where a value is missing.
  path(values) {
    let text = "", pen = "M";
    for (let i = 0; i < values.length; i++) {
      if (!Number.isFinite(values[i])) { pen = "M"; continue; }
      text += `${pen}${this.x(this.model.x[i]).toFixed(1)} ${this.y(values[i]).toFixed(1)}`;
      pen = "L";
    }
    return text;
  }

  // The surface between two curves.
  surface(lower, upper) {
    const kept = upper.map((value, i) => (Number.isFinite(value) && Number.isFinite(lower[i]) ? i : -1)).filter((i) => i >= 0);
    const corner = (values) => (i) => `${this.x(this.model.x[i]).toFixed(1)} ${this.y(values[i]).toFixed(1)}`;
    return kept.length ? `M${kept.map(corner(upper)).join("L")}L${kept.reverse().map(corner(lower)).join("L")}Z` : "";
  }

  curves(body) {
    const { lines, bands } = this.model;
    if (bands) {
      for (const line of lines) {
        if (!line.spread) continue;
        const low = line.y.map((value, i) => value - line.spread[i]), high = line.y.map((value, i) => value + line.spread[i]);
        svgNode(body, "path", { class: "band " + line.cls, d: this.surface(low, high) });
      }
    }
    for (const line of [...lines].reverse()) {
      svgNode(body, "path", { class: "line " + line.cls + (line.heavy ? " heavy" : ""), d: this.path(line.y), "stroke-dasharray": dashes(line) });
    }
  }

  areas(body) {
    let lower = this.model.x.map(() => 0);
    for (const line of this.model.lines) {
      const upper = lower.map((value, i) => value + line.y[i]);
      svgNode(body, "path", { class: "area " + line.cls, d: this.surface(lower, upper) });
      lower = upper;
    }
  }

  // Read out the load with this index; null for none.
  point(place, spoken) {
    this.place = place !== null && this.model && this.inRange(place) ? place : null;
    if (!this.overlay) return;
    this.overlay.replaceChildren();
    if (this.place !== null) {
      const at = this.x(this.model.x[this.place]);
      svgNode(this.overlay, "line", { class: "cross", x1: at, x2: at, y1: this.top, y2: this.bottom });
      if (!this.model.stacked) {
        for (const line of this.model.lines) {
          const value = line.y[this.place];
          if (Number.isFinite(value) && value >= this.low && value <= this.high) svgNode(this.overlay, "circle", { class: "dot " + line.cls, cx: at, cy: this.y(value), r: 4.5 });
        }
      }
    }
    this.onPoint(this.place, this.place === null ? 0 : this.x(this.model.x[this.place]), Boolean(spoken));
  }

  nearest(load) { return Math.min(this.model.x.length - 1, Math.max(0, Math.round(load / (this.model.x[1] - this.model.x[0])))); }

  first() { return this.nearest(this.model.range[0]); }
  last() { return this.nearest(this.model.range[1]); }
}
