"use strict";
// What the pages share: packed curves, elements with text, tables that sort, pieces of charts in SVG.

// A curve is a string of whole units, each the difference from the one before, in base64 VLQ; ~ is a place without a value.
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGIT_OF = new Map([...BASE64].map((letter, digit) => [letter, digit]));

function decode(text, unit, count) {
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

const byId = (id) => document.getElementById(id);

function element(name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

// A click sorts by the column, numbers from the largest, names from a; a second click turns the order round.
function makeSortable(table) {
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

function svgNode(parent, name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  parent.appendChild(node);
  return node;
}

// Round numbers that cover [low, high] in about `count` steps.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].map((nice) => nice * power).find((size) => size >= rough - 1e-12);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (/^2\.5/.test((step / power).toFixed(1)) ? 1 : 0)) };
}

function swatch(line, stacked) {
  const box = document.createElementNS(SVG, "svg");
  for (const [key, value] of [["class", "swatch " + line.cls], ["width", stacked ? 12 : 26], ["height", 12], ["aria-hidden", "true"]]) box.setAttribute(key, value);
  if (stacked) svgNode(box, "rect", { width: 12, height: 12, rx: 2 });
  else svgNode(box, "line", { x1: 0, x2: 26, y1: 6, y2: 6, "stroke-dasharray": dashes(line) });
  return box;
}

function dashes(line) {
  return line.dash.length ? line.dash.map((part) => part * 2).join(" ") : "none";
}
