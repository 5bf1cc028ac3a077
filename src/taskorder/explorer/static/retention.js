/** The retention slider: what it means, the best order there, and where along it the best order changes. */

import { announce, byId, show } from "./dom.js";
import { DRAGGED } from "./best.js";
import { isListed } from "./listing.js";
import { asGood, meaning } from "./objective.js";
import { createPhaseList } from "./phaselist.js";
import { withRetention } from "./phases.js";
import { isScored } from "./recursion.js";
import * as server from "./server.js";
import { createSlide } from "./slide.js";
import { mostRetention, sameTasks } from "./state.js";
import { h, number } from "./svg.js";

const RESTING = 400;
const PROOF_SECONDS = 3;

/** @param {import("./app.js").App} app */
export function createRetention(app) {
  const slider = byId("retention");
  const slide = createSlide(app.store);
  const list = createPhaseList(app, {
    strip: byId("retention-phases"),
    list: byId("retention-flips"),
    name: "retention",
    most: 6,
  });
  const stops = [
    [0, "only the last task"],
    [app.start.plain, "plain network"],
    [0.5, "replay"],
    [1, "the paper"],
  ];
  let base = null; // the input that the phases are of, whatever its retention
  let phases = null;
  let timer = 0;
  let proving = null;
  let said = null; // the input that the line on the proof is about

  byId("retention-stops").append(
    ...stops.map(([value, text]) =>
      h(
        "button",
        { type: "button", "data-retention": value, onclick: () => jump(value) },
        `${number(value)} · ${text}`,
      ),
    ),
  );
  slider.addEventListener("input", () => move(Number(slider.value)));
  slider.addEventListener("change", slide.settle);
  byId("use-best").addEventListener("click", () => {
    const { order } = app.view.best;
    app.store.commit({ ...app.store.state, order, rule: "optimal" });
    announce("The best order: it follows the slider.");
  });

  async function jump(value) {
    move(value);
    slide.settle();
    announce(`Retention ${number(value)}. ${meaning(value)}`);
  }

  /** The order follows where it is the best one. */
  async function move(value) {
    const inputs = withRetention(app.store.state.inputs, value);
    slide.move({ inputs });
    clearTimeout(timer);
    proving?.abandon();
    proving = null;
    if (!isListed(inputs)) timer = setTimeout(() => prove(inputs), RESTING);
    if (inputs.size <= DRAGGED) follow(inputs, await app.find(inputs));
  }

  function follow(inputs, found) {
    const { state } = app.store;
    if (!found || state.inputs !== inputs || state.rule !== "optimal") return;
    if (found.order.join() !== state.order.join()) app.store.adjust({ order: found.order });
  }

  /** What the page found is as good as it goes; whether it is the best, the server knows. */
  async function prove(inputs) {
    if (app.store.state?.inputs !== inputs) return;
    const search = server.search(inputs, { rule: "optimal" }, PROOF_SECONDS);
    proving = search;
    say(inputs, "Looking for a proof …");
    try {
      const plan = await search.plan;
      if (proving !== search) return;
      const known = app.best(inputs);
      app.rules.keep(inputs, plan);
      const { order, value, proven } = app.answers(inputs).get("optimal");
      if (!known || !asGood(inputs, known.value, value)) follow(inputs, { order });
      say(inputs, proven ? "Proven: a proof about the model." : "");
      app.refresh();
    } catch (problem) {
      if (problem.name !== "AbortError" && proving === search) say(inputs, problem.message);
    } finally {
      if (proving === search) proving = null;
    }
  }

  function say(inputs, text) {
    said = inputs;
    byId("retention-proof").textContent = text;
  }

  async function refreshPhases(inputs) {
    base = inputs;
    phases = null;
    list.clear();
    if (!isListed(inputs) || inputs.size - inputs.learned.length < 2) return;
    try {
      const found = await app.engine.patient.ask("retentionPhases", inputs);
      if (base !== inputs) return;
      phases = found;
    } catch {
      if (base === inputs) phases = []; // constraints that contradict each other have no best order
    }
    if (base === inputs) app.refresh();
  }

  function drawBest({ state, order, best }) {
    const { inputs } = state;
    const text = best?.order.map((task) => inputs.names[task]).join(" → ") ?? "";
    const here = best && best.order.join() === order.join();
    byId("retention-best").textContent = text || (isScored(inputs) ? "none" : "the server finds it when the slider rests");
    byId("retention-best").title = text;
    byId("retention-best-label").textContent = best?.proven ? "Best order here:" : "Best order found here:";
    show(byId("use-best"), Boolean(best) && !(here && state.rule === "optimal"));
    byId("use-best").disabled = !best;
  }

  return {
    /** @param {import("./app.js").View} view */
    render(view) {
      const { state, moving } = view;
      const { inputs } = state;
      const { retention } = inputs;
      if (moving !== null) return drawBest(view);
      slider.max = String(mostRetention(inputs));
      if (Number(slider.value) !== retention) slider.value = String(retention);
      slider.setAttribute("aria-valuetext", `${number(retention)}: ${meaning(retention)}`);
      byId("retention-value").textContent = number(retention);
      byId("retention-meaning").textContent = meaning(retention);
      for (const stop of byId("retention-stops").children)
        Object.assign(stop, {
          ariaPressed: String(Number(stop.dataset.retention) === retention),
          disabled: Number(stop.dataset.retention) > mostRetention(inputs),
        });
      if (said !== inputs) say(inputs, "");
      drawBest(view);
      show(byId("overshoot"), isScored(inputs) && view.evaluation.final.some((knowledge) => knowledge > 1 + 1e-9));
      if (!base || !sameTasks(base, inputs)) refreshPhases(inputs);
      else if (phases) list.draw(inputs, phases, retention, [0, 1]);
    },
  };
}
