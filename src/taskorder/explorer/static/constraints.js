/** The constraints as chips above the list. */

import { announce, byId, show } from "./dom.js";
import { h, number } from "./svg.js";
import { withInputs } from "./state.js";

/** The constraints as chips, each with a button that drops it. @param {import("./app.js").App} app */
export function createConstraints(app) {
  const list = byId("constraints");
  let shown = null;
  const chip = (text, changed) => {
    const drop = () => {
      app.store.commit(withInputs(app.store.state, changed(app.store.state.inputs)));
      byId("tasks").querySelector('[tabindex="0"]').focus(); // the button itself is gone
      announce(`Dropped: ${text}.`);
    };
    return h("li", {}, text, " ", h("button", { type: "button", "aria-label": `Drop: ${text}`, onclick: drop }, "×"));
  };
  return {
    render({ state: { inputs } }) {
      if (inputs === shown) return;
      shown = inputs;
      const { names, first, last, before, learned, weights } = inputs;
      const chips = learned.map((task) =>
        chip(`${names[task]} learned`, (inputs) => ({ learned: inputs.learned.filter((one) => one !== task) })),
      );
      if (first !== null) chips.push(chip(`${names[first]} first`, () => ({ first: null })));
      if (last !== null) chips.push(chip(`${names[last]} last`, () => ({ last: null })));
      for (const [a, b] of before) {
        chips.push(
          chip(`${names[a]} before ${names[b]}`, (inputs) => ({
            before: inputs.before.filter(([x, y]) => x !== a || y !== b),
          })),
        );
      }
      weights?.forEach((weight, task) => {
        if (weight === 1) return;
        chips.push(
          chip(`${names[task]} weighs ${number(weight)}`, (inputs) => {
            const rest = inputs.weights.map((one, place) => (place === task ? 1 : one));
            return { weights: rest.every((one) => one === 1) ? null : rest };
          }),
        );
      });
      list.replaceChildren(...chips);
      show(list, chips.length > 0);
    },
  };
}
