/** Two maps on canvas: every task's knowledge or error after every step, and the similarity of every pair. */

import { byId, tokenColor } from "./dom.js";
import { cellColor, paint } from "./heat.js";
import { wordsOf } from "./objective.js";
import { isScored } from "./recursion.js";
import { number } from "./svg.js";

export function createPathMap() {
  const canvas = byId("heat");
  return {
    render({ state, order, evaluation }) {
      const { size, learned, names } = state.inputs;
      const rows = [...learned, ...order];
      const scored = isScored(state.inputs);
      const words = wordsOf(state.inputs);
      const high = scored ? 1 : evaluation.path.reduce((top, value) => Math.max(top, value), 0);
      // the square root shows small errors, which are what differs between orders
      const color = scored ? (share) => cellColor(share) : (share) => cellColor(Math.sqrt(share), true);
      paint(canvas, order.length + 1, size, (row, step) => color(evaluation.path[step * size + rows[row]] / high));
      byId("heat-high").textContent = number(high);
      byId("heat-low").textContent = `${words.cellName.toLowerCase()} 0`;
      byId("heat-ramp").classList.toggle("cold", scored);
      byId("heat-help").textContent = words.cells;
      canvas.setAttribute(
        "aria-label",
        `${words.cellName} of ${size} tasks (rows, in this order) after each of ${order.length} steps ` +
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
    const { size, matrix, learned } = state.inputs;
    shown = [...learned, ...order];
    const [a, b] = state.pair;
    const chosen = (i, j) => (i === a && j === b) || (i === b && j === a);
    const ink = tokenColor("--ink");
    paint(canvas, size, size, (row, column) => {
      const [i, j] = [shown[row], shown[column]];
      return chosen(i, j) ? ink : cellColor(matrix[i * size + j]);
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
