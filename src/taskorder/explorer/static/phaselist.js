/** The phases of "what if": a strip above the slider, and the orders that are best near the present value. */

import { announce, byId } from "./dom.js";
import { h, number } from "./svg.js";
import { allOrders } from "./listing.js";
import { BY_HAND } from "./state.js";

const MOST_SHOWN = 8;

/** @typedef {import("./phases.js").Phase} Phase */

/** @param {import("./app.js").App} app */
export function createPhaseList(app) {
  let drawn = []; // what the list shows now: drawing it again would take the focus away

  /** @param {import("./state.js").PageInput} inputs @param {[number, number]} pair @param {Phase[]} phases
   * @param {[number, number]} range */
  function draw(inputs, [i, j], phases, range) {
    const value = inputs.matrix[i * inputs.size + j];
    const place = phases.findIndex((phase) => value <= phase.high);
    const now = phases[place < 0 ? phases.length - 1 : place];
    const wanted = [phases, now, inputs.names];
    if (wanted.every((part, at) => part === drawn[at])) return;
    drawn = wanted;
    const color = colorsOf(inputs, phases);
    byId("phases").replaceChildren(...strip(phases, range, color));
    byId("flips").replaceChildren(...orders(inputs, phases, now, color));
  }

  function orders(inputs, phases, now, color) {
    if (!phases.length) {
      return [h("p", { class: "warning" }, "The constraints contradict each other: there is no best order.")];
    }
    const from = Math.min(phases.indexOf(now) - MOST_SHOWN / 2, phases.length - MOST_SHOWN);
    const near = phases.slice(Math.max(0, from), Math.max(0, from) + MOST_SHOWN);
    const items = near.map((phase) => {
      const text = phase.order.map((task) => inputs.names[task]).join(" → ");
      const use = () => {
        const rule = phase === now ? "optimal" : BY_HAND;
        app.store.commit({ ...app.store.state, order: phase.order, rule });
        announce(`Order ${text}.`);
      };
      const given = { type: "button", class: "phase-order", title: text, onclick: use };
      const span = h("span", { class: "nums" }, `${short(phase.low)} to ${short(phase.high)}`);
      const swatch = h("i", { class: `swatch ${color(phase)}` });
      const button = h("button", given, swatch, span, h("span", { class: "phase-names" }, text));
      if (phase === now) button.setAttribute("aria-current", "true");
      return h("li", {}, button);
    });
    return [h("p", {}, headline(phases)), h("ol", { class: "phase-list" }, ...items)];
  }

  return { draw, clear: () => byId("phases").replaceChildren(...(drawn = [])) };
}

const short = (value) => number(Number(value.toFixed(3)));

/** @param {Phase[] & {proven?: boolean}} phases */
function headline(phases) {
  const flips = phases.slice(1).map((phase) => short(phase.low));
  const unproven = phases.proven === false ? " Not every order is proven best." : "";
  if (!flips.length) return `One order is best all along.${unproven}`;
  if (flips.length < MOST_SHOWN) return `The best order flips at ${flips.join(", ")}.${unproven}`;
  return `The best order flips ${flips.length} times; these are the nearest phases.${unproven}`;
}

function strip(phases, [low, high], color) {
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
