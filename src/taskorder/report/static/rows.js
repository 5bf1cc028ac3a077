/** One row a thing: a bar from a start to an end, its name to the left or above, its number to the right. */

import { scaleFrom, scaleOf, xAxis, yAxis } from "./axes.js";
import { drawing, fitted, FONT, number, svg, textWidth } from "./svg.js";

/** @typedef {{name: string, start: number, end: number, look: string, tip: string, interval: number[] | null}} Row */

/** Horizontal bars. @param {Object} given @param {string} given.label @param {string} given.title
 * @param {boolean} given.ends  mark start (hollow) and end (full), for values that do not start at zero
 * @param {Row[]} given.rows @param {number} width */
export function rowChart({ label, title, ends, rows }, width) {
  const longest = Math.max(...rows.map((row) => textWidth(row.name)));
  const above = longest > 0.42 * width;
  const numbers = Math.max(...rows.map((row) => textWidth(number(row.end)))) + 14;
  const left = above ? 12 : longest + 12;
  const [each, top] = [above ? 36 : 21, 8];
  const bottom = top + each * rows.length;
  const values = rows.flatMap((row) => [row.start, row.end, ...(row.interval ?? [])]);
  const across = scaleOf(values, left, width - numbers, { zero: !ends, linear: true });
  const parts = rows.flatMap((row, k) => {
    const y = top + each * k + (above ? 26 : 10.5);
    const name = fitted(row.name, above ? width - 8 : left - 10);
    return [
      svg("text", { x: above ? left : left - 10, y: above ? y - 12 : y + 4, class: above ? "name" : "name end" }, name),
      bar(row, across, y, ends),
      svg("text", { x: width - 2, y: y + 4, class: "tick end" }, number(row.end)),
    ];
  });
  const axis = xAxis(across, top, bottom, title, width, width >= 500 ? 6 : 4);
  return drawing(width, bottom + 42, label, [...axis, ...parts]);
}

function bar({ start, end, look, tip, interval }, across, y, ends) {
  const [a, b] = [across(start), across(end)];
  const half = ends ? 1.5 : 0.42 * FONT;
  const box = { x: Math.min(a, b), y: y - half, width: Math.max(Math.abs(b - a), 0.75), height: 2 * half, rx: 1.5 };
  const [low, high] = (interval ?? []).map((value) => across(value).toFixed(1));
  const ticks = interval && `M${low} ${y - 4}v8M${low} ${y}H${high}M${high} ${y - 4}v8`;
  return svg(
    "g",
    { "data-tip": tip },
    svg("rect", { ...box, class: `bar s-${look}` }),
    ends && svg("circle", { cx: a, cy: y, r: 4, class: `ring s-${look}` }),
    ends && svg("circle", { cx: b, cy: y, r: 4.5, class: `dot s-${look}` }),
    interval && svg("path", { d: ticks, class: "whisker" }),
    svg("rect", { x: across.start, y: y - 9, width: across.end - across.start, height: 18, class: "target" }),
  );
}

/** The same for many rows: a column each, or for each block of neighbors their mean with a tick at their extreme.
 * @param {Object} given @param {string} given.label @param {string[]} given.titles @param {number} given.count
 * @param {string} given.look @param {{from: number, to: number, start: number, mean: number, far: number,
 * tip: string}[]} given.columns @param {number} width */
export function columnChart({ label, titles, count, look, columns }, width) {
  const [left, top, bottom] = [46, 34, (width >= 500 ? 0.4 : 0.7) * width];
  const across = scaleFrom(0, count, left, width - 18, { whole: true });
  const seen = columns.flatMap(({ start, mean, far }) => [start, mean, far]);
  const up = scaleOf(seen, bottom, top, { zero: true, linear: true });
  const parts = columns.map(({ from, to, start, mean, far, tip }) => {
    const box = { x: across(from), width: Math.max(0.8, across(to) - across(from) - 0.8) };
    const [high, low] = [Math.min(up(start), up(mean)), Math.max(up(start), up(mean))];
    return svg(
      "g",
      { "data-tip": tip },
      svg("rect", { ...box, y: high, height: Math.max(low - high, 0.5), class: `bar s-${look}` }),
      to - from > 1 && svg("rect", { ...box, y: up(far) - 0.75, height: 1.5, class: "far" }),
      svg("rect", { ...box, y: top, height: bottom - top, class: "target" }),
    );
  });
  const axes = [...yAxis(up, left, width - 18, titles[1]), ...xAxis(across, top, bottom, titles[0], width)];
  return drawing(width, bottom + 42, label, [...axes, ...parts]);
}
