/** The best order that the page finds by itself: every order of few tasks, a beam for many. */

import { beamOrder } from "./beam.js";
import { bestListed, isListed } from "./listing.js";
import { finalCost, isScored, valueOf } from "./recursion.js";

/** @typedef {import("./recursion.js").SolverInput} SolverInput
 * @typedef {{order: number[], value: number, proven: boolean}} Best */

/** Most tasks whose best order is looked for while a slider moves. */
export const DRAGGED = 60;
/** At retention 0 all orders with the same last task tie: the one that is best just above 0 is shown. */
export const JUST_ABOVE = 0.01;

/** null where no order is allowed, and for many tasks at retention 1, which need the server.
 * @param {SolverInput} inputs @returns {Best | null} */
export function bestOrder(inputs) {
  const proven = isListed(inputs);
  const find = proven ? bestListed : beamOrder;
  const found = proven || isScored(inputs) ? find(inputs) : null;
  if (found && inputs.retention === 0) {
    const { order } = find({ ...inputs, retention: JUST_ABOVE });
    if (finalCost(inputs, order) <= found.cost + 1e-12) found.order = order;
  }
  return found && { order: found.order, value: valueOf(inputs, found.cost), proven };
}
