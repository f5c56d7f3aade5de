// Every node a tile, every GPU a cell, on a canvas. Pixels are written into a buffer: only tiles that changed are drawn
// again, and one copy brings the buffer to the screen. Where cells would be smaller than a pixel, a node is one block.

import { SCALES, mixed, ownersOf, packed, rgb, scaleOf, sleepOf } from "./map_colours.js";

const HEAD = 20; // pixels of a group's heading
const LARGEST = 13; // pixels of a cell
const MOST_PIXELS = 24e6;

export class MapDrawing {
  /** @type {any[]} */ plans = [];
  /** @type {import("./map_data.js").MapData} */ data;
  /** @type {any} */ look;
  ratio = 1;
  wide = 0;
  high = 0;
  by = "share";
  mostWatts = 1;
  /** @type {Uint32Array} */ reasonTable;
  /** @type {Uint32Array} */ ownerTable;
  /** @type {Uint32Array} */ sleepTable;

  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
    this.pinned = -1;
    this.pointed = -1;
  }

  setTheme(dark) {
    this.look = SCALES[dark ? "dark" : "light"];
    this.table = scaleOf(dark);
    this.paper = packed(rgb(this.look.paper));
    this.dark = dark;
  }

  // Lay out all groups in `width` CSS pixels, as large as `height` lets them be, times `zoom`.
  layOut(data, width, height, zoom) {
    this.data = data;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const wide = Math.max(200, Math.floor(width * ratio));
    const counts = data.groups.map(() => 0);
    for (let n = 0; n < data.nodes; n++) counts[data.of.type[n]]++;
    const heads = data.groups.length * HEAD * ratio;
    const all = height * zoom * zoom * ratio, room = Math.max(heads * 0.7, all - heads * 0.7);
    let found = null;
    for (let cell = LARGEST * ratio * Math.max(1, zoom / 2); cell >= 1 && !found; cell = cell > 4 ? cell - 1 : cell - 0.5) {
      const whole = Math.floor(cell), gap = cell >= 6 ? 3 : cell >= 3 ? 2 : 1;
      if (cell !== whole) continue;
      const plan = this.plan(counts, wide, (group) => {
        const cells = Math.max(1, group.gpus), across = cells > 4 ? Math.ceil(cells / 2) : cells;
        return { cell: whole, across, gap, wide: across * whole + gap, high: Math.ceil(cells / across) * whole + gap };
      });
      if (plan.cells <= room) found = plan;
    }
    for (let block = 3; block >= 1 && !found; block--) {
      const plan = this.plan(counts, wide, () => ({ cell: 0, block, gap: 0, wide: block, high: block }));
      if (plan.cells <= Math.max(room, all) || block === 1) found = plan;
    }
    found.high = Math.min(found.high, Math.floor(MOST_PIXELS / wide));
    Object.assign(this, { plans: found.groups, ratio, wide, high: found.high });
    this.place();
    this.drawAll();
  }

  plan(counts, wide, tileOf) {
    let top = 0, cells = 0;
    const head = Math.round(HEAD * Math.min(2, window.devicePixelRatio || 1));
    const groups = this.data.groups.map((group, place) => {
      const tile = tileOf(group), row = Math.max(1, Math.floor(wide / tile.wide)), rows = Math.ceil(counts[place] / row);
      const own = { ...tile, row, rows, head: top, top: top + head, count: counts[place], group };
      top += head + rows * tile.high + 4;
      cells += rows * tile.high;
      return own;
    });
    return { groups, high: top, cells };
  }

  place() {
    const { data } = this, next = this.plans.map(() => 0);
    this.x = new Int32Array(data.nodes);
    this.y = new Int32Array(data.nodes);
    this.order = this.plans.map((plan) => new Int32Array(plan.count)); // nodes of a group in drawing order
    for (let n = 0; n < data.nodes; n++) {
      const g = data.of.type[n], plan = this.plans[g], i = next[g]++;
      this.order[g][i] = n;
      this.x[n] = i % plan.row * plan.wide;
      this.y[n] = plan.top + Math.floor(i / plan.row) * plan.high;
    }
    this.canvas.width = this.wide;
    this.canvas.height = this.high;
    this.canvas.style.width = `${this.wide / this.ratio}px`;
    this.canvas.style.height = `${this.high / this.ratio}px`;
  }

  drawAll() {
    const { context } = this;
    context.fillStyle = this.look.paper;
    context.fillRect(0, 0, this.wide, this.high);
    context.fillStyle = this.look.text;
    context.font = `${12 * this.ratio}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    for (const plan of this.plans) context.fillText(`${plan.group.label}, ${plan.group.more}: ${plan.count.toLocaleString("en")} ${plan.count === 1 ? "node" : "nodes"}`, 0, plan.head + HEAD * this.ratio / 2, this.wide);
    this.image = context.getImageData(0, 0, this.wide, this.high);
    this.pixels = new Uint32Array(this.image.data.buffer);
    for (let n = 0; n < this.data.nodes; n++) this.tile(n);
    this.toScreen(0, this.high);
  }

  draw(nodes) {
    let from = this.high, to = 0;
    for (const n of nodes) {
      this.tile(n);
      const y = this.y[n];
      if (y < from) from = y;
      if (y + this.plans[this.data.of.type[n]].high > to) to = y + this.plans[this.data.of.type[n]].high;
    }
    if (to > from) this.toScreen(from, to);
  }

  toScreen(from, to) {
    this.context.putImageData(this.image, 0, 0, 0, from, this.wide, to - from);
    this.outline(this.pinned, 2);
    this.outline(this.pointed, 1);
  }

  outline(n, width) {
    if (n < 0) return;
    const plan = this.plans[this.data.of.type[n]], { context } = this;
    context.strokeStyle = this.look.frame;
    context.lineWidth = width * this.ratio;
    context.strokeRect(this.x[n] - 0.5, this.y[n] - 0.5, Math.max(4, plan.wide - plan.gap) + 1, Math.max(4, plan.high - plan.gap) + 1);
  }

  // The colour of one cell: a GPU, or of a node without any its vCPUs.
  colour(n, g) {
    const { data, table } = this, type = data.of.type[n], group = data.groups[type];
    const used = group.gpus ? data.used[n * data.width + g] : Math.min(1000, Math.round(data.cpu[n] / group.cpuMilli * 1000));
    if (this.by === "watts") {
      const watts = group.gpus ? data.of.draw[type * 1001 + used] : 0;
      return watts > 0 ? table[Math.max(1, Math.min(1000, Math.round(watts / this.mostWatts * 1000)))] : table[0];
    }
    if (this.by === "owner") return group.gpus ? this.ownerTable[data.owner[n * data.width + g]] : table[used];
    if (this.by === "fragmentation") {
      if (!group.gpus || used === 1000) return table[0];
      const { sum, reason } = data.lostOf(n);
      let free = 0;
      for (let i = 0; i < group.gpus; i++) free += 1000 - data.used[n * data.width + i];
      if (reason < 0 || free === 0) return table[0];
      return this.reasonTable[reason * 11 + Math.round(Math.min(1, sum / free) * 10)];
    }
    return table[used];
  }

  setColours(by, data) {
    this.by = by;
    this.ownerTable = ownersOf(this.dark);
    this.sleepTable = Uint32Array.from(data.states, (name, state) => (state ? packed(rgb(sleepOf(this.dark, name))) : 0));
    this.mostWatts = Math.max(1, ...data.groups.map((_, type) => data.of.draw[type * 1001 + 1000]));
    const own = rgb(this.look.paper);
    this.reasonTable = new Uint32Array(data.reasons.length * 11);
    data.reasons.forEach((reason, r) => {
      for (let i = 0; i <= 10; i++) this.reasonTable[r * 11 + i] = packed(mixed(own, rgb(this.dark ? reason.dark : reason.light), 0.15 + 0.085 * i));
    });
  }

  tile(n) {
    const type = this.data.of.type[n], plan = this.plans[type], cells = Math.max(1, plan.group.gpus);
    const sleeping = this.data.state[n] ? this.sleepTable[this.data.state[n]] : 0;
    if (sleeping) {
      const wide = plan.block || plan.wide - plan.gap, high = plan.block || plan.high - plan.gap;
      this.block(this.x[n], this.y[n], wide, sleeping, high);
      const dark = this.sleepTable[this.data.states.length - 1];
      if (sleeping !== dark && high > 2) this.block(this.x[n], this.y[n] + Math.ceil(high / 2), wide, dark, high - Math.ceil(high / 2));
      return;
    }
    if (plan.block) {
      let r = 0, g = 0, b = 0;
      for (let i = 0; i < cells; i++) {
        const colour = this.colour(n, i);
        r += colour & 255; g += colour >> 8 & 255; b += colour >> 16 & 255;
      }
      this.block(this.x[n], this.y[n], plan.block, (255 << 24 | b / cells << 16 | g / cells << 8 | r / cells) >>> 0);
      return;
    }
    const inner = plan.cell > 3 ? plan.cell - 1 : plan.cell;
    if (this.data.sleeps && inner < plan.cell) this.block(this.x[n], this.y[n], plan.wide - plan.gap, this.paper, plan.high - plan.gap); // it may have been one block
    for (let i = 0; i < cells; i++) {
      this.block(this.x[n] + i % plan.across * plan.cell, this.y[n] + Math.floor(i / plan.across) * plan.cell, inner, this.colour(n, i));
    }
  }

  block(x, y, size, colour, tall = size) {
    const { pixels, wide, high } = this;
    for (let row = y; row < y + tall && row < high; row++) pixels.fill(colour, row * wide + x, row * wide + x + size);
  }

  // The node under a point in CSS pixels of the canvas, -1 for none.
  nodeAt(x, y) {
    const across = x * this.ratio, down = y * this.ratio;
    for (let g = 0; g < this.plans.length; g++) {
      const plan = this.plans[g];
      if (down < plan.top || down >= plan.top + plan.rows * plan.high) continue;
      const column = Math.floor(across / plan.wide), i = Math.floor((down - plan.top) / plan.high) * plan.row + column;
      return column < plan.row && i < plan.count ? this.order[g][i] : -1;
    }
    return -1;
  }

  // The node beside `n`, for the arrow keys.
  beside(n, right, down) {
    if (n < 0) return this.order[0][0];
    let g = this.data.of.type[n];
    const plan = this.plans[g], i = this.order[g].indexOf(n) + right + down * plan.row;
    if (i >= 0 && i < plan.count) return this.order[g][i];
    g += i < 0 ? -1 : 1;
    if (g < 0 || g >= this.plans.length) return n;
    return i < 0 ? this.order[g][this.plans[g].count - 1] : this.order[g][0];
  }
}
