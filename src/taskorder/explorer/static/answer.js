/** The answer first: the predicted error, and how good that is. */

import { byId, show } from "./dom.js";
import { number, percent } from "./svg.js";
import { shareBelow } from "./randomorders.js";
import { broken, BY_HAND } from "./state.js";

/** The sentence under the number. @param {import("./app.js").View} view @returns {string} */
export function sentence({ state, evaluation, random, best }) {
  const { error } = evaluation;
  const parts = [];
  const { errors } = random ?? { errors: [] };
  if (errors.at(-1) - errors[0] <= 1e-9 * errors.at(-1) && state.order.length > 1) {
    parts.push("Every order has this error.");
  } else if (random && state.order.length > 1) {
    const share = shareBelow(errors, error);
    parts.push(
      share <= 0.5
        ? `Lower than ${percent(1 - share)} of random orders.`
        : `Higher than ${percent(share)} of random orders.`,
    );
  }
  if (best) {
    const which = best.proven ? "the best order possible" : "the best order found so far";
    const slack = 1e-7 * Math.abs(best.error) + 1e-12;
    if (error <= best.error + slack)
      parts.push(best.proven ? "No allowed order is better: proven." : "The best found so far.");
    else if (best.error > 1e-12) parts.push(`${number(error / best.error)} times ${which} (${number(best.error)}).`);
    else parts.push(`${which[0].toUpperCase()}${which.slice(1)} has error 0.`);
  }
  return parts.join(" ");
}

/** What made the order, in words. @param {string} rule */
export const ruleText = (rule) => (rule === BY_HAND ? "made by hand" : rule === "optimal" ? "found by search" : rule);

/** @returns {{render: (view: import("./app.js").View) => void}} */
export function createAnswer() {
  return {
    render(view) {
      const { state, order, evaluation } = view;
      const { inputs } = state;
      byId("error").textContent = number(evaluation.error);
      byId("sentence").textContent = sentence(view);
      const wrong = broken(inputs, order);
      byId("broken").textContent =
        `This order breaks ${wrong.length === 1 ? "a constraint" : `${wrong.length} constraints`}: ` +
        `${wrong.slice(0, 3).join(", ")}${wrong.length > 3 ? ", …" : ""}.`;
      show(byId("broken"), wrong.length > 0);
      const most = evaluation.final.reduce((top, value, task, all) => (value > all[top] ? task : top), 0);
      const sum = `${inputs.weights ? "weighted sum" : "sum"} over ${inputs.size} tasks, each 1 before any learning`;
      byId("detail").textContent = [
        inputs.size > 1 ? sum : "error of the only task",
        evaluation.final[most] > 0
          ? `most forgotten: ${inputs.names[most]} (${number(evaluation.final[most])})`
          : "nothing is forgotten",
        `order ${ruleText(view.moving === null ? state.rule : BY_HAND)}`,
      ].join(" · ");
    },
  };
}
