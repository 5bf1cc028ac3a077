/**
 * The page: one state, its evaluation by the worker, and views that draw both.
 *
 * @typedef {Object} View  what is drawn
 * @property {import("./state.js").State} state
 * @property {number[]} order  the state's order, or that of a drag on its way
 * @property {number | null} moving  the task that is being dragged
 * @property {import("./recursion.js").Evaluation} evaluation  of `order`
 * @property {import("./recursion.js").Evaluation | null} held
 * @property {import("./randomorders.js").RandomOrders | null} random
 * @property {{error: number, proven: boolean} | null} best
 */

import { createAnswer } from "./answer.js";
import { createChart } from "./chart.js";
import { createCompare } from "./compare.js";
import { announce, byId, show } from "./dom.js";
import { Engine } from "./engine.js";
import { createErrorMap, createSimilarityMap } from "./heatmaps.js";
import { createConstraints } from "./constraints.js";
import { LISTED } from "./listing.js";
import { createOrderList } from "./orderlist.js";
import { createRules } from "./rules.js";
import { Store, stateOf } from "./state.js";
import { createThreeTasks } from "./threetasks.js";
import { createWhatIf } from "./whatif.js";

const RESTING = 60;

export class App {
  constructor(start) {
    this.start = start;
    this.store = new Store();
    this.engine = new Engine();
    /** @type {View | null} */ this.view = null;
    this.choosing = null; // waits for a click on a task
    this.previewed = null;
    this.waiting = [];
    this.answers = (inputs) => this.known(inputs).answers;
    this.facts = new WeakMap(); // what is known of an input, however often undo brings it back
    this.colors = new Map(start.rules.map(({ name, color }) => [name, color]));
    this.color = (rule) => this.colors.get(rule);
    this.views = [
      createAnswer(),
      createConstraints(this),
      createOrderList(this),
      createChart(),
      createErrorMap(),
      createSimilarityMap(this),
      createRules(this),
      createWhatIf(this),
      createCompare(this),
      createThreeTasks(this),
    ];
    this.store.subscribe(() => {
      this.previewed = null;
      this.refresh();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
  }

  /** What is known of an input; `answers` are plans by rule. @param {import("./state.js").PageInput} inputs */
  known(inputs) {
    if (!this.facts.has(inputs))
      this.facts.set(inputs, { answers: new Map(), random: null, listed: undefined, asked: false });
    return this.facts.get(inputs);
  }

  /** Start with a table. */
  open(table) {
    this.store.commit(stateOf(table));
    announce(`${table.names.length} tasks from ${table.source}.`);
    byId("main").focus({ preventScroll: true });
  }

  /** Draw an order that a drag passes through. @param {number[]} order @param {number} task */
  preview(order, task) {
    this.previewed = { order, task };
    this.refresh();
  }

  cancelPreview() {
    this.previewed = null;
    this.refresh();
  }

  /** Call once after the next drawing. @param {(evaluation: any) => void} listener */
  afterRender(listener) {
    this.waiting.push(listener);
  }

  /** Evaluate and draw what there is now; overtaken calls end early. */
  async refresh() {
    const { state } = this.store;
    if (!state || !this.view) this.frame(Boolean(state));
    if (!state) return;
    const { inputs } = state;
    const { previewed } = this;
    const order = previewed?.order ?? state.order;
    const facts = this.known(inputs);
    const evaluation = await this.engine.evaluate(inputs, order);
    if (!evaluation || this.store.state !== state) return;
    if (facts.listed === undefined && inputs.size - inputs.learned.length <= LISTED) {
      facts.listed = await this.engine.slow.ask("bestOrder", inputs);
    }
    const held =
      state.held &&
      (previewed && this.view?.held && this.view.state === state
        ? this.view.held
        : await this.engine.fast.ask("evaluate", inputs, state.held.order));
    if (this.store.state !== state) return;
    this.view = {
      state,
      order,
      moving: previewed?.task ?? null,
      evaluation,
      held,
      random: facts.random ?? this.lastRandom(inputs),
      best: this.best(inputs),
    };
    this.draw();
    if (!facts.asked) this.learn(inputs, facts);
  }

  /** Show the start or the work. @param {boolean} loaded */
  frame(loaded) {
    show(byId("loading"), false);
    show(byId("start"), !loaded);
    show(byId("work"), loaded);
    for (const element of document.querySelectorAll("[data-loaded]")) show(element, loaded);
  }

  /** While a slider moves, the random orders of a moment ago. */
  lastRandom({ loaded, learned }) {
    const last = this.view?.state.inputs;
    return last?.loaded === loaded && last.learned === learned ? this.view.random : null;
  }

  /** Random orders take longer: they wait until a slider rests. */
  async learn(inputs, facts) {
    facts.asked = true;
    await new Promise((resolve) => setTimeout(resolve, RESTING));
    facts.asked = this.store.state?.inputs === inputs;
    if (!facts.asked) return;
    facts.random = await this.engine.slow.ask("randomOrders", inputs);
    if (this.store.state?.inputs === inputs) this.refresh();
  }

  best(inputs) {
    const { answers, listed } = this.known(inputs);
    if (listed) return { error: listed.error, proven: true };
    const optimal = answers.get("optimal");
    if (optimal?.proven) return optimal;
    const found = [...answers.values()].sort((a, b) => a.error - b.error)[0];
    return found && answers.has("optimal") ? { error: found.error, proven: false } : null;
  }

  draw() {
    const { view } = this;
    for (const { render } of this.views) render(view);
    const { size, source, note, given, matrix } = view.state.inputs;
    const tasks = size === 1 ? "1 task" : `${size} tasks`;
    byId("source").textContent = [tasks, source, ...(note && given !== matrix ? [note] : [])].join(" · ");
    byId("undo").disabled = !this.store.past.length;
    byId("redo").disabled = !this.store.future.length;
    document.title = `taskorder explorer: ${source}`;
    if (view.moving === null) for (const listener of this.waiting.splice(0)) listener(view.evaluation);
  }
}
