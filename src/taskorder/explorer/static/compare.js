/** Two orders side by side: this one, and one that was held. */

import { byId, decimals } from "./dom.js";
import { h, number } from "./svg.js";
import { ruleText } from "./answer.js";
import { wordsOf } from "./objective.js";
import { isScored } from "./recursion.js";

/** @param {import("./app.js").App} app */
export function createCompare(app) {
  const button = (text, onclick) => h("button", { type: "button", class: "plain", onclick }, text);
  const hold = () =>
    app.store.commit({ ...app.store.state, held: { order: app.store.state.order, rule: app.store.state.rule } });
  const swap = () => {
    const { state } = app.store;
    app.store.commit({ ...state, ...state.held, held: { order: state.order, rule: state.rule } });
  };
  const drop = () => app.store.commit({ ...app.store.state, held: null });
  let shown = null;

  return {
    /** @param {import("./app.js").View} view */
    render({ state, order, evaluation, held }) {
      const has = Boolean(state.held);
      if (shown !== has) {
        shown = has;
        const buttons = has
          ? [button("Swap", swap), button("Hold this one instead", hold), button("Drop", drop)]
          : [button("Hold this order", hold)];
        byId("compare-tools").replaceChildren(...buttons);
      }
      if (!held) {
        byId("compare").replaceChildren(
          h("p", { class: "muted small" }, "Hold this order, then change it: both stand here and in the charts."),
        );
        return;
      }
      const { names } = state.inputs;
      const verdict = verdictOn(state.inputs, evaluation.value, held.value);
      const cell = (task, one) => [
        h("td", { class: "task" }, names[task]),
        h("td", { class: "num" }, decimals(one.final[task])),
      ];
      const rows = order.map((task, step) => {
        const other = state.held.order[step];
        return h(
          "tr",
          task === other ? {} : { class: "differs" },
          h("th", { scope: "row" }, String(step + 1)),
          ...cell(task, evaluation),
          ...cell(other, held),
        );
      });
      byId("compare").replaceChildren(
        h("p", {}, verdict),
        h(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": "Both orders, step by step" },
          h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "col" }, "step"),
                h("th", { scope: "colgroup", colspan: 2 }, `this order: ${number(evaluation.value)}`),
                h(
                  "th",
                  { scope: "colgroup", colspan: 2 },
                  `held (${ruleText(state.held.rule)}): ${number(held.value)}`,
                ),
              ),
            ),
            h("tbody", {}, ...rows),
          ),
        ),
      );
    },
  };
}

/** Which of two orders is better, in words. @param {import("./state.js").PageInput} inputs
 * @param {number} value @param {number} held @returns {string} */
function verdictOn(inputs, value, held) {
  const { name } = wordsOf(inputs);
  const change = value - held;
  if (Math.abs(change) <= 1e-9 * Math.abs(held) + 1e-15) return `Both orders have the same predicted ${name}.`;
  const ratio = !isScored(inputs) && held > 1e-12 && value > 1e-12 ? number(value / held) : "1";
  const times = ratio === "1" ? "" : ` (${ratio} times the held one's)`;
  return `This order's ${name} is ${number(Math.abs(change))} ${change < 0 ? "lower" : "higher"}${times}.`;
}
