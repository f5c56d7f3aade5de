// Charts over time, one below the other in one SVG, that share the axis of time, the zoom and the cross-hair. They draw a
// model and say where the reader points; they know nothing of policies.
//
// model: {step, count: buckets of `step` seconds, range: [from, to] in seconds, ticks(from, to, most): [[seconds, text]],
//         panels: [{name, height, fromZero, lines: [{cls, dash, lo, hi, heavy}], areas: [{cls, y}]}], label}
// A line has the least and the largest value of each bucket; they are one array where a bucket has one value. A panel with
// areas is a stack of them, the first at the bottom; an area has one value a bucket.

import { ZoomedByPointer, dashes, svgNode, ticks } from "./parts.js";

const GAP = 30; // between two panels

export class TimeCharts extends ZoomedByPointer {
  constructor(svg, onPoint, onZoom) {
    super(svg, onPoint, onZoom);
    // Later: on a narrow page the read-out stands above the legend, and a press there must not lose its button.
    svg.addEventListener("blur", () => setTimeout(() => { if (document.activeElement !== svg) this.point(null); }, 300));
  }

  draw(model) {
    this.model = model;
    const width = Math.max(280, this.svg.parentNode.clientWidth);
    this.left = 58; this.right = width - 12;
    let top = 22;
    for (const panel of model.panels) {
      panel.top = top;
      panel.bottom = top + panel.height;
      top = panel.bottom + GAP;
    }
    this.bottom = top - GAP;
    const height = this.bottom + 30;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("aria-label", model.label);
    this.svg.replaceChildren();
    this.times(width);
    for (const panel of model.panels) this.panel(panel);
    this.overlay = svgNode(this.svg, "g", {});
    this.brush = svgNode(this.svg, "rect", { class: "brush", y: model.panels[0].top, height: this.bottom - model.panels[0].top, width: 0 });
    this.point(this.place);
  }

  x(seconds) { return this.left + (seconds - this.model.range[0]) / (this.model.range[1] - this.model.range[0]) * (this.right - this.left); }
  inRange(place) { return (place + 1) * this.model.step > this.model.range[0] && place * this.model.step <= this.model.range[1]; }
  first() { return Math.max(0, Math.floor(this.model.range[0] / this.model.step)); }
  last() { return Math.min(this.model.count - 1, Math.ceil(this.model.range[1] / this.model.step)); }

  times(width) {
    for (const [at, text] of this.model.ticks(this.model.range[0], this.model.range[1], Math.max(3, Math.floor(width / 110)))) {
      const across = this.x(at);
      for (const panel of this.model.panels) svgNode(this.svg, "line", { class: "grid", x1: across, x2: across, y1: panel.top, y2: panel.bottom });
      const anchor = across > this.right - 24 ? "end" : across < this.left + 24 ? "start" : "middle";
      svgNode(this.svg, "text", { x: across, y: this.bottom + 18, "text-anchor": anchor }).textContent = text;
    }
  }

  limits(panel) {
    if (panel.areas) return [0, 1.04 * Math.max(1e-9, ...panel.areas[0].y.slice(this.first(), this.last() + 1).map((_, i) => panel.areas.reduce((sum, area) => sum + area.y[this.first() + i], 0)))];
    let low = Infinity, high = -Infinity;
    for (const line of panel.lines) {
      for (let i = this.first(); i <= this.last(); i++) {
        if (line.lo[i] < low) low = line.lo[i];
        if (line.hi[i] > high) high = line.hi[i];
      }
    }
    if (!Number.isFinite(low)) return [0, 1];
    if (panel.fromZero) { low = Math.min(low, 0); high = Math.max(high, 0); }
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    return [low === 0 ? 0 : low - room, high + room];
  }

