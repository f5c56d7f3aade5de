// The datacenter over frames: decodes the server's answer and holds the state of every node at one frame.

const KINDS = { uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array };
const REASONS = 6;

export class MapData {
  /** @type {Record<string, {kind: string, at: number, count: number}>} */ arrays;
  /** @type {string[]} */ names;
  /** @type {{label: string, more: string, model: string, gpus: number, cpuMilli: number}[]} */ groups;
  /** @type {{name: string, light: string, dark: string}[]} */ reasons;
  /** @type {string[]} */ states;
  /** @type {string[]} */ owners;
  /** @type {string[]} */ classes;
  /** @type {string[] | null} */ taskNames;
  /** @type {Record<string, any>} */ of;
  width = 1;
  frames = 0;
  gpus = 0;
  datacenter = "";
  chosen = "";
  sleeps = false; // nodes may

  constructor(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    Object.assign(this, JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))));
    this.of = {};
    for (const [name, { kind, at, count }] of Object.entries(this.arrays)) this.of[name] = new KINDS[kind](buffer, 4 + length + at, count);
    const { of } = this;
    this.nodes = this.names.length;
    this.used = of.firstUsed.slice(); // [nodes, width] milli-GPU in use
    this.cpu = of.firstCpu.slice(); // milli-vCPU in use
    this.watts = of.firstWatts.slice();
    this.lost = of.firstLost.slice(); // [nodes, reasons] milli-GPU that the target workload cannot use
    this.state = of.firstState.slice();
    this.owner = of.firstOwner.slice(); // [nodes, width] who has the GPU
    this.frame = 0;
    // The change of the same node before each change; -1: it was as at the start.
    const latest = new Int32Array(this.nodes).fill(-1), before = new Int32Array(of.changeNode.length);
    for (let i = 0; i < before.length; i++) {
      before[i] = latest[of.changeNode[i]];
      latest[of.changeNode[i]] = i;
    }
    this.before = before;
    this.marked = new Int32Array(this.nodes);
    this.moves = 0;
  }

  copy(node, change) {
    const { of, width } = this, first = change < 0, from = first ? node : change;
    const [used, cpu, watts, lost, state] = first ? [of.firstUsed, of.firstCpu, of.firstWatts, of.firstLost, of.firstState] : [of.changeUsed, of.changeCpu, of.changeWatts, of.changeLost, of.changeState];
    const owner = first ? of.firstOwner : of.changeOwner;
    for (let g = 0; g < width; g++) {
      this.used[node * width + g] = used[from * width + g];
      this.owner[node * width + g] = owner[from * width + g];
    }
    for (let r = 0; r < REASONS; r++) this.lost[node * REASONS + r] = lost[from * REASONS + r];
    this.cpu[node] = cpu[from];
    this.watts[node] = watts[from];
    this.state[node] = state[from];
  }

  // Go to a frame; returns the nodes that are not as they were. Of several changes of a node only the last is copied.
  goTo(frame) {
    const { changeNode, frameStart } = this.of, moved = [], mark = ++this.moves;
    if (frame > this.frame) {
      for (let i = frameStart[frame] - 1; i >= frameStart[this.frame]; i--) {
        const node = changeNode[i];
        if (this.marked[node] === mark) continue;
        this.marked[node] = mark;
        moved.push(node);
        this.copy(node, i);
      }
    } else {
      for (let i = frameStart[frame]; i < frameStart[this.frame]; i++) {
        const node = changeNode[i];
        if (this.marked[node] === mark) continue;
        this.marked[node] = mark;
        moved.push(node);
        this.copy(node, this.before[i]);
      }
    }
    this.frame = frame;
    return moved;
  }

  // Tasks on a node now, latest first: numbers of tasks.
  tasksOn(node) {
    const { eventNode, eventTask, eventSign, ends } = this.of, there = new Set();
    for (let i = 0; i < ends[this.frame]; i++) {
      if (eventNode[i] !== node) continue;
      if (eventSign[i] > 0) there.add(eventTask[i]);
      else there.delete(eventTask[i]);
    }
    return [...there].reverse();
  }

  taskName(task) { return this.taskNames ? this.taskNames[task] : `task ${task + 1}`; }
  taskText(task) { return this.classes[this.of.taskClass[task]]; }

  lostOf(node) {
    let sum = 0, most = 0, reason = -1;
    for (let r = 0; r < REASONS; r++) {
      const value = this.lost[node * REASONS + r];
      sum += value;
      if (value > most) [most, reason] = [value, r];
    }
    return { sum, reason };
  }

  // {watts, allocated, lost, running, failed, at} of the datacenter now, as the run recorded them.
  totals() {
    const { totals, failed, at } = this.of, row = this.frame * 4;
    return { watts: totals[row], allocated: totals[row + 1], lost: totals[row + 2], running: totals[row + 3], failed: failed[this.frame], at: at[this.frame] };
  }

  // How many nodes are in each state of sleep now: [["asleep", 12], ...], the states other than awake.
  notAwake() {
    if (!this.sleeps) return [];
    const { inState } = this.of, row = this.frame * this.states.length;
    return this.states.map((name, state) => /** @type {[string, number]} */ ([name, inState[row + state]])).slice(1).reverse();
  }

  // The same by group of equal nodes.
  byGroup() {
    const rows = this.groups.map(() => ({ nodes: 0, used: 0, watts: 0, lost: 0, busy: 0, asleep: 0 }));
    for (let n = 0; n < this.nodes; n++) {
      const row = rows[this.of.type[n]];
      let used = 0;
      for (let g = 0; g < this.width; g++) used += this.used[n * this.width + g];
      row.nodes++;
      row.used += used / 1000;
      row.watts += this.watts[n];
      row.lost += this.lostOf(n).sum / 1000;
      if (used > 0 || this.cpu[n] > 0) row.busy++;
      if (this.states[this.state[n]] === "asleep") row.asleep++;
    }
    return rows;
  }
}
