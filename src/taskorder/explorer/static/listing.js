/** The best order of few tasks, by trying every allowed one: prefixes are shared, ties go to the first. */

import { openTasks, startResiduals, visit, weightedError } from "./recursion.js";

/** @typedef {import("./recursion.js").Question} Question */

/** Most open tasks that are listed: 5040 orders take some milliseconds. */
export const LISTED = 7;

/** For each open task the open tasks that must come before it.
 * @param {Question} question @returns {Map<number, Set<number>>} */
function predecessors(question) {
  const open = openTasks(question);
  const needs = new Map(open.map((task) => [task, new Set()]));
  for (const [a, b] of question.before) if (needs.has(a)) needs.get(b)?.add(a);
  for (const task of open) {
    if (question.first !== null && task !== question.first) needs.get(task).add(question.first);
    if (question.last !== null && task !== question.last) needs.get(question.last)?.add(task);
  }
  return needs;
}

/** The best allowed order and its error; null where the constraints allow none.
 * @param {Question} question @returns {{order: number[], error: number} | null} */
export function bestOrder(question) {
  const found = allOrders(question);
  if (!found.orders.length) return null;
  const least = Math.min(...found.errors);
  const start = weightedError(question, startResiduals(question));
  const slack = 1e-9 * least + 1e-12 * start;
  const chosen = found.errors.findIndex((error) => error <= least + slack);
  return { order: found.orders[chosen], error: found.errors[chosen] };
}

/** Every allowed order in lexicographic order, with its error. @param {Question} question
 * @returns {{orders: number[][], errors: number[]}} */
export function allOrders(question) {
  const needs = predecessors(question);
  const found = { orders: [], errors: [] };
  const prefix = [];
  const placed = new Set();
  const grow = (residuals) => {
    if (prefix.length === needs.size) {
      found.orders.push([...prefix]);
      found.errors.push(weightedError(question, residuals));
      return;
    }
    for (const [task, before] of needs) {
      if (placed.has(task) || ![...before].every((other) => placed.has(other))) continue;
      const after = residuals.slice();
      visit(question.matrix, question.size, after, task);
      prefix.push(task);
      placed.add(task);
      grow(after);
      prefix.pop();
      placed.delete(task);
    }
  };
  grow(startResiduals(question));
  return found;
}
