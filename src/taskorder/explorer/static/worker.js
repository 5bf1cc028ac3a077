/** Does the arithmetic beside the page: {id, call, question?, args} in, {id, value} or {id, problem} out. */

import { bestOrder } from "./listing.js";
import { listedPhases, pairRange } from "./phases.js";
import { randomOrders } from "./randomorders.js";
import { evaluate } from "./recursion.js";
import { threeMap } from "./threemap.js";

const calls = {
  evaluate,
  randomOrders,
  bestOrder,
  pairRange,
  threeMap,
  listedPhases,
};

let question = null;

/** What can be handed over instead of copied. */
const buffers = (value) =>
  Object.values(value ?? {})
    .filter(ArrayBuffer.isView)
    .map((array) => array.buffer);

addEventListener("message", async (event) => {
  const { id, call, args } = event.data;
  question = event.data.question ?? question;
  try {
    const value = await calls[call](question, ...args);
    postMessage({ id, value }, buffers(value));
  } catch (problem) {
    postMessage({ id, problem: String(problem) });
  }
});
