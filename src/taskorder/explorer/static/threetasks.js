/** Three tasks: the phase diagram at this retention, with your point on it. */

import { byId, show, tokenColor } from "./dom.js";
import { h, number } from "./svg.js";
import { paint } from "./heat.js";

const CELLS = 151;

/** @param {import("./app.js").App} app */
export function createThreeTasks(app) {
  const canvas = byId("three-map");
  let key = "";
  let map = null;
  let busy = false;

  /** @param {import("./app.js").View} view */
  function draw({ state: { inputs }, best }) {
    const { matrix, names } = inputs;
    const colors = map.orders.map((_, k) => tokenColor(`--phase-${k}`));
    paint(canvas, CELLS, CELLS, (row, column) => {
      const cell = map.cells[row * CELLS + column];
      return cell === 255 ? [0, 0, 0, 0] : colors[cell];
    });
    const used = new Set(map.cells);
    const text = (order) => order.map((task) => names[task]).join(" → ");
    byId("three-legend").replaceChildren(
      ...map.orders.map((order, place) =>
        h(
          "li",
          used.has(place) ? {} : { class: "muted" },
          h("i", { class: `swatch p${place}` }),
          text(order),
          used.has(place) ? "" : " (nowhere best)",
        ),
      ),
    );
    const [x, y] = [matrix[1], matrix[5]];
    const plot = canvas.parentElement;
    plot.querySelector(".point")?.remove();
    const point = h("i", { class: "point", "aria-hidden": "true" });
    point.style.left = `${50 + 50 * x}%`;
    point.style.top = `${50 - 50 * y}%`;
    plot.append(point);
    const here = best ? ` Best here: ${text(best.order)}.` : "";
    byId("three-text").textContent =
      `Across: similarity of ${names[0]} and ${names[1]} (now ${number(x)}). Up: ${names[1]} and ${names[2]} ` +
      `(now ${number(y)}). Both from −1 to 1, at the similarity ${number(matrix[2])} ` +
      `of ${names[2]} and ${names[0]} and retention ${number(inputs.retention)}, which the slider above moves; ` +
      "empty where no such tasks exist.";
    canvas.setAttribute("aria-label", `Phase diagram: which order is best over two of the three similarities.${here}`);
  }

  /** @param {import("./app.js").View} view */
  function render(view) {
    const { inputs } = view.state;
    const drawn = inputs.size === 3 && inputs.kind === "similarity";
    show(byId("three"), drawn);
    if (!drawn) return;
    const { retention, before, first, last, learned, weights, matrix } = inputs;
    const wanted = JSON.stringify([retention, matrix[2], before, first, last, learned, weights]);
    if (wanted === key) return draw(view);
    if (busy) return; // the next drawing comes when this one is done
    busy = true;
    app.engine.slow.ask("threeMap", inputs, CELLS).then((found) => {
      busy = false;
      [key, map] = [wanted, found];
      if (!byId("three").hidden) draw(app.view); // a moment old while a slider moves
      render(app.view);
    });
  }

  return { render };
}
