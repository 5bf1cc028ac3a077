/**
 * A good order of many tasks below retention 1, from the last task to the first: the peeling of theory/law.py.
 *
 * With h_j the weighted mean of row j, the last task k earns x = h_k and leaves h_j - S_jk x to the others; the score is
 * the sum of d^t x over t = 0, 1, ... from the end. A beam keeps the best beginnings of that sum.
 */

import { predecessors } from "./listing.js";
import { finalCost, tableOf } from "./recursion.js";

/** @typedef {import("./recursion.js").SolverInput} SolverInput */

/** Beginnings that are kept, fewer of longer ones: a step of a slider must stay a step. */
const WIDEST = 120;
const WORK = 6000;

/** @param {SolverInput} inputs @returns {{order: number[], cost: number} | null} null where no order is allowed */
export function beamOrder(inputs) {
  const { size, retention, weights } = inputs;
  const table = tableOf(inputs);
  const all = weights ? weights.reduce((sum, weight) => sum + weight, 0) : size;
  const gains = new Float64Array(size);
  for (let row = 0; row < size; row++)
    for (let task = 0; task < size; task++) gains[row] += ((weights ? weights[task] : 1) * table[row * size + task]) / all;
  const needs = predecessors(inputs);
  const followers = new Map([...needs.keys()].map((task) => [task, []]));
  for (const [task, before] of needs) for (const other of before) followers.get(other).push(task);
  const width = Math.max(4, Math.min(WIDEST, Math.floor(WORK / size)));

  let beam = [{ score: 0, gains, placed: new Uint8Array(size), last: null, task: -1 }];
  let factor = 1;
  for (let step = 0; step < needs.size; step++) {
    const grown = [];
    for (const from of beam) {
      for (const task of needs.keys()) {
        if (from.placed[task] || !followers.get(task).every((other) => from.placed[other])) continue;
        grown.push({ score: from.score + factor * from.gains[task], from, task });
      }
    }
    grown.sort((a, b) => b.score - a.score || a.task - b.task);
    beam = grown.slice(0, width).map(({ score, from, task }) => peeled(table, size, score, from, task));
    factor *= retention;
  }
  let best = null;
  for (const end of beam) {
    const order = orderOf(end);
    const cost = finalCost(inputs, order);
    if (!best || cost < best.cost) best = { order, cost };
  }
  return best;
}

function peeled(table, size, score, from, task) {
  const [gains, placed] = [from.gains.slice(), from.placed.slice()];
  const own = gains[task];
  for (let row = 0; row < size; row++) gains[row] -= table[row * size + task] * own;
  placed[task] = 1;
  return { score, gains, placed, last: from, task };
}

/** The tasks from the first to the last: the beam has placed the last one first. */
function orderOf(end) {
  const order = [];
  for (let at = end; at.task >= 0; at = at.last) order.push(at.task);
  return order;
}
