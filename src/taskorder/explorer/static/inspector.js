/** The constraints of one task, inside its row: first, last, already learned, before another, weight, name. */

import { announce, byId, complain, show } from "./dom.js";
import { h } from "./svg.js";
import { withInputs } from "./state.js";

/** @param {import("./app.js").App} app @param {number} task @param {() => void} close @returns {HTMLElement} */
export function inspector(app, task, close) {
  const { inputs } = app.store.state;
  const name = inputs.names[task];
  const learned = inputs.learned.includes(task);
  const commit = (change) => app.store.commit(withInputs(app.store.state, change));
  const toggle = (field, label, on, change, disabled = false) =>
    h(
      "button",
      {
        type: "button",
        "data-field": field,
        "aria-pressed": String(on),
        disabled,
        "aria-label": `${label}: ${name}`,
        onclick: () => commit(change),
      },
      label,
    );
  const box = h(
    "div",
    { class: "inspector", role: "group", "aria-label": `Constraints of ${name}` },
    h(
      "div",
      { class: "buttons" },
      toggle(
        "first",
        "First",
        inputs.first === task,
        { first: inputs.first === task ? null : task, last: inputs.last === task ? null : inputs.last },
        learned,
      ),
      toggle(
        "last",
        "Last",
        inputs.last === task,
        { last: inputs.last === task ? null : task, first: inputs.first === task ? null : inputs.first },
        learned,
      ),
      toggle("learned", "Already learned", learned, learnedChange(inputs, task)),
      h(
        "button",
        {
          type: "button",
          "data-field": "before",
          disabled: learned,
          "aria-label": `Before another task: ${name}`,
          onclick: () => chooseLater(app, task),
        },
        "Before …",
      ),
    ),
    h(
      "div",
      { class: "fields" },
      h(
        "label",
        {},
        "Weight ",
        h("input", {
          type: "number",
          min: 0,
          step: "any",
          "data-field": "weight",
          value: inputs.weights ? inputs.weights[task] : 1,
          onchange: (event) => weigh(app, task, event.target),
        }),
      ),
      h(
        "label",
        {},
        "Name ",
        h("input", {
          type: "text",
          maxlength: 200,
          "data-field": "name",
          value: name,
          onchange: (event) => rename(app, task, event.target),
        }),
      ),
    ),
  );
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  return box;
}

/** What marking a task as learned, or no longer, changes. */
function learnedChange({ learned, first, last, before }, task) {
  if (learned.includes(task)) return { learned: learned.filter((other) => other !== task) };
  return {
    learned: [...learned, task],
    first: first === task ? null : first,
    last: last === task ? null : last,
    before: before.filter(([, b]) => b !== task), // it is before nothing that could still come
  };
}

function weigh(app, task, input) {
  const { inputs } = app.store.state;
  const weight = Number(input.value);
  const weights = inputs.weights ? [...inputs.weights] : Array(inputs.size).fill(1);
  weights[task] = weight;
  if (input.value === "" || !(weight >= 0 && weight <= 1e6) || weights.every((one) => one === 0)) {
    complain(
      `The weight of ${inputs.names[task]} must be from 0 to 1000000, and one must be above 0, ` +
        `got ${input.value || "nothing"}.`,
    );
    input.value = inputs.weights ? inputs.weights[task] : 1;
    return;
  }
  app.store.commit(withInputs(app.store.state, { weights: weights.every((one) => one === 1) ? null : weights }));
}

/** What a terminal obeys or nobody sees, as in visible.py. */
const ODD = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu;
/** Between signs of emoji and of some scripts. */
const JOINER = /(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])/g;

/** Every name, checked: one line, not blank, not twice. What a name was before is not asked about again.
 * @param {string[]} names @param {string[]} before @returns {string} what is wrong, or "" */
export function nameProblem(names, before) {
  const blank = names.findIndex((name) => name === "");
  if (blank >= 0) return `Task ${blank + 1} must have a name.`;
  const isOdd = (name) => name.length > 200 || name.replace(JOINER, "").search(ODD) >= 0;
  const odd = names.find((name, task) => name !== before[task] && isOdd(name));
  if (odd !== undefined) {
    const code = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    const shown = odd.slice(0, 40).replace(ODD, (mark) => mark.replace(/[^]/g, code));
    return `Names must be one printable line of at most 200 characters, got "${shown}".`;
  }
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  return twice === undefined ? "" : `Names must be unique, got ${JSON.stringify(twice)} more than once.`;
}

function rename(app, task, input) {
  const { inputs } = app.store.state;
  const names = inputs.names.map((name, one) => (one === task ? input.value.trim() : name));
  const problem = nameProblem(names, inputs.names);
  complain(problem);
  if (problem) input.value = inputs.names[task];
  else app.store.commit(withInputs(app.store.state, { names }));
}

/** "A before ...": the next task clicked is B. */
function chooseLater(app, task) {
  const { inputs } = app.store.state;
  const note = byId("choosing");
  const end = () => {
    app.choosing = null;
    show(note, false);
    document.removeEventListener("keydown", escape);
  };
  const escape = (event) => event.key === "Escape" && end();
  note.textContent =
    `Click the task that must come after ${inputs.names[task]}, ` +
    "or go to it with the arrow keys and press Enter (Escape: none).";
  show(note, true);
  byId("tasks").querySelector(`[data-task="${task}"] .face`).focus();
  announce(note.textContent);
  document.addEventListener("keydown", escape);
  app.choosing = {
    chosen: (later) => {
      end();
      const problem = pairProblem(app.store.state.inputs, task, later);
      if (problem) return complain(problem);
      const { before } = app.store.state.inputs;
      app.store.commit(withInputs(app.store.state, { before: [...before, [task, later]] }));
      announce(`${inputs.names[task]} before ${inputs.names[later]}.`);
    },
  };
}

/** Why a pair cannot be added, or "". */
function pairProblem({ names, before, learned }, task, later) {
  if (task === later) return `A task cannot come before itself: ${names[task]}.`;
  if (learned.includes(later)) return `${names[later]} is learned already: nothing can come before it.`;
  if (before.some(([a, b]) => a === task && b === later))
    return `${names[task]} before ${names[later]} is asked for already.`;
  const reach = new Set([later]);
  for (const from of reach) for (const [a, b] of before) if (a === from) reach.add(b);
  return reach.has(task) ? `${names[later]} must come before ${names[task]} already. Drop that first.` : "";
}
