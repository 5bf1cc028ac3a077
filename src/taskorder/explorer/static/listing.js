/** The best order of few tasks, by trying every allowed one: prefixes are shared, ties go to the first. */

import { openTasks, startResiduals, visit, weightedError } from "./recursion.js";

/** @typedef {import("./recursion.js").SolverInput} SolverInput */

/** Most open tasks that are listed: 5040 orders take some milliseconds. */
export const LISTED = 7;

/** For each open task the open tasks that must come before it.
 * @param {SolverInput} inputs @returns {Map<number, Set<number>>} */
function predecessors(inputs) {
  const open = openTasks(inputs);
  const needs = new Map(open.map((task) => [task, new Set()]));
  for (const [a, b] of inputs.before) if (needs.has(a)) needs.get(b)?.add(a);
  for (const task of open) {
    if (inputs.first !== null && task !== inputs.first) needs.get(task).add(inputs.first);
    if (inputs.last !== null && task !== inputs.last) needs.get(inputs.last)?.add(task);
  }
  return needs;
}

/** The best allowed order and its error; null where the constraints allow none.
 * @param {SolverInput} inputs @returns {{order: number[], error: number} | null} */
export function bestOrder(inputs) {
  const found = allOrders(inputs);
  if (!found.orders.length) return null;
  const least = Math.min(...found.errors);
  const start = weightedError(inputs, startResiduals(inputs));
  const slack = 1e-9 * least + 1e-12 * start;
  const chosen = found.errors.findIndex((error) => error <= least + slack);
  return { order: found.orders[chosen], error: found.errors[chosen] };
}

/** Every allowed order in lexicographic order, with its error. @param {SolverInput} inputs
 * @returns {{orders: number[][], errors: number[]}} */
export function allOrders(inputs) {
  const needs = predecessors(inputs);
  const found = { orders: [], errors: [] };
  const prefix = [];
  const placed = new Set();
  const grow = (residuals) => {
    if (prefix.length === needs.size) {
      found.orders.push([...prefix]);
      found.errors.push(weightedError(inputs, residuals));
      return;
    }
    for (const [task, before] of needs) {
      if (placed.has(task) || ![...before].every((other) => placed.has(other))) continue;
      const after = residuals.slice();
      visit(inputs.matrix, inputs.size, after, task);
      prefix.push(task);
      placed.add(task);
      grow(after);
      prefix.pop();
      placed.delete(task);
    }
  };
  grow(startResiduals(inputs));
  return found;
}
