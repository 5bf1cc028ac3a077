/** What if two tasks were more alike: a slider for one similarity, and where the best order flips along it. */

import { byId, complain, show } from "./dom.js";
import { h, number } from "./svg.js";
import { isListed } from "./listing.js";
import { createPhaseList } from "./phaselist.js";
import { findPhases, withPair } from "./phases.js";
import * as server from "./server.js";
import { createSlide } from "./slide.js";
import { withInputs } from "./state.js";

const SEARCH_SECONDS = 2;
const EDGE = 1e-6;
const RESTING = 150;

/** @param {import("./app.js").App} app */
export function createWhatIf(app) {
  const slider = byId("similarity");
  const selects = [byId("pair-a"), byId("pair-b")];
  const list = createPhaseList(app, { strip: byId("phases"), list: byId("flips"), name: "similarity", most: 8 });
  const slide = createSlide(app.store);
  let names = null;
  let base = ""; // everything that the phases depend on
  let range = [-1, 1];
  let phases = null;
  let searching = null;

  selects.forEach((select, place) =>
    select.addEventListener("change", () => {
      const pair = [...app.store.state.pair];
      if (pair[1 - place] === Number(select.value)) pair[1 - place] = pair[place];
      pair[place] = Number(select.value);
      app.store.adjust({ pair });
    }),
  );
  slider.addEventListener("input", () => slide.move(moveTo(app.store.state, Number(slider.value))));
  slider.addEventListener("change", slide.settle);
  byId("reset").addEventListener("click", () => {
    const { inputs, pair } = app.store.state;
    app.store.commit(moveTo(app.store.state, inputs.loaded[pair[0] * inputs.size + pair[1]]));
  });

  function moveTo(state, value) {
    const [i, j] = state.pair;
    const { matrix } = withPair(state.inputs, i, j, value);
    return withInputs(state, { matrix, given: matrix });
  }

  /** A text that is the same as long as the phases are. */
  const keyOf = ({ inputs, pair }) => {
    const [i, j] = pair;
    const { matrix } = withPair(inputs, i, j, 0);
    const { retention, before, first, last, learned, weights } = inputs;
    return JSON.stringify([pair, retention, before, first, last, learned, weights, hash(matrix)]);
  };

  async function refreshPhases(state, key) {
    searching?.abandon();
    searching = null;
    phases = null;
    const { inputs } = state;
    const [i, j] = state.pair;
    const current = () => base === key;
    await new Promise((resolve) => setTimeout(resolve, RESTING)); // the retention may be on its way
    if (!current()) return;
    const found = await app.engine.patient.ask("pairRange", inputs, i, j);
    if (!current()) return;
    range = found[1] - found[0] > 4 * EDGE ? [found[0] + EDGE, found[1] - EDGE] : found;
    drawSlider(app.store.state);
    drawPhases();
    if (!isListed(inputs)) return;
    try {
      const listed = await app.engine.patient.ask("listedPhases", inputs, i, j, ...range);
      if (!current()) return;
      phases = listed;
    } catch {
      if (!current()) return;
      phases = []; // constraints that contradict each other have no best order
    }
    drawPhases();
  }

  /** Phases of more tasks: the server finds the best order at each value. */
  async function searchPhases() {
    const { inputs } = app.store.state;
    const [i, j] = app.store.state.pair;
    const key = base;
    let proven = true;
    let stopped = false;
    searching = {
      abandon: () => {
        stopped = true;
        searching?.search?.abandon();
      },
    };
    const best = async (changed) => {
      if (stopped) throw new DOMException("stopped", "AbortError");
      searching.search = server.search(changed, { rule: "optimal" }, SEARCH_SECONDS);
      const plan = await searching.search.plan;
      proven &&= plan.proven;
      return plan.order;
    };
    const note = h("p", { role: "status" }, "Searching …");
    const stop = h("button", { type: "button", onclick: () => searching?.abandon() }, "Stop");
    byId("flips").replaceChildren(note, stop);
    try {
      const [low, high] = range;
      const tell = (share) => (note.textContent = `Searching … ${Math.round(100 * share)} %`);
      const found = await findPhases((value) => withPair(inputs, i, j, value), low, high, best, tell);
      if (base === key) phases = Object.assign(found, { proven });
    } catch (problem) {
      if (problem.name !== "AbortError") complain(problem.message);
    }
    searching = null;
    if (base === key) drawPhases();
  }

  function drawSlider({ inputs, pair: [i, j] }) {
    const value = inputs.matrix[i * inputs.size + j];
    Object.assign(slider, { min: range[0], max: range[1] });
    slider.value = String(value);
    slider.setAttribute("aria-valuetext", `${inputs.names[i]} and ${inputs.names[j]}: ${number(value)}`);
    byId("similarity-value").textContent = number(Number(value.toFixed(4)));
    byId("low").textContent = number(Number(range[0].toFixed(3)));
    byId("high").textContent = number(Number(range[1].toFixed(3)));
    show(byId("reset"), Math.abs(inputs.loaded[i * inputs.size + j] - value) > 1e-12);
  }

  function drawPhases() {
    const { inputs, pair } = app.store.state;
    const [i, j] = pair;
    if (phases) return list.draw(inputs, phases, inputs.matrix[i * inputs.size + j], range);
    list.clear();
    if (isListed(inputs)) {
      byId("flips").replaceChildren(h("p", { class: "muted" }, "Looking for flips …"));
      return;
    }
    byId("flips").replaceChildren(
      h("button", { type: "button", onclick: searchPhases }, "Find where the best order flips"),
      h("p", { class: "muted" }, "Many searches on the server, up to 2 s each."),
    );
  }

  return {
    /** @param {import("./app.js").View} view */
    render({ state, moving }) {
      const { inputs, pair } = state;
      const asked = inputs.size > 1 && inputs.kind === "similarity";
      show(byId("whatif"), asked);
      if (!asked || moving !== null) return;
      if (names !== inputs.names) {
        names = inputs.names;
        for (const select of selects)
          select.replaceChildren(...names.map((name, task) => h("option", { value: task }, name)));
      }
      selects.forEach((select, place) => (select.value = String(pair[place])));
      const key = keyOf(state);
      if (key !== base) {
        base = key;
        refreshPhases(state, key);
      } else if (phases) {
        drawPhases();
      }
      drawSlider(state);
    },
  };
}

/** A short stamp of a matrix (FNV-1a over its bytes). @param {Float64Array} matrix @returns {number} */
function hash(matrix) {
  let stamp = 0x811c9dc5;
  for (const byte of new Uint8Array(matrix.buffer, matrix.byteOffset, matrix.byteLength))
    stamp = Math.imul(stamp ^ byte, 0x01000193);
  return stamp;
}
