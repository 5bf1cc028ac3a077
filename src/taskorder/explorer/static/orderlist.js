/** The list of tasks in their order: drag, keyboard, and what is known, or forgotten, of each. */

import { announce, byId, decimals } from "./dom.js";
import { h, number } from "./svg.js";
import { makeDraggable } from "./drag.js";
import { inspector } from "./inspector.js";
import { wordsOf } from "./objective.js";
import { isScored } from "./recursion.js";
import { BY_HAND, moved } from "./state.js";

const COMPACT = 40;

/** Write only what is new: every write costs a layout. */
const set = (element, text) => element.textContent === text || (element.textContent = text);

/** @param {import("./app.js").App} app */
export function createOrderList(app) {
  const list = byId("tasks");
  const rows = new Map();
  let lifted = null; // {task, before}: picked up with the keyboard
  let opened = null;
  let inputs = null;
  let wanted = null;

  const drop = (order, task) => {
    if (order.join() === app.store.state.order.join()) return app.cancelPreview();
    wanted = task;
    app.store.commit({ ...app.store.state, order, rule: BY_HAND });
    sayPlace(task);
  };
  makeDraggable(list, {
    order: () => app.store.state.order,
    locked: () => app.store.state.inputs.learned.length,
    begin: close,
    preview: (order, task) => {
      arrange(order); // at once; the numbers follow
      app.preview(order, task);
    },
    drop,
    cancel: () => app.cancelPreview(),
  });

  list.addEventListener("click", (event) => {
    const face = event.target.closest(".face");
    if (!face) return;
    const task = Number(face.parentElement.dataset.task);
    if (app.choosing) return app.choosing.chosen(task);
    toggle(task);
  });

  list.addEventListener("keydown", (event) => {
    const face = event.target.closest(".face");
    if (!face) return;
    const task = Number(face.parentElement.dataset.task);
    const { inputs, order } = app.store.state;
    const all = [...inputs.learned, ...order];
    const place = all.indexOf(task);
    const steps = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: all.length - 1 };
    if (event.key in steps) {
      event.preventDefault();
      if (lifted?.task === task || event.altKey) return moveTo(task, steps[event.key] - inputs.learned.length);
      focus(all[Math.max(0, Math.min(all.length - 1, steps[event.key]))]);
    } else if (event.key === " ") {
      event.preventDefault();
      lift(task);
    } else if (event.key === "Escape" && lifted) {
      event.preventDefault();
      putBack();
    }
  });

  function lift(task) {
    const { inputs, order } = app.store.state;
    if (inputs.learned.includes(task)) return announce(`${inputs.names[task]} is learned already and stays.`);
    if (lifted) {
      const name = inputs.names[lifted.task];
      rows.get(lifted.task).classList.remove("lifted");
      lifted = null;
      return announce(`${name} dropped.`);
    }
    lifted = { task, before: app.store.state };
    rows.get(task).classList.add("lifted");
    announce(
      `${inputs.names[task]} picked up, position ${order.indexOf(task) + 1} of ${order.length}. ` +
        "Arrow keys move it, Space drops it, Escape puts it back.",
    );
  }

  function putBack() {
    const { task, before } = lifted;
    rows.get(task).classList.remove("lifted");
    lifted = null;
    wanted = task;
    if (before !== app.store.state) app.store.commit(before);
    announce(`${before.inputs.names[task]} put back.`);
  }

  function moveTo(task, place) {
    const { order } = app.store.state;
    if (!order.includes(task)) return;
    const next = moved(order, task, place);
    if (next.join() === order.join()) return announce("It cannot go further.");
    drop(next, task);
  }

  function sayPlace(task) {
    const { inputs, order } = app.store.state;
    app.afterRender((evaluation) =>
      announce(
        `${inputs.names[task]}, position ${order.indexOf(task) + 1} of ${order.length}, ` +
          `predicted ${wordsOf(inputs).name} ${number(evaluation.value)}.`,
      ),
    );
  }

  function focus(task) {
    for (const [one, row] of rows) row.firstChild.tabIndex = one === task ? 0 : -1;
    rows.get(task)?.firstChild.focus();
  }

  function close() {
    if (opened === null) return;
    rows.get(opened)?.querySelector(".inspector")?.remove();
    rows.get(opened)?.firstChild.setAttribute("aria-expanded", "false");
    opened = null;
  }

  function toggle(task) {
    const same = opened === task;
    close();
    for (const [one, row] of rows) row.firstChild.tabIndex = one === task ? 0 : -1;
    if (same) return;
    opened = task;
    rows.get(task).append(
      inspector(app, task, () => {
        close();
        focus(task);
      }),
    );
    rows.get(task).firstChild.setAttribute("aria-expanded", "true");
  }

  function build({ inputs }) {
    rows.clear();
    inputs.names.forEach((name, task) => {
      const parts = { step: h("span", { class: "step" }), meter: h("i"), value: h("span", { class: "value" }) };
      const face = h(
        "button",
        { class: "face", type: "button", tabindex: -1, "aria-expanded": "false" },
        h("span", { class: "grip", "aria-hidden": "true" }),
        parts.step,
        h("span", { class: "name", title: name }, name),
        h("span", { class: "badges" }),
        h("span", { class: "meter", "aria-hidden": "true" }, parts.meter),
        parts.value,
      );
      rows.set(task, Object.assign(h("li", { "data-task": task }, face), { parts }));
    });
    list.replaceChildren(...rows.values());
    list.classList.toggle("compact", inputs.size > COMPACT);
  }

  /** Put the rows in order. @param {number[]} order */
  function arrange(order) {
    const { learned } = inputs;
    [...learned, ...order].forEach((task, place) => {
      const row = rows.get(task);
      if (list.children[place] !== row) list.insertBefore(row, list.children[place]);
      set(row.parts.step, place < learned.length ? "✓" : String(place - learned.length + 1));
    });
  }

  /** @param {import("./app.js").View} view */
  function render({ state, order, evaluation, random, moving }) {
    const changed = state.inputs !== inputs;
    const kept = changed && inputs && opened !== null && state.inputs.names.join() === inputs.names.join();
    const reopen = kept ? opened : null;
    const focused = list.contains(document.activeElement) ? document.activeElement.closest("li")?.dataset.task : null;
    if (changed) {
      if (state.inputs.names !== inputs?.names) {
        lifted = null;
        opened = null;
        build(state);
      }
      inputs = state.inputs;
      badge(state.inputs);
    }
    list.classList.toggle("known", isScored(inputs));
    byId("column").textContent = wordsOf(inputs).column;
    if (moving === null) arrange(order); // a drag has done it, and may be further on by now
    for (const [task, row] of rows) {
      const { meter, value } = row.parts;
      const share = Math.max(0, Math.min(1, evaluation.final[task] / (random?.high ?? 1)));
      meter.style.transform = `scaleX(${share.toFixed(4)})`;
      set(value, decimals(evaluation.final[task]));
    }
    if (![...rows.values()].some((row) => row.firstChild.tabIndex === 0)) list.firstChild.firstChild.tabIndex = 0;
    if (reopen !== null && rows.has(reopen)) {
      const field = document.activeElement?.dataset?.field;
      close();
      toggle(reopen);
      if (field) rows.get(reopen).querySelector(`[data-field="${field}"]`)?.focus();
    } else if (moving === null && wanted !== null) {
      if (focused !== null || lifted) focus(wanted);
      wanted = null;
    }
  }

  function badge({ learned, first, last, weights }) {
    for (const [task, row] of rows) {
      const marks = [];
      if (learned.includes(task)) marks.push("learned");
      if (task === first) marks.push("first");
      if (task === last) marks.push("last");
      if (weights && weights[task] !== 1) marks.push(`× ${number(weights[task])}`);
      row.classList.toggle("locked", learned.includes(task));
      row.querySelector(".badges").replaceChildren(...marks.map((mark) => h("small", {}, mark)));
    }
  }

  return { render };
}