  panel(panel) {
    [panel.low, panel.high] = this.limits(panel);
    panel.y = (value) => panel.bottom - (value - panel.low) / (panel.high - panel.low) * panel.height;
    const upward = ticks(panel.low, panel.high, Math.max(2, panel.height / 45));
    for (const value of upward.found) {
      svgNode(this.svg, "line", { class: value === 0 && panel.low < 0 ? "zero" : "grid", x1: this.left, x2: this.right, y1: panel.y(value), y2: panel.y(value) });
      svgNode(this.svg, "text", { x: this.left - 8, y: panel.y(value) + 4, "text-anchor": "end" }).textContent = value.toFixed(upward.digits).replace("-", "−");
    }
    svgNode(this.svg, "line", { class: "axis", x1: this.left, x2: this.right, y1: panel.bottom, y2: panel.bottom });
    svgNode(this.svg, "text", { class: "name", x: this.left, y: panel.top - 7 }).textContent = panel.name;
    if (panel.areas) this.stack(panel);
    for (const line of [...panel.lines].reverse()) {
      svgNode(this.svg, "path", { class: "line " + line.cls + (line.heavy ? " heavy" : ""), d: this.path(panel, line), "stroke-dasharray": dashes(line) });
    }
  }

  // How many buckets share a pixel, and where on the page a time is.
  pixels() {
    const wide = (this.right - this.left) * this.model.step / (this.model.range[1] - this.model.range[0]);
    return { together: Math.max(1, Math.floor(1 / wide)), inside: (seconds) => Math.min(this.right, Math.max(this.left, this.x(seconds))) };
  }

  // Areas on each other, as steps; where several buckets share a pixel, their mean.
  stack(panel) {
    const { step } = this.model, { together, inside } = this.pixels(), steps = [];
    for (let i = this.first(); i <= this.last(); i += together) {
      const after = Math.min(i + together, this.last() + 1);
      const means = panel.areas.map((area) => area.y.slice(i, after).reduce((sum, value) => sum + value, 0) / (after - i));
      steps.push([inside(i * step).toFixed(1), inside(after * step).toFixed(1), means]);
    }
    const lower = steps.map(() => 0);
    panel.areas.forEach((area, place) => {
      const upper = lower.map((value, i) => value + steps[i][2][place]);
      const top = steps.map(([from, to], i) => `L${from} ${panel.y(upper[i]).toFixed(1)}H${to}`).join("");
      const back = steps.map(([from, to], i) => `L${to} ${panel.y(lower[i]).toFixed(1)}H${from}`).reverse().join("");
      if (steps.length) svgNode(this.svg, "path", { class: "area " + area.cls, d: `M${(top + back).slice(1)}Z` });
      upper.forEach((value, i) => { lower[i] = value; });
    });
  }

  // Steps, or where several buckets share a pixel, the range of their values.
  path(panel, line) {
    const { step } = this.model, { together, inside } = this.pixels();
    let text = "", pen = "M";
    for (let i = this.first(); i <= this.last(); i += together) {
      let low = Infinity, high = -Infinity;
      for (let k = i; k < i + together && k <= this.last(); k++) {
        if (line.lo[k] < low) low = line.lo[k];
        if (line.hi[k] > high) high = line.hi[k];
      }
      if (!Number.isFinite(low)) { pen = "M"; continue; }
      const from = inside(i * step).toFixed(1), to = inside((i + together) * step).toFixed(1);
      text += `${pen}${from} ${panel.y(low).toFixed(1)}`;
      if (high > low) text += `L${from} ${panel.y(high).toFixed(1)}`;
      text += `H${to}`;
      pen = "L";
    }
    return text;
  }

  // Read out this bucket; null for none.
  point(place, spoken) {
    this.place = place !== null && this.model && this.inRange(place) ? place : null;
    if (!this.overlay) return;
    this.overlay.replaceChildren();
    let at = 0;
    if (this.place !== null) {
      at = Math.min(this.right, Math.max(this.left, this.x((this.place + 0.5) * this.model.step)));
      svgNode(this.overlay, "line", { class: "cross", x1: at, x2: at, y1: this.model.panels[0].top, y2: this.bottom });
      for (const panel of this.model.panels) {
        for (const line of panel.lines) {
          const value = (line.lo[this.place] + line.hi[this.place]) / 2;
          if (Number.isFinite(value)) svgNode(this.overlay, "circle", { class: "dot " + line.cls, cx: at, cy: panel.y(value), r: 4 });
        }
      }
    }
    this.onPoint(this.place, at, Boolean(spoken));
  }

  nearest(seconds) { return Math.min(this.model.count - 1, Math.max(0, Math.floor(seconds / this.model.step))); }
}
