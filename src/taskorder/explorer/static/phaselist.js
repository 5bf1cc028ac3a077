/** The phases along a slider: a strip above it, and the orders that are best near the present value. */

import { announce } from "./dom.js";
import { h, number } from "./svg.js";
import { allOrders } from "./listing.js";
import { BY_HAND } from "./state.js";

/** @typedef {import("./phases.js").Phase} Phase */

/** @param {import("./app.js").App} app
 * @param {{strip: HTMLElement, list: HTMLElement, name: string, most: number}} given  where they stand, what moves, and
 * how many phases the list shows */
export function createPhaseList(app, { strip, list, name, most }) {
  let drawn = []; // what the list shows now: drawing it again would take the focus away

  /** @param {import("./state.js").PageInput} inputs @param {Phase[]} phases @param {number} value  now
   * @param {[number, number]} range */
  function draw(inputs, phases, value, range) {
    const place = phases.findIndex((phase) => value <= phase.high);
    const now = phases[place < 0 ? phases.length - 1 : place];
    const wanted = [phases, now, inputs.names];
    if (wanted.every((part, at) => part === drawn[at])) return;
    drawn = wanted;
    const color = colorsOf(inputs, phases);
    strip.replaceChildren(...parts(phases, range, color));
    list.replaceChildren(...orders(inputs, phases, now, color));
  }

  function orders(inputs, phases, now, color) {
    if (!phases.length) {
      return [h("p", { class: "warning" }, "The constraints contradict each other: there is no best order.")];
    }
    const from = Math.max(0, Math.min(phases.indexOf(now) - Math.floor(most / 2), phases.length - most));
    const near = phases.slice(from, from + most);
    const items = near.map((phase) => {
      const text = phase.order.map((task) => inputs.names[task]).join(" → ");
      const use = () => {
        const rule = phase === now ? "optimal" : BY_HAND;
        app.store.commit({ ...app.store.state, order: phase.order, rule });
        announce(`Order ${text}.`);
      };
      const given = { type: "button", class: "phase-order", title: text, onclick: use };
      const ends = [...new Set([short(phase.low), short(phase.high)])];
      const span = h("span", { class: "nums" }, ends.join(" to "));
      const swatch = h("i", { class: `swatch ${color(phase)}` });
      const button = h("button", given, swatch, span, h("span", { class: "phase-names" }, text));
      if (phase === now) button.setAttribute("aria-current", "true");
      return h("li", {}, button);
    });
    return [h("p", {}, headline(phases, name, most)), h("ol", { class: "phase-list" }, ...items)];
  }

  return {
    draw,
    clear() {
      drawn = [];
      strip.replaceChildren();
      list.replaceChildren();
    },
  };
}

const short = (value) => number(Number(value.toFixed(3)));

/** @param {Phase[] & {proven?: boolean}} phases @param {string} name @param {number} most */
function headline(phases, name, most) {
  const changed = phases.filter((phase, at) => at && phase.order.join() !== phases[at - 1].order.join());
  const flips = changed.map((phase) => short(phase.low));
  const unproven = phases.proven === false ? " Not every order is proven best." : "";
  if (!flips.length) return `One order is best all along.${unproven}`;
  if (phases.length <= most) return `The best order flips at ${name} ${flips.join(", ")}.${unproven}`;
  return `The best order flips ${flips.length} times; these are the nearest phases.${unproven}`;
}

function parts(phases, [low, high], color) {
  const share = (value) => (100 * (value - low)) / (high - low || 1);
  return phases.map((phase) => {
    const part = h("i", { class: `phase ${color(phase)}` });
    part.style.left = `${share(phase.low)}%`;
    part.style.width = `${share(phase.high) - share(phase.low)}%`;
    return part;
  });
}

/** The color class of a phase: one for each order, and for three tasks that of the phase diagram. */
function colorsOf(inputs, phases) {
  const orders = inputs.size === 3 ? allOrders(inputs).orders : phases.map((phase) => phase.order);
  const distinct = [...new Set(orders.map((order) => order.join()))];
  return (phase) => `p${distinct.indexOf(phase.order.join()) % 8}`;
}
