// What the pages share: packed curves, elements with text, tables that sort.

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
