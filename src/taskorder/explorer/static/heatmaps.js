/** Two maps on canvas: every task's error after every step, and the similarity of every pair. */

import { byId, number, token } from "./dom.js";

/** Mix two #rrggbb colors. @param {string} from @param {string} to @param {number} share @returns {number[]} */
export function mix(from, to, share) {
  const parts = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const [a, b] = [parts(from), parts(to)];
  return a.map((value, place) => Math.round(value + (b[place] - value) * share));
}

/** Fill a canvas with one pixel a cell; CSS makes it large. @param {HTMLCanvasElement} canvas @param {number} columns
 * @param {number} rows @param {(row: number, column: number) => number[]} color */
export function paint(canvas, columns, rows, color) {
  if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, { width: columns, height: rows });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(columns, rows);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at += 4) {
      const [red, green, blue] = color(row, column);
      image.data[at] = red;
      image.data[at + 1] = green;
      image.data[at + 2] = blue;
      image.data[at + 3] = 255;
    }
  }
  pen.putImageData(image, 0, 0);
}

const LEVELS = 64;

/** A ramp of colors, looked up by a share from 0 to 1. @param {string[]} stops @returns {(share: number) => number[]} */
function ramp(stops) {
  const table = Array.from({ length: LEVELS + 1 }, (_, level) => {
    const place = (level / LEVELS) * (stops.length - 1);
    const left = Math.min(stops.length - 2, Math.floor(place));
    return mix(stops[left], stops[left + 1], place - left);
  });
  return (share) => table[Math.round(LEVELS * Math.max(0, Math.min(1, share)))];
}

export function createErrorMap() {
  const canvas = byId("heat");
  return {
    render({ state, order, evaluation }) {
      const { size, learned, names } = state.question;
      const rows = [...learned, ...order];
      const color = ramp([token("--low"), token("--high")]);
      const high = evaluation.path.reduce((top, value) => Math.max(top, value), 0);
      // the square root shows small errors, which are what differs between orders
      paint(canvas, order.length + 1, size, (row, step) =>
        color(Math.sqrt(evaluation.path[step * size + rows[row]] / high)),
      );
      byId("heat-high").textContent = number(high);
      canvas.setAttribute(
        "aria-label",
        `Error of ${size} tasks (rows, in this order) after each of ${order.length} steps ` +
          `(columns). The first task, ${names[rows[0]]}, ends at ${number(evaluation.final[rows[0]])}.`,
      );
    },
  };
}

/** @param {import("./app.js").App} app */
export function createSimilarityMap(app) {
  const canvas = byId("map");
  const details = byId("similarities");
  let shown = [];
  const render = ({ state, order }) => {
    if (!details.open) return;
    const { size, matrix, learned } = state.question;
    shown = [...learned, ...order];
    const color = ramp([token("--negative"), token("--neutral"), token("--positive")]);
    const [a, b] = state.pair;
    const chosen = (i, j) => (i === a && j === b) || (i === b && j === a);
    const ink = mix(token("--ink"), token("--ink"), 0);
    paint(canvas, size, size, (row, column) => {
      const [i, j] = [shown[row], shown[column]];
      return chosen(i, j) ? ink : color((matrix[i * size + j] + 1) / 2);
    });
  };
  details.addEventListener("toggle", () => app.refresh());
  canvas.addEventListener("click", (event) => {
    const at = (offset, length) => shown[Math.min(shown.length - 1, Math.floor((offset / length) * shown.length))];
    const pair = [at(event.offsetY, canvas.clientHeight), at(event.offsetX, canvas.clientWidth)];
    if (pair[0] !== pair[1]) app.store.adjust({ pair });
  });
  return { render };
}
