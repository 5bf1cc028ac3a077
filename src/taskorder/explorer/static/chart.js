/** Two small charts of what is known, or wrong, after each task: of all tasks, and of those learned so far. */

import { announce, byId } from "./dom.js";
import { h, number } from "./svg.js";
import { ruleText } from "./answer.js";
import { lineChart } from "./lines.js";
import { wordsOf } from "./objective.js";
import { BY_HAND } from "./state.js";

const HEIGHT = 150;

/** One of the charts of a view: this order, the held one, and random orders.
 * @param {import("./app.js").View} view @param {"total" | "seen"} which @param {string} title
 * @param {number} width @param {number} [height] */
export function pathChart(view, which, title, width, height = HEIGHT) {
  const { state, evaluation, held, random } = view;
  const lines = [{ label: "this order", values: evaluation[which], look: lookOf(view), strong: true }];
  if (held) {
    const { rule } = state.held;
    lines.push({ label: `held (${ruleText(rule)})`, values: held[which], look: rule, dashed: true });
  }
  const ends = lines.map((line) => `${line.label} ends at ${number(line.values.at(-1))}`);
  const band = random && { values: random[which] };
  const label = `${title}: ${ends.join(", ")}`;
  return lineChart({ label, titles: ["", title], lines, band, named: false, height }, width);
}

const lookOf = ({ moving, state }) => (moving === null ? state.rule : BY_HAND);

export function createChart() {
  const box = byId("paths");
  let latest = null;
  let read = null; // the step that is read out
  let width = 500;
  const render = (view) => {
    latest = view;
    const charts = wordsOf(view.state.inputs).charts.map(([which, title]) => pathChart(view, which, title, width));
    const entry = (kind, text, look = "") => h("span", { class: `entry ${kind} s-${look}` }, h("i"), text);
    box.replaceChildren(
      ...charts,
      h(
        "p",
        { class: "legend small muted" },
        entry("now", "this order", lookOf(view)),
        view.held ? entry("held", "held order", view.state.held.rule) : "",
        view.random ? entry("spread", "90 % of random orders (dotted: median)") : "",
      ),
    );
    for (const chart of charts) {
      chart.addEventListener("pointermove", (event) => readOut(chart.stepAt(event.offsetX)));
      chart.addEventListener("pointerleave", () => readOut(null));
    }
    if (!view.moving) readOut(null);
  };
  const readOut = (step) => {
    const { state, order, evaluation } = latest;
    const when = step ? `after step ${step} (${state.inputs.names[order[step - 1]]})` : "before the first step";
    read = step;
    byId("readout").textContent =
      step === null
        ? "Point at the chart to read a step, or choose it with the arrow keys."
        : `${when}: all ${number(evaluation.total[step])}, learned so far ${number(evaluation.seen[step])}`;
  };
  box.addEventListener("keydown", (event) => {
    const last = latest.order.length;
    const steps = { ArrowLeft: (read ?? 1) - 1, ArrowRight: (read ?? -1) + 1, Home: 0, End: last };
    if (!(event.key in steps)) return;
    event.preventDefault();
    readOut(Math.max(0, Math.min(last, steps[event.key])));
    announce(byId("readout").textContent);
  });
  new ResizeObserver(() => {
    const room = Math.max(260, Math.floor(box.clientWidth));
    if (room === width || !latest) return;
    width = room;
    render(latest);
  }).observe(box.parentElement);
  return { render };
}
