/** The best order of few tasks, by trying every allowed one: prefixes are shared, ties go to the first. */

import { costOf, isScored, openTasks, startMissing, tableOf, visit } from "./recursion.js";

/** @typedef {import("./recursion.js").SolverInput} SolverInput */

/** Most open tasks that are listed: 40320 orders take some tens of milliseconds. */
export const LISTED = 8;

/** Whether every order of the open tasks is tried. @param {SolverInput} inputs */
export const isListed = (inputs) => inputs.size - inputs.learned.length <= LISTED;

/** For each open task the open tasks that must come before it.
 * @param {SolverInput} inputs @returns {Map<number, Set<number>>} */
export function predecessors(inputs) {
  const open = openTasks(inputs);
  const needs = new Map(open.map((task) => [task, new Set()]));
  for (const [a, b] of inputs.before) if (needs.has(a)) needs.get(b)?.add(a);
  for (const task of open) {
    if (inputs.first !== null && task !== inputs.first) needs.get(task).add(inputs.first);
    if (inputs.last !== null && task !== inputs.last) needs.get(inputs.last)?.add(task);
  }
  return needs;
}

/** The best allowed order and its cost; null where the constraints allow none.
 * @param {SolverInput} inputs @returns {{order: number[], cost: number} | null} */
export function bestListed(inputs) {
  const found = allOrders(inputs);
  if (!found.orders.length) return null;
  const least = found.costs.reduce((low, cost) => Math.min(low, cost), Infinity);
  const slack = isScored(inputs) ? 1e-13 : 1e-9 * least + 1e-12 * costOf(inputs, startMissing(inputs));
  const chosen = found.costs.findIndex((cost) => cost <= least + slack);
  return { order: found.orders[chosen], cost: found.costs[chosen] };
}

/** Every allowed order in lexicographic order, with its cost. @param {SolverInput} inputs
 * @returns {{orders: number[][], costs: number[]}} */
export function allOrders(inputs) {
  const table = tableOf(inputs);
  const bit = new Map(openTasks(inputs).map((task, place) => [task, 1 << place]));
  const needs = [...predecessors(inputs)].map(([task, before]) => ({
    task,
    own: bit.get(task),
    before: [...before].reduce((bits, other) => bits | bit.get(other), 0),
  }));
  const found = { orders: [], costs: [] };
  const prefix = [];
  const levels = needs.map(() => new Float64Array(inputs.size)); // what is missing after each step of the prefix
  const grow = (missing, placed) => {
    if (prefix.length === needs.length) {
      found.orders.push(prefix.slice());
      found.costs.push(costOf(inputs, missing));
      return;
    }
    const after = levels[prefix.length];
    for (const { task, own, before } of needs) {
      if (placed & own || before & ~placed) continue;
      after.set(missing);
      visit(inputs, table, after, task);
      prefix.push(task);
      grow(after, placed | own);
      prefix.pop();
    }
  };
  grow(startMissing(inputs), 0);
  return found;
}
