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
 * @property {import("./best.js").Best | null} best
 * @property {Object<string, number>} values  of the rules' orders, by rule
 */

import { createAnswer } from "./answer.js";
import { createChart } from "./chart.js";
import { createCompare } from "./compare.js";
import { announce, byId, show } from "./dom.js";
import { Engine } from "./engine.js";
import { createPathMap, createSimilarityMap } from "./heatmaps.js";
import { createConstraints } from "./constraints.js";
import { isListed } from "./listing.js";
import { lead } from "./objective.js";
import { createOrderList } from "./orderlist.js";
import { isScored } from "./recursion.js";
import { createRetention } from "./retention.js";
import { createRules } from "./rules.js";
import { Store, stateOf } from "./state.js";
import { createThreeTasks } from "./threetasks.js";
import { createWhatIf } from "./whatif.js";

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
    this.rules = createRules(this);
    this.views = [
      createAnswer(),
      createRetention(this),
      createConstraints(this),
      createOrderList(this),
      createChart(),
      createPathMap(),
      createSimilarityMap(this),
      this.rules,
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
      this.facts.set(inputs, { answers: new Map(), random: undefined, values: undefined, found: undefined, asked: false });
    return this.facts.get(inputs);
  }

  /** Start with a table. */
  open(table) {
    this.store.commit(stateOf(table, this.store.state?.inputs.retention ?? this.start.retention));
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
    const evaluation = await this.engine.fast.latest("evaluate", inputs, order);
    if (!evaluation || this.store.state !== state) return;
    if (isListed(inputs)) await this.find(inputs);
    const held =
      state.held &&
      (previewed && this.view?.held && this.view.state === state
        ? this.view.held
        : await this.engine.fast.ask("evaluate", inputs, state.held.order));
    if (this.store.state !== state) return;
    const last = this.lastFacts(inputs);
    this.view = {
      state,
      order,
      moving: previewed?.task ?? null,
      evaluation,
      held,
      random: facts.random ?? last?.random ?? null,
      best: this.best(inputs),
      values: facts.values ?? last?.values ?? {},
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

  /** While a slider moves, what was known a moment ago of the same tasks. */
  lastFacts(inputs) {
    const last = this.view?.state.inputs;
    const same = last?.loaded === inputs.loaded && last.learned === inputs.learned;
    return same && isScored(last) === isScored(inputs) ? this.view : null;
  }

  /** The best order that the page itself finds; null where there is none, undefined where a newer input came.
   * @param {import("./state.js").PageInput} inputs @returns {Promise<import("./best.js").Best | null | undefined>} */
  async find(inputs) {
    const facts = this.known(inputs);
    if (facts.found === undefined) facts.found = await this.engine.best.latest("bestOrder", inputs);
    return facts.found;
  }

  /** Random orders, the rules' orders and the best order of many tasks take longer: the page does not wait for them. */
  async learn(inputs, facts) {
    facts.asked = true;
    const orders = this.rules.orders(inputs);
    const [found, random, values] = await Promise.all([
      this.find(inputs),
      facts.random ?? this.engine.slow.latest("randomOrders", inputs),
      this.engine.slow.latest("ruleValues", inputs, orders),
    ]);
    facts.asked = found !== undefined && random !== undefined && values !== undefined;
    Object.assign(facts, { random, values });
    if (this.store.state?.inputs === inputs) this.refresh();
  }

  /** The best order known, of the page's own and the server's. @param {import("./state.js").PageInput} inputs */
  best(inputs) {
    const { answers, found } = this.known(inputs);
    if (found?.proven) return found;
    const optimal = answers.get("optimal");
    if (optimal?.proven) return optimal;
    const all = optimal || found ? [...answers.values(), ...(found ? [found] : [])] : [];
    const best = all.sort((a, b) => -lead(inputs, a.value, b.value))[0];
    return best ? { order: best.order, value: best.value, proven: false } : null;
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
