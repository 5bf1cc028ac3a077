/** The answer first: the predicted score or error, and how good that is. */

import { byId, show } from "./dom.js";
import { number, percent } from "./svg.js";
import { asGood, wordsOf } from "./objective.js";
import { shareBeaten } from "./randomorders.js";
import { isScored } from "./recursion.js";
import { broken, BY_HAND, FROM_LINK } from "./state.js";

/** The sentence under the number. @param {import("./app.js").View} view @returns {string} */
export function sentence({ state, evaluation, random, best }) {
  const { inputs } = state;
  const { value } = evaluation;
  const parts = [];
  const values = random?.values ?? [];
  if (random && state.order.length > 1) {
    const alike = values.at(-1) - values[0] <= 1e-9 * Math.abs(values.at(-1));
    const share = shareBeaten(inputs, values, value);
    if (alike) parts.push(`Every order has this ${wordsOf(inputs).name}.`);
    else if (share >= 0.5) parts.push(`Better than ${percent(share)} of random orders.`);
    else parts.push(`Worse than ${percent(1 - share)} of random orders.`);
  }
  if (best) {
    const which = best.proven ? "the best order possible" : "the best order found so far";
    if (asGood(inputs, value, best.value))
      parts.push(best.proven ? "No allowed order is better: proven." : "The best found so far.");
    else if (isScored(inputs)) parts.push(`${number(best.value - value)} below ${which} (${number(best.value)}).`);
    else if (best.value > 1e-12) parts.push(`${number(value / best.value)} times ${which} (${number(best.value)}).`);
    else parts.push(`${which[0].toUpperCase()}${which.slice(1)} has error 0.`);
  }
  return parts.join(" ");
}

/** What made the order, in words. @param {string} rule */
export const ruleText = (rule) => WORDS[rule] ?? rule;
const WORDS = { [BY_HAND]: "made by hand", [FROM_LINK]: "from a link", optimal: "found by search" };

/** @returns {{render: (view: import("./app.js").View) => void}} */
export function createAnswer() {
  return {
    render(view) {
      const { state, order, evaluation } = view;
      const { inputs } = state;
      const words = wordsOf(inputs);
      byId("value").textContent = number(evaluation.value);
      byId("headline").textContent = words.headline;
      byId("sentence").textContent = sentence(view);
      const wrong = broken(inputs, order);
      byId("broken").textContent =
        `This order breaks ${wrong.length === 1 ? "a constraint" : `${wrong.length} constraints`}: ` +
        `${wrong.slice(0, 3).join(", ")}${wrong.length > 3 ? ", …" : ""}.`;
      show(byId("broken"), wrong.length > 0);
      const worst = evaluation.final.reduce(
        (found, value, task, all) => (isScored(inputs) === value < all[found] ? task : found),
        0,
      );
      byId("detail").textContent = [
        inputs.size > 1 ? words.sum(inputs) : words.only,
        evaluation.final[worst] > 0 || isScored(inputs)
          ? `${words.least}: ${inputs.names[worst]} (${number(evaluation.final[worst])})`
          : "nothing is forgotten",
        `order ${ruleText(view.moving === null ? state.rule : BY_HAND)}`,
      ].join(" · ");
    },
  };
}
