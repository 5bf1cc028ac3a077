/** What random orders of the open tasks are worth: the yardstick beside every order. Constraints are left out on purpose. */

import { allOrders } from "./listing.js";
import { evaluate, isScored, openTasks } from "./recursion.js";

/** @typedef {import("./recursion.js").SolverInput} SolverInput
 * @typedef {Object} RandomOrders
 * @property {Float64Array} values  scores or errors, ascending
 * @property {Float64Array[]} total  lower, middle and upper (5, 50, 95 %) of all tasks after each step
 * @property {Float64Array[]} seen  the same for the tasks learned by then
 * @property {number} high  the scale of the bars: 95 % of all final task errors lie below it; for knowledge 1
 */

const COUNT = 300;
/** Up to this many open tasks every order is taken instead. */
const ALL = 6;
const SHARES = [0.05, 0.5, 0.95];

/** @param {SolverInput} inputs @returns {RandomOrders} */
export function randomOrders(inputs) {
  const open = openTasks(inputs);
  const orders =
    open.length <= ALL ? allOrders({ ...inputs, before: [], first: null, last: null }).orders : drawnOrders(open);
  const drawn = orders.map((order) => evaluate(inputs, order));
  const final = Float64Array.from(drawn.flatMap((one) => [...one.final])).sort();
  return {
    values: Float64Array.from(drawn, (one) => one.value).sort(),
    total: bands(drawn.map((one) => one.total)),
    seen: bands(drawn.map((one) => one.seen)),
    high: isScored(inputs) ? 1 : quantile(final, 0.95) || 1,
  };
}

/** Share of random orders that are worse, ties counted half. @param {{retention: number}} inputs
 * @param {Float64Array} values  of random orders @param {number} value @returns {number} */
export function shareBeaten(inputs, values, value) {
  const slack = 1e-9 * Math.abs(value);
  let [below, tied] = [0, 0];
  for (const one of values) {
    if (Math.abs(one - value) <= slack) tied++;
    else if (one < value) below++;
  }
  const share = (below + tied / 2) / values.length;
  return isScored(inputs) ? share : 1 - share;
}

/** @param {Float64Array[]} curves @returns {Float64Array[]} */
function bands(curves) {
  const columns = Array.from(curves[0], (_, step) => Float64Array.from(curves, (curve) => curve[step]).sort());
  return SHARES.map((share) => Float64Array.from(columns, (column) => quantile(column, share)));
}

/** @param {Float64Array} sorted @param {number} share @returns {number} */
function quantile(sorted, share) {
  return sorted[Math.round(share * (sorted.length - 1))];
}

/** @param {number[]} tasks @returns {number[][]} */
function drawnOrders(tasks) {
  const next = generator(1);
  return Array.from({ length: tasks.length > 150 ? COUNT / 3 : COUNT }, () => shuffled([...tasks], next));
}

/** @param {number[]} tasks @param {() => number} next @returns {number[]} the same array, shuffled */
function shuffled(tasks, next) {
  for (let last = tasks.length - 1; last > 0; last--) {
    const chosen = Math.floor(next() * (last + 1));
    [tasks[last], tasks[chosen]] = [tasks[chosen], tasks[last]];
  }
  return tasks;
}

/** A small generator (mulberry32): the same picture for the same matrix. @param {number} seed @returns {() => number} */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
