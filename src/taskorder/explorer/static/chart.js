/** Error after each task as two small charts: all tasks, and those learned so far (what is forgotten). */

import { announce, byId, h, number, svg } from "./dom.js";
import { ruleText } from "./answer.js";

const HEIGHT = 150;
const MARGIN = { left: 46, right: 10, top: 22, bottom: 20 };
const MOST_LABELS = 14;

/** @typedef {{label: string, values: Float64Array, class: string, color?: string}} Curve */

/** Round numbers for an axis from 0. @param {number} high @returns {number[]} */
function ticks(high) {
  const rough = high / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, place) => place * step);
}

/** One chart. @param {Object} given @param {string} given.title @param {Curve[]} given.curves
 * @param {Float64Array[] | null} given.band lower, middle, upper @param {number} given.width
 * @param {number} [given.height] @returns {SVGSVGElement} */
export function lineChart({ title, curves, band, width, height = HEIGHT }) {
  const steps = curves[0].values.length - 1;
  const top = Math.max(1e-9, ...curves.flatMap(({ values }) => [...values]), ...(band ? band[2] : []));
  const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const x = (step) => MARGIN.left + (steps ? (inner.width * step) / steps : 0);
  const y = (value) => MARGIN.top + inner.height * (1 - value / (top * 1.04));
  const line = (values) => Array.from(values, (value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`);
  const chart = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    class: "chart",
    "aria-label": `${title}: ${curves.map(({ label, values }) => `${label} ends at ${number(values[steps])}`).join(", ")}`,
  });
  chart.append(svg("text", { x: MARGIN.left, y: 13, class: "title" }, title));
  for (const value of ticks(top)) {
    chart.append(
      svg("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value), class: "grid" }),
      svg("text", { x: MARGIN.left - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)),
    );
  }
  const every = Math.ceil(steps / MOST_LABELS);
  for (let step = 0; step <= steps; step += Math.max(1, every)) {
    chart.append(svg("text", { x: x(step), y: height - 5, "text-anchor": "middle" }, String(step)));
  }
  if (band) {
    chart.append(
      svg("polygon", { points: [...line(band[2]), ...line(band[0]).reverse()].join(" "), class: "band" }),
      svg("polyline", { points: line(band[1]).join(" "), class: "middle" }),
    );
  }
  for (const curve of [...curves].reverse()) {
    const drawn = svg("polyline", { points: line(curve.values).join(" "), class: `curve ${curve.class}` });
    const end = svg("circle", { cx: x(steps), cy: y(curve.values[steps]), r: 3, class: `end ${curve.class}` });
    for (const part of [drawn, end]) if (curve.color) part.style.setProperty("--rule", curve.color);
    chart.append(drawn, end);
  }
  return Object.assign(chart, {
    stepAt: (left) => Math.max(0, Math.min(steps, Math.round(((left - MARGIN.left) / (inner.width || 1)) * steps))),
  });
}

/** The curves of a view: this order, and the held one. @param {import("./app.js").View} view
 * @param {"total" | "forgotten"} which @param {(rule: string) => string | undefined} color @returns {Curve[]} */
export function curvesOf(view, which, color) {
  const rule = view.moving === null ? view.state.rule : "by-hand";
  const curves = [{ label: "this order", values: view.evaluation[which], class: "now", color: color(rule) }];
  if (view.held) {
    const held = view.state.held;
    curves.push({
      label: `held (${ruleText(held.rule)})`,
      values: view.held[which],
      class: "held",
      color: color(held.rule),
    });
  }
  return curves;
}

/** @param {import("./app.js").App} app */
export function createChart(app) {
  const box = byId("paths");
  let latest = null;
  let read = null; // the step that is read out
  let width = 500;
  const render = (view) => {
    latest = view;
    const charts = [
      ["total", "Error of all tasks, step by step"],
      ["forgotten", "Error of the tasks learned so far"],
    ].map(([which, title]) =>
      lineChart({ title, width, curves: curvesOf(view, which, app.color), band: view.random?.[which] ?? null }),
    );
    const entry = (kind, text, rule) => {
      const part = h("span", { class: `entry ${kind}` }, h("i"), text);
      if (rule && app.color(rule)) part.style.setProperty("--rule", app.color(rule));
      return part;
    };
    box.replaceChildren(
      ...charts,
      h(
        "p",
        { class: "legend small muted" },
        entry("now", "this order", view.moving === null ? view.state.rule : ""),
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
    const when = step ? `after step ${step} (${state.question.names[order[step - 1]]})` : "before the first step";
    read = step;
    byId("readout").textContent =
      step === null
        ? "Point at the chart to read a step, or choose it with the arrow keys."
        : `${when}: all ${number(evaluation.total[step])}, learned so far ${number(evaluation.forgotten[step])}`;
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
    const found = Math.max(260, Math.floor(box.clientWidth));
    if (found === width || !latest) return;
    width = found;
    render(latest);
  }).observe(box.parentElement);
  return { render };
}
