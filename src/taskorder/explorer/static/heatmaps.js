/** Two maps on canvas: every task's knowledge or error after every step, and the similarity of every pair. */

import { byId, tokenColor } from "./dom.js";
import { cellColor, evenly, paint } from "./heat.js";
import { wordsOf } from "./objective.js";
import { isScored } from "./recursion.js";
import { h, number } from "./svg.js";

const [LINE, DIGIT] = [14, 7]; // room of a name, and of a digit
const [LEAST_HEIGHT, MOST_HEIGHT] = [210, 480];

/** Labels beside a map and below it: a name for each row, or the numbers of some where names have no room.
 * @param {HTMLCanvasElement} canvas @returns {(rows: string[], marks: string[], columns: string[], first: number) => void} */
function createLabels(canvas) {
  const [beside, below] = ["rows", "columns"].map((key) => canvas.parentElement.querySelector(`.${key}`));
  let labels = null;
  const at = (side, texts, chosen) => {
    const line = side === beside ? "Row" : "Column";
    side.style[`gridTemplate${line}s`] = `repeat(${texts.length}, minmax(0, 1fr))`;
    side.replaceChildren(
      ...chosen.map((k) => {
        const label = h("span", {}, texts[k]);
        label.style[`grid${line}`] = String(k + 1);
        return label;
      }),
    );
  };
  const place = () => {
    if (!labels) return;
    const { rows, marks, columns, first } = labels;
    const high = canvas.clientHeight / rows.length;
    const named = evenly(rows.length, LINE, high);
    at(beside, named.length === rows.length ? rows : marks, named);
    const room = 4 + DIGIT * columns.at(-1).length;
    at(below, columns, evenly(columns.length, room, canvas.clientWidth / columns.length, first));
  };
  new ResizeObserver(place).observe(canvas);
  return (rows, marks, columns, first) => {
    labels = { rows, marks, columns, first };
    place();
  };
}

/** The value of the strongest color: the largest, or where a few are more than twice as large as all others, the
 * largest of those. @param {ArrayLike<number>} values @returns {number} */
export function usualTop(values) {
  const sorted = Float64Array.from(values).sort();
  const [most, usual] = [sorted.at(-1), sorted[Math.floor(0.98 * (sorted.length - 1))]];
  return usual > 0 && most > 2 * usual ? usual : most;
}

export function createPathMap() {
  const canvas = byId("heat");
  const label = createLabels(canvas);
  return {
    render({ state, order, evaluation }) {
      const { size, learned, names } = state.inputs;
      const rows = [...learned, ...order];
      const scored = isScored(state.inputs);
      const words = wordsOf(state.inputs);
      const most = evaluation.path.reduce((top, value) => Math.max(top, value), 0);
      const least = evaluation.path.reduce((low, value) => Math.min(low, value), 0);
      const high = scored ? 1 : usualTop(evaluation.path);
      const marks = rows.map((_, row) => (row < learned.length ? "·" : String(row - learned.length + 1)));
      canvas.style.height = `${Math.max(LEAST_HEIGHT, Math.min(MOST_HEIGHT, (LINE + 1) * size))}px`;
      label(
        rows.map((task, row) => `${marks[row]} ${names[task]}`),
        marks,
        Array.from({ length: order.length + 1 }, (_, step) => String(step)),
        0,
      );
      // the square root shows small errors, which are what differs between orders
      const color = scored ? (share) => cellColor(share) : (share) => cellColor(Math.sqrt(share), true);
      paint(canvas, order.length + 1, size, (row, step) => color(evaluation.path[step * size + rows[row]] / high));
      const below = scored && least < -0.005;
      byId("heat-high").textContent = most > high * (1 + 1e-9) ? `${number(high)} and more (${number(most)})` : number(high);
      byId("heat-low").textContent =
        `${words.cellName.toLowerCase()} ${below ? "−1" : "0"}${least < -1 ? ` and less (${number(least)})` : ""}`;
      byId("heat-ramp").className = `ramp cells ${below ? "two" : scored ? "cold" : ""}`;
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
  const label = createLabels(canvas);
  const details = byId("similarities");
  let shown = [];
  const render = ({ state, order }) => {
    if (!details.open) return;
    const { size, matrix, learned, names } = state.inputs;
    shown = [...learned, ...order];
    const [a, b] = state.pair;
    const chosen = (i, j) => (i === a && j === b) || (i === b && j === a);
    const ink = tokenColor("--ink");
    const marks = shown.map((_, row) => (row < learned.length ? "·" : String(row - learned.length + 1)));
    label(shown.map((task, row) => `${marks[row]} ${names[task]}`), marks, marks, 1);
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
