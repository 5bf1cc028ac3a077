/** Where chosen orders stand among many: a histogram, or the sorted values, above one row for each chosen order. */

import { scaleFrom, scaleOf, xAxis, yAxis } from "./axes.js";
import { drawing, number, percent, svg, textWidth } from "./svg.js";

const ROW = 20;

/** @typedef {{label: string, look: string, value: number, tip: string, strong: boolean, rank?: number}} Mark */

/** How many orders have which value. @param {Object} given @param {string} given.label @param {string} given.title
 * @param {number[]} given.edges @param {number[]} given.counts @param {Mark[]} given.marks @param {number} width */
export function histogram({ label, title, edges, counts, marks }, width) {
  const { left, right, high } = margins(marks, width);
  const [top, foot] = [8, 8 + high];
  const bottom = foot + ROW * marks.length + 8;
  const across = scaleOf([edges[0], edges.at(-1), ...marks.map((mark) => mark.value)], left, width - right);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const up = scaleFrom(0, Math.max(1, ...counts), foot, top);
  const bars = counts.flatMap((count, k) => {
    const x = across(edges[k]);
    const tip = `${percent(count / total)} of orders: ${number(edges[k])} to ${number(edges[k + 1])}`;
    const box = { x, y: up(count), width: Math.max(across(edges[k + 1]) - x - 0.6, 0.6), height: foot - up(count) };
    return count ? [svg("rect", { ...box, class: "orders", "data-tip": tip })] : [];
  });
  const rows = markRows(marks, marks.map((mark) => across(mark.value)), foot, width, left);
  const axis = xAxis(across, top, bottom, title, width, width >= 500 ? 7 : 4);
  return drawing(width, bottom + 42, label, [...axis, ...bars, ...rows]);
}

/** All values, best first. @param {Object} given @param {string} given.label @param {string[]} given.titles
 * @param {number} given.count  of all orders @param {number[]} given.ranks  of those that are drawn, from 1
 * @param {number[]} given.values @param {number[] | null} given.halves  of an interval around each
 * @param {Mark[]} given.marks @param {number} width */
export function ranking({ label, titles, count, ranks, values, halves, marks }, width) {
  const { left, right, high } = margins(marks, width);
  const top = 32;
  const foot = top + high + 60;
  const bottom = foot + ROW * marks.length + 8;
  const half = (k) => (halves ? halves[k] : 0);
  const across = scaleFrom(1, Math.max(2, count), left, width - right, { whole: true });
  const ends = values.flatMap((value, k) => [value - half(k), value + half(k)]);
  const up = scaleOf([...ends, ...marks.map((mark) => mark.value)], foot, top);
  const parts = [...yAxis(up, left, width - right, titles[1]), ...xAxis(across, foot, bottom, titles[0], width)];
  if (halves) {
    const spans = values.map(
      (value, k) => `M${across(ranks[k]).toFixed(1)} ${up(value - half(k)).toFixed(1)}V${up(value + half(k)).toFixed(1)}`,
    );
    parts.push(svg("path", { d: spans.join(""), class: "spans" }));
  }
  values.forEach((value, k) => {
    const tip = `rank ${ranks[k]} of ${count}: ${number(value)}`;
    parts.push(svg("circle", { cx: across(ranks[k]), cy: up(value), r: 2.2, class: "order-dot", "data-tip": tip }));
  });
  parts.push(...markRows(marks, marks.map((mark) => across(mark.rank)), foot, width, left));
  for (const { rank, value, look, tip } of marks)
    parts.push(svg("circle", { cx: across(rank), cy: up(value), r: 4.5, class: `dot s-${look}`, "data-tip": tip }));
  return drawing(width, bottom + 42, label, parts);
}

function margins(marks, width) {
  const names = Math.max(...marks.map((mark) => textWidth(mark.label))) + 16;
  const numbers = Math.max(...marks.map((mark) => textWidth(number(mark.value)))) + 12;
  return { left: Math.min(names, 0.4 * width), right: numbers, high: width >= 500 ? 120 : 96 };
}

function markRows(marks, xs, top, width, left) {
  return marks.map(({ label, look, value, tip, strong }, row) => {
    const [x, y] = [xs[row], top + ROW * (row + 0.5) + 6];
    return svg(
      "g",
      { "data-tip": tip },
      svg("line", { x1: x, x2: x, y1: top, y2: y, class: `drop s-${look}` }),
      svg("circle", { cx: x, cy: y, r: strong ? 5.5 : 4.5, class: `dot s-${look}` }),
      svg("text", { x: left - 12, y: y + 4, class: strong ? "name strong end" : "name end" }, label),
      svg("text", { x: width - 2, y: y + 4, class: "tick end" }, number(value)),
      svg("rect", { x: 0, y: y - 9, width, height: 18, class: "target" }),
    );
  });
}
