/** Does the arithmetic beside the page: {id, call, inputs?, args} in, {id, value} or {id, problem} out. */

import { bestOrder } from "./best.js";
import { listedPhases, pairRange, retentionPhases } from "./phases.js";
import { randomOrders } from "./randomorders.js";
import { evaluate, finalCost, valueOf } from "./recursion.js";
import { threeMap } from "./threemap.js";

const calls = {
  evaluate,
  randomOrders,
  bestOrder,
  pairRange,
  threeMap,
  listedPhases,
  retentionPhases,
  ruleValues,
};

/** The value of each rule's order. @param {Object<string, number[]>} orders @returns {Object<string, number>} */
function ruleValues(inputs, orders) {
  const value = (order) => valueOf(inputs, finalCost(inputs, order));
  return Object.fromEntries(Object.entries(orders).map(([rule, order]) => [rule, value(order)]));
}

let inputs = null;

/** What can be handed over instead of copied. */
const buffers = (value) =>
  Object.values(value ?? {})
    .filter(ArrayBuffer.isView)
    .map((array) => array.buffer);

addEventListener("message", async (event) => {
  const { id, call, args } = event.data;
  inputs = event.data.inputs ?? inputs;
  try {
    const value = await calls[call](inputs, ...args);
    postMessage({ id, value }, buffers(value));
  } catch (problem) {
    postMessage({ id, problem: String(problem) });
  }
});
