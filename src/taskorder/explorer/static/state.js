/**
 * What the page shows, and its past. A state is never changed in place: undo is going back to an older object.
 *
 * @typedef {import("./recursion.js").SolverInput & {
 *   names: string[], note: string | null, source: string, loaded: Float64Array}} PageInput
 *   loaded: matrix before any "what if".
 *
 * @typedef {Object} State
 * @property {PageInput} inputs
 * @property {number[]} order  the open tasks as they are learned
 * @property {string} rule  what made the order; "by-hand" for a person, "from-link" where only a link tells
 * @property {{order: number[], rule: string} | null} held  the order to compare with
 * @property {[number, number]} pair  the two tasks of "what if"
 */

const MOST_STEPS = 500;

export const BY_HAND = "by-hand";
export const FROM_LINK = "from-link";

/** The paper's theory, at retention 1, needs a similarity. @param {{kind: string}} table @returns {number} */
export const mostRetention = ({ kind }) => (kind === "transfer" ? 0.99 : 1);

/** @param {{source: string, kind: "similarity" | "transfer", names: string[], given: number[][], repaired: number[][] | null, note: string | null}} table
 * @param {number} retention @returns {State} */
export function stateOf(table, retention) {
  const given = Float64Array.from(table.given.flat());
  const matrix = table.repaired ? Float64Array.from(table.repaired.flat()) : given;
  const size = table.names.length;
  const inputs = {
    kind: table.kind,
    matrix,
    given,
    size,
    retention: Math.min(retention, mostRetention(table)),
    names: table.names,
    note: table.note,
    source: table.source,
    loaded: matrix,
    learned: [],
    weights: null,
    before: [],
    first: null,
    last: null,
  };
  return { inputs, order: [...Array(size).keys()], rule: BY_HAND, held: null, pair: [0, Math.min(1, size - 1)] };
}

const TASKS = ["given", "before", "first", "last", "learned", "weights"];

/** Whether two inputs differ in nothing but their retention and names. @param {PageInput} one @param {PageInput} other */
export const sameTasks = (one, other) => TASKS.every((part) => one[part] === other[part]);

/** Matrix as rows, for JSON. @param {Float64Array} matrix @param {number} size @returns {number[][]} */
export function rows(matrix, size) {
  return Array.from({ length: size }, (_, row) => [...matrix.subarray(row * size, (row + 1) * size)]);
}

/** The order with one task moved to another place. @param {number[]} order @param {number} task @param {number} place
 * @returns {number[]} */
export function moved(order, task, place) {
  const rest = order.filter((other) => other !== task);
  rest.splice(Math.max(0, Math.min(rest.length, place)), 0, task);
  return rest;
}

/** The state with other constraints; where a new one asks for it, the order changes, as little as possible.
 * @param {State} state @param {Partial<PageInput>} change @returns {State} */
export function withInputs(state, change) {
  const inputs = { ...state.inputs, ...change };
  const learned = new Set(inputs.learned);
  const lost = state.inputs.learned.filter((task) => !learned.has(task));
  const open = (order) => [...lost, ...order].filter((task) => !learned.has(task));
  const held = state.held && { ...state.held, order: open(state.held.order) };
  const order = mended(open(state.order), state.inputs, inputs);
  return { ...state, inputs, order, held, rule: order.join() === state.order.join() ? state.rule : BY_HAND };
}

/** The order that keeps what `now` asks beyond `old`. */
function mended(order, old, now) {
  let next = order;
  for (const [a, b] of now.before.filter((pair) => !old.before.includes(pair))) {
    if (next.includes(a) && next.indexOf(a) > next.indexOf(b)) next = moved(next, a, next.indexOf(b));
  }
  if (now.first !== null && now.first !== old.first) next = moved(next, now.first, 0);
  if (now.last !== null && now.last !== old.last) next = moved(next, now.last, next.length);
  return next;
}

/** The constraints that an order breaks, in words. @param {PageInput} inputs @param {number[]} order @returns {string[]} */
export function broken(inputs, order) {
  const { names, before, first, last } = inputs;
  const step = new Map(order.map((task, place) => [task, place]));
  const wrong = before.filter(([a, b]) => step.has(a) && step.has(b) && step.get(a) > step.get(b));
  const found = wrong.map(([a, b]) => `${names[a]} before ${names[b]}`);
  if (first !== null && order[0] !== first) found.push(`${names[first]} first`);
  if (last !== null && order[order.length - 1] !== last) found.push(`${names[last]} last`);
  return found;
}

/** Holds the state, its past and its future, and tells whoever listens. */
export class Store {
  constructor() {
    /** @type {State | null} */ this.state = null;
    this.past = [];
    this.future = [];
    this.listeners = [];
  }

  /** @param {(state: State) => void} listener */
  subscribe(listener) {
    this.listeners.push(listener);
  }

  /** Make this the state; the old one can be had back. @param {State} state */
  commit(state) {
    if (this.state) this.past = [...this.past, this.state].slice(-MOST_STEPS);
    this.future = [];
    this.show(state);
  }

  /** Change the state without a step in the past, for choices that need no undo. @param {Partial<State>} change */
  adjust(change) {
    this.show({ ...this.state, ...change });
  }

  undo() {
    if (!this.past.length) return;
    this.future = [this.state, ...this.future];
    this.show(this.past.pop());
  }

  redo() {
    if (!this.future.length) return;
    this.past.push(this.state);
    this.show(this.future.shift());
  }

  show(state) {
    this.state = state;
    for (const listener of this.listeners) listener(state);
  }
}
