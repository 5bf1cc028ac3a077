/** Two numbers of each order against each other. */

import { scaleOf, xAxis, yAxis } from "./axes.js";
import { drawing, number, svg, textWidth } from "./svg.js";

/** A dot for each order, chosen ones on top, and their names below. @param {Object} given @param {string} given.label
 * @param {string[]} given.titles @param {number[]} given.xs @param {number[]} given.ys
 * @param {{x: number, y: number, look: string, label: string}[]} given.chosen @param {number} width */
export function scatter({ label, titles, xs, ys, chosen }, width) {
  const [left, top, bottom] = [46, 34, (width >= 500 ? 0.5 : 0.9) * width];
  const across = scaleOf([...xs, ...chosen.map((dot) => dot.x)], left, width - 12);
  const up = scaleOf([...ys, ...chosen.map((dot) => dot.y)], bottom, top);
  const cloud = xs.map((x, k) => `M${across(x).toFixed(1)} ${up(ys[k]).toFixed(1)}h0`).join("");
  const parts = [
    ...yAxis(up, left, width - 12, titles[1]),
    ...xAxis(across, top, bottom, titles[0], width),
    svg("path", { d: cloud, class: "cloud" }),
    ...chosen.map((dot) => {
      const tip = `${dot.label}: ${number(dot.x)}, ${number(dot.y)}`;
      return svg("circle", { cx: across(dot.x), cy: up(dot.y), r: 5, class: `dot s-${dot.look}`, "data-tip": tip });
    }),
  ];
  let [x, y] = [left, bottom + 58];
  for (const dot of chosen) {
    const wide = textWidth(dot.label) + 28;
    if (x > left && x + wide > width) [x, y] = [left, y + 20];
    parts.push(
      svg("circle", { cx: x + 4, cy: y - 4, r: 4, class: `dot s-${dot.look}` }),
      svg("text", { x: x + 13, y, class: "name" }, dot.label),
    );
    x += wide;
  }
  return drawing(width, y + 8, label, parts);
}
