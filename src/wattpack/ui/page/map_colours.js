// Colours of the map, for light and dark screens. Pixels are packed as a canvas holds them.

const byte = (hex, at) => parseInt(hex.slice(at, at + 2), 16);
export const rgb = (hex) => [byte(hex, 1), byte(hex, 3), byte(hex, 5)];
/** @param {number[]} colour */
export const packed = ([r, g, b]) => (255 << 24 | Math.round(b) << 16 | Math.round(g) << 8 | Math.round(r)) >>> 0;
export const mixed = (from, to, share) => from.map((value, i) => value + (to[i] - value) * share);

// Sequential scales that keep their order for the colour-blind and in grey; reasons are Okabe and Ito's, from the report.
export const SCALES = {
  light: { paper: "#ffffff", text: "#5c646e", empty: "#e4e2dc", scale: ["#d3e6f3", "#3f93c9", "#00497d"], frame: "#a83a00" },
  dark: { paper: "#1c2026", text: "#a3acb7", empty: "#363d46", scale: ["#1d4a68", "#3b9fe8", "#d6f1ff"], frame: "#ff9a66" },
};

export function scaleOf(dark) {
  const { scale, empty } = SCALES[dark ? "dark" : "light"], anchors = scale.map(rgb), table = new Uint32Array(1001);
  for (let i = 1; i <= 1000; i++) {
    const at = i / 1000 * 2, low = Math.min(1, Math.floor(at));
    table[i] = packed(mixed(anchors[low], anchors[low + 1], at - low));
  }
  table[0] = packed(rgb(empty));
  return table;
}

// Colours of who has a GPU, Okabe and Ito's: free, shared, one GPU of a task, one of several.
const OWNERS = { light: ["#e4e2dc", "#56b4e9", "#e69f00", "#7a2d00"], dark: ["#363d46", "#8fd3fb", "#f5b82e", "#d55e00"] };
export const ownersOf = (dark) => Uint32Array.from(OWNERS[dark ? "dark" : "light"], (colour) => packed(rgb(colour)));

// A node asleep is one dark block, without its cells. The upper half of one that wakes is bright, of one that shuts down
// grey: shape and brightness tell them apart without colour.
const ASLEEP = { light: "#0b0c0e", dark: "#000000" };
const TURNING = { waking: "#f0e442", "shutting down": "#8a929c" };
export const sleepOf = (dark, state) => (state === "asleep" ? ASLEEP[dark ? "dark" : "light"] : TURNING[state]);

export const cssOf = (colour) => `rgb(${colour & 255} ${colour >> 8 & 255} ${colour >> 16 & 255})`;
