/** Lines over the steps of an order, above a band of random orders. */

import { scaleFrom, scaleOf, spreadOut, xAxis, yAxis } from "./axes.js";
import { drawing, FONT, number, pointList, svg, textWidth } from "./svg.js";

/** @typedef {Object} Line
 * @property {string} label @property {string} look  the class s-LOOK colors it
 * @property {ArrayLike<number>} values @property {ArrayLike<number>} [steps]  0, 1, ... where it is left out
 * @property {boolean} [strong]  thick, on top, with a mark at each step that has a tip
 * @property {boolean} [dashed] @property {string[]} [tips] */

/** @param {Object} given @param {string} given.label @param {string[]} given.titles  along and above the axes
 * @param {Line[]} given.lines @param {number} width
 * @param {{steps?: number[], values: ArrayLike<number>[]} | null} [given.band]  quantiles, the outer ones first and last
 * @param {boolean} [given.named]  whether the labels stand in the chart, beside the ends or below
 * @param {number} [given.height] @returns {SVGSVGElement & {stepAt: (x: number) => number}} */
export function lineChart({ label, titles, lines, band = null, named = true, height = 0 }, width) {
  const wide = width >= 500;
  const names = lines.map((line) => `${line.label}  ${number(last(line.values))}`);
  const margin = !named || !wide ? 10 : Math.max(...names.map((name) => textWidth(name))) + 30;
  const [left, top] = [46, named ? 34 : 28];
  const bottom = height ? height - (titles[0] ? 44 : 22) : (wide ? 0.56 : 0.85) * width;
  const curves = [...lines, ...(band ? band.values.map((values) => ({ values, steps: band.steps })) : [])];
  const seen = curves.flatMap(({ values }) => Array.from(values));
  const steps = Math.max(...curves.map((curve) => last(stepsOf(curve))));
  const across = scaleFrom(0, steps, left, width - margin, { whole: true });
  const zero = Math.min(...seen) < 0.3 * Math.max(...seen) || !named;
  const up = scaleOf(seen, bottom, top, { zero, linear: !named });
  const points = (curve) => Array.from(stepsOf(curve), (step, k) => [across(step), up(curve.values[k])]);
  const parts = [
    ...yAxis(up, left, width - margin, titles[1], named ? 5 : 3),
    ...xAxis(across, named ? top : bottom, bottom, titles[0], width, named ? (wide ? 8 : 5) : 13),
    ...(band ? bandParts(curves.slice(lines.length).map(points)) : []),
  ];
  for (const line of [...lines].sort((a, b) => Boolean(a.strong) - Boolean(b.strong))) {
    const kind = `line s-${line.look}${line.strong ? " strong" : ""}${line.dashed ? " held" : ""}`;
    const tip = line.strong ? null : line.label;
    const curve = svg("polyline", { points: pointList(points(line)), class: kind, "data-tip": tip });
    const end = points(line).at(-1);
    const dot = !named && svg("circle", { cx: end[0], cy: end[1], r: 3, class: `dot s-${line.look}` });
    parts.push(svg("g", { class: "series" }, curve, dot, ...marks(line, points(line))));
  }
  if (named) parts.push(...(wide ? beside : below)(lines, names, across, up));
  const tall = height || bottom + 44 + (named && !wide ? 20 * lines.length : 0);
  const stepAt = (x) => Math.max(0, Math.min(steps, Math.round(((x - left) / (across.end - left || 1)) * steps)));
  return Object.assign(drawing(width, tall, label, parts), { stepAt });
}

const last = (values) => values[values.length - 1];
const stepsOf = ({ steps, values }) => steps ?? Array.from(values, (_, k) => k);

/** Areas between opposite quantiles, the outer ones lighter, and the median. */
function bandParts(curves) {
  const half = Math.floor(curves.length / 2);
  const areas = curves.slice(0, half).map((low, k) => {
    const points = pointList([...curves[curves.length - 1 - k], ...[...low].reverse()]);
    return svg("polygon", { points, class: k ? "band inner" : "band" });
  });
  return [...areas, svg("polyline", { points: pointList(curves[half]), class: "median" })];
}

function marks({ tips, look }, points) {
  if (!tips) return [];
  const seen = points.length <= 60; // more would hide the line: they only answer the pointer
  const kind = seen ? `dot s-${look}` : "target";
  return points.map(([cx, cy], k) => svg("circle", { cx, cy, r: seen ? 3.5 : 6, class: kind, "data-tip": tips[k] }));
}

/** Labels to the right of the ends, pushed apart, each with a hair line to its curve. */
function beside(lines, names, across, up) {
  const ends = lines.map((line) => up(last(line.values)));
  const heights = spreadOut(ends, FONT + 4, up.end, up.start);
  return lines.flatMap((line, k) => {
    const [x, y] = [across(last(stepsOf(line))), heights[k]];
    const leader = pointList([[x + 3, ends[k]], [across.end + 16, y]]);
    return [
      svg("polyline", { points: leader, class: "leader" }),
      svg("circle", { cx: across.end + 19, cy: y, r: 3.5, class: `dot s-${line.look}` }),
      svg("text", { x: across.end + 26, y: y + 4, class: line.strong ? "name strong" : "name" }, names[k]),
    ];
  });
}

function below(lines, names, across, up) {
  const ranked = lines.map((_, k) => k).sort((a, b) => last(lines[b].values) - last(lines[a].values));
  return ranked.flatMap((k, row) => {
    const y = up.start + 56 + 20 * row;
    return [
      svg("circle", { cx: across.start, cy: y, r: 3.5, class: `dot s-${lines[k].look}` }),
      svg("text", { x: across.start + 10, y: y + 4, class: "name" }, names[k]),
    ];
  });
}
