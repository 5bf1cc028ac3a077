/** Orders by rule with their ranks, and the proven best with a live gap; every one can be undone. */

import { announce, byId, complain, show } from "./dom.js";
import { h, number, percent } from "./svg.js";
import { wordsOf } from "./objective.js";
import { shareBeaten } from "./randomorders.js";
import { finalCost, isScored, valueOf } from "./recursion.js";
import * as server from "./server.js";
import { sameTasks } from "./state.js";

const ABOUT = {
  "periphery-to-core": "least typical task first",
  "row-sums": "least outgoing transfer first",
  "core-to-periphery": "most typical task first",
  "max-path": "neighbors as unlike as possible",
  "min-path": "neighbors as alike as possible",
  "first-order": "the paper's perturbation objective",
  greedy: "best at each step",
  random: "a random order",
  worst: "as bad as can be, to see the stakes",
};
const RULE_SECONDS = 10;
/** Up to this many tasks the rules' orders are asked for when nothing has moved for a moment. */
const RANKED = 40;
const RESTING = 250;
const COMPILING_AFTER = 2000;

/** @param {import("./app.js").App} app */
export function createRules(app) {
  const list = byId("rules");
  const rows = new Map();
  let running = null;
  let seed = 0;

  for (const { name } of app.start.rules) {
    if (name === "optimal") continue;
    const row = h(
      "button",
      { type: "button", class: "rule", "data-rule": name, onclick: () => apply(name) },
      h("i", { class: `swatch s-${name}` }),
      h("span", { class: "rule-name" }, name),
      h("span", { class: "about" }, ABOUT[name] ?? ""),
      h("span", { class: "value" }),
    );
    rows.set(name, row);
    list.append(h("li", {}, row));
  }
  byId("optimal").addEventListener("click", () => apply("optimal"));
  byId("stop").addEventListener("click", () => running?.search.stop().catch((problem) => complain(problem.message)));
  byId("try-all").addEventListener("click", scoreAll);

  /** Ask the server for one rule's plan. */
  async function find(inputs, rule) {
    const seconds = rule === "optimal" || rule === "worst" ? Number(byId("seconds").value) : RULE_SECONDS;
    const options = rule === "random" ? { rule, seed: seed++ } : { rule };
    const best = tighter((rule === "worst") !== isScored(inputs) ? -1 : 1);
    const search = server.search(inputs, options, seconds, (event) => tick(best(event), rule));
    running = { search, inputs, rule };
    begin(rule);
    try {
      const plan = await search.plan;
      keep(inputs, plan);
      return plan;
    } finally {
      running = null;
      end();
    }
  }

  /** Remember a plan of the server. */
  function keep(inputs, plan) {
    const { order, proven, rule } = plan;
    const value = valueOf(inputs, finalCost(inputs, order));
    app.answers(inputs).set(rule, { order, value, proven, plan });
    Object.assign(app.known(inputs), { asked: false }); // its rank is not known yet
  }

  /** The orders of rules that are known of an input; of another retention until the server has answered. */
  function orders(inputs) {
    const asked = app.known(inputs).orders ?? (latest && sameTasks(inputs, latest.inputs) ? latest.orders : {});
    const answers = [...app.answers(inputs)].map(([rule, { order }]) => [rule, order]);
    return { ...asked, ...Object.fromEntries(answers) };
  }

  let latest = null;
  let resting = 0;
  /** Ask for the rules' orders once nothing moves. */
  function ask(inputs) {
    clearTimeout(resting);
    if (inputs.size > RANKED || app.known(inputs).orders) return;
    resting = setTimeout(async () => {
      try {
        const found = await server.ruleOrders(inputs);
        latest = { inputs, orders: found };
        Object.assign(app.known(inputs), { orders: found, asked: false });
        if (app.store.state.inputs === inputs) app.refresh();
      } catch {
        app.known(inputs).orders = {}; // whoever asks for one rule is told what is wrong
      }
    }, RESTING);
  }

  async function apply(rule) {
    if (running) return;
    const { inputs } = app.store.state;
    const clicked = document.activeElement;
    try {
      const plan = await find(inputs, rule);
      if (app.store.state.inputs !== inputs) return app.refresh(); // asked about what is no longer there
      app.store.commit({ ...app.store.state, order: plan.order, rule });
      const { value } = app.answers(inputs).get(rule);
      announce(`${rule}: predicted ${wordsOf(inputs).name} ${number(value)}. ${proof(plan)}`);
      const stopped = plan.notes.find((note) => note.startsWith("stopped"));
      byId("ticker").textContent = proof(plan) + (stopped ? ` (${stopped.split(" before")[0]}).` : "");
      show(byId("search"), rule === "optimal" || rule === "worst");
    } catch (problem) {
      complain(problem.message);
    } finally {
      // a button that was disabled or hidden has lost the focus
      if (document.activeElement === document.body) clicked?.focus();
    }
  }

  async function scoreAll() {
    const { inputs } = app.store.state;
    try {
      for (const rule of ["optimal", ...rows.keys()]) {
        if (app.store.state.inputs !== inputs) return;
        if (!app.answers(inputs).has(rule)) await find(inputs, rule);
        app.refresh();
      }
      announce("Every rule is scored.");
    } catch (problem) {
      complain(problem.message);
    }
  }

  let timer = 0;
  function begin(rule) {
    complain("");
    for (const button of [byId("optimal"), byId("try-all"), ...rows.values()]) button.disabled = true;
    byId("gap").firstChild.style.transform = "scaleX(0)";
    byId("ticker").textContent = `${rule}: searching …`;
    show(byId("stop"), true);
    timer = setTimeout(() => {
      show(byId("search"), true);
      byId("ticker").textContent = `${rule}: starting … (the first searches on a new machine compile for up to half a minute)`;
    }, COMPILING_AFTER);
    if (rule === "optimal" || rule === "worst") show(byId("search"), true);
  }

  function tick({ value, bound, seconds }, rule) {
    clearTimeout(timer);
    const searched = rule === "optimal" || rule === "worst";
    const gap = gapOf(value, bound);
    const known = (value, text) => (value === null ? "unknown" : text(value));
    const said = searched ? `best ${known(value, number)} · bound ${known(bound, number)} · gap ${known(gap, percent)}` : rule;
    byId("ticker").textContent = `${said} · ${seconds.toFixed(1)} s`;
    byId("gap").firstChild.style.transform = `scaleX(${searched && gap !== null ? 1 - gap : 0})`;
  }

  function end() {
    clearTimeout(timer);
    for (const button of [byId("optimal"), byId("try-all"), ...rows.values()]) button.disabled = false;
    show(byId("stop"), false);
    show(byId("search"), false);
  }

  return {
    orders,
    keep,
    /** @param {import("./app.js").View} view */
    render({ state, moving, values, random }) {
      if (moving !== null) return;
      const { inputs } = state;
      ask(inputs);
      const known = app.answers(state.inputs);
      const applied = known.get(state.rule);
      const notes = applied?.order.join() === state.order.join() ? applied.plan.notes : [];
      byId("notes").replaceChildren(...notes.map((note) => h("li", {}, note)));
      for (const [rule, row] of rows) {
        const value = known.get(rule)?.value ?? values[rule];
        const rank = random && inputs.size > 1 ? ` · beats ${percent(shareBeaten(inputs, random.values, value))}` : "";
        row.lastChild.textContent = value === undefined ? "" : number(value) + rank;
        row.setAttribute("aria-pressed", String(state.rule === rule));
      }
      if (running && running.inputs !== state.inputs) running.search.stop().catch(() => {});
      if (!running && state.rule !== "optimal" && state.rule !== "worst") show(byId("search"), false);
      const optimum = known.get("optimal");
      byId("gap").firstChild.style.transform =
        `scaleX(${optimum ? 1 - (optimum.proven ? 0 : (gapOf(optimum.value, optimum.plan.bound) ?? 1)) : 0})`;
    },
  };
}

/** Searches start anew now and then: show the best value and the tightest bound so far.
 * @param {number} sign  1 where small values are looked for, -1 for large ones */
function tighter(sign) {
  const better = (old, found, way) =>
    old === null || found === null ? (found ?? old) : way * found < way * old ? found : old;
  const best = { value: null, bound: null };
  return ({ value, bound, seconds }) => {
    best.value = better(best.value, value, sign);
    best.bound = better(best.bound, bound, -sign);
    return { ...best, seconds };
  };
}

/** Relative distance of a value and its bound; null where there is none. */
function gapOf(value, bound) {
  if (value === null || bound === null) return null;
  const top = Math.max(Math.abs(value), Math.abs(bound));
  return top > 0 ? Math.min(1, Math.abs(value - bound) / top) : 0;
}

/** How sure a plan is, in words. */
function proof(plan) {
  if (plan.proven) return `Proven: no allowed order is ${plan.rule === "worst" ? "worse" : "better"}.`;
  const gap = gapOf(plan.objective === "score" ? plan.score : plan.error, plan.bound);
  return gap === null ? "" : `Not proven; gap ${percent(gap)}.`;
}
