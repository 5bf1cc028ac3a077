/** Scales with round ticks, axes, and labels that keep their distance. */

import { fitted, FONT, number, svg, textWidth } from "./svg.js";

/** @typedef {((value: number) => number) & {low: number, high: number, start: number, end: number, log: boolean,
 *  ticks: (count: number) => number[]}} Scale  from values to coordinates; values outside are moved to the edge */

/** @param {number} low @param {number} high @param {number} start @param {number} end
 * @param {{log?: boolean, whole?: boolean}} [kind] whole: ticks at integers only @returns {Scale} */
export function scaleFrom(low, high, start, end, { log = false, whole = false } = {}) {
  const at = log ? Math.log10 : (value) => value;
  const [a, b] = [at(low), at(high)];
  const scale = (value) => {
    const share = b > a ? (at(Math.min(Math.max(value, low), high)) - a) / (b - a) : 0.5;
    return start + share * (end - start);
  };
  const ticks = (count) => (log ? logTicks(low, high, count) : linearTicks(low, high, count, whole));
  return Object.assign(scale, { low, high, start, end, log, ticks });
}

/** A scale that holds all values, with some room around them; logarithmic where they are positive and span more than a
 * factor of 30. @param {Iterable<number>} values @param {number} start @param {number} end
 * @param {{zero?: boolean, linear?: boolean}} [kind] zero keeps zero on a linear scale @returns {Scale} */
export function scaleOf(values, start, end, { zero = false, linear = false } = {}) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) low = high; // equal but for rounding
  if (!linear && low > 0 && high > 30 * low) return scaleFrom(low / 1.08, high * 1.08, start, end, { log: true });
  if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const room = 0.03 * (high - low) || 0.5 * Math.abs(high) || 1;
  return scaleFrom(low - (zero && low === 0 ? 0 : room), high + (zero && high === 0 ? 0 : room), start, end);
}

function linearTicks(low, high, count, whole) {
  if (high <= low) return [low];
  const rough = Math.max((high - low) / Math.max(count, 1), whole ? 1 : 0);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = (whole ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10]).map((size) => size * unit).find((s) => s >= rough * 0.999);
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, k) => step * (first + k));
}

function logTicks(low, high, count) {
  let ticks = [];
  for (const marks of [[1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
    ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      ticks.push(...marks.map((mark) => mark * 10 ** power).filter((value) => low <= value && value <= high));
    if (ticks.length <= count + 2) return ticks;
  }
  const every = Math.ceil(ticks.length / count);
  return ticks.filter((_, k) => k % every === 0);
}

/** Vertical hair lines with their numbers below, and what they count.
 * @param {Scale} across @param {number} top @param {number} bottom @param {string} title @param {number} width  of the drawing
 * @param {number} [count] */
export function xAxis(across, top, bottom, title, width, count = 6) {
  const parts = across.ticks(count).flatMap((value) => {
    const x = across(value);
    return [
      svg("line", { x1: x, x2: x, y1: top, y2: bottom, class: "hair" }),
      svg("text", { x, y: bottom + 16, class: "tick middle" }, number(value)),
    ];
  });
  const size = Math.max(9, Math.min(FONT, (FONT * width) / textWidth(title))); // a long title stays inside
  const half = textWidth(title, size) / 2;
  const middle = Math.max(Math.min((across.start + across.end) / 2, width - half), Math.min(half, width / 2));
  const at = { x: middle, y: bottom + 34, "font-size": size < FONT && size };
  const said = title && svg("text", { ...at, class: "title middle" }, fitted(title, width, size));
  return [...parts, said].filter(Boolean);
}

/** Horizontal hair lines with their numbers to the left, and what they measure, above.
 * @param {Scale} up @param {number} left @param {number} right @param {string} title @param {number} [count] */
export function yAxis(up, left, right, title, count = 5) {
  const parts = up.ticks(count).flatMap((value) => {
    const y = up(value);
    return [
      svg("line", { x1: left, x2: right, y1: y, y2: y, class: "hair" }),
      svg("text", { x: left - 7, y: y + 4, class: "tick end" }, number(value)),
    ];
  });
  return [...parts, svg("text", { x: 0, y: up.end - 12, class: "title" }, title)];
}

/** Coordinates near the given ones, at least `gap` apart, between `low` and `high` where there is room.
 * @param {number[]} given @param {number} gap @param {number} low @param {number} high @returns {number[]} */
export function spreadOut(given, gap, low, high) {
  const ranked = given.map((_, k) => k).sort((a, b) => given[a] - given[b]);
  const spread = [...given];
  let edge = low;
  for (const k of ranked) {
    spread[k] = Math.max(given[k], edge);
    edge = spread[k] + gap;
  }
  edge = high;
  for (const k of ranked.reverse()) {
    spread[k] = Math.min(spread[k], edge);
    edge = spread[k] - gap;
  }
  return spread;
}
