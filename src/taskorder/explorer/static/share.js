/** A state as a URL fragment, which browsers never send to a server: JSON, deflated, in URL-safe base 64. */

import { BY_HAND, FROM_LINK, withInputs, rows, stateOf } from "./state.js";

/** @typedef {import("./state.js").State} State */

/** Longer links break in mail and chat programs. */
const LONGEST = 60_000;
const PREFIX = "#s=";
const MOST_BYTES = 16 * 2 ** 20;
const KEPT = "taskorder-state";

/** @param {State} state @returns {Promise<string>} the fragment; an Error where it would be too long for a link */
export async function toFragment(state) {
  const fragment = await pack(state);
  if (fragment.length > LONGEST)
    throw new Error(
      `A link must be at most ${LONGEST / 1000} kB long, and these ${state.inputs.size} tasks need more. ` +
        "Download the plan instead.",
    );
  return fragment;
}

/** Keep a state for a reload of this tab: as the address, or where that would be too long in the tab's own storage.
 * @param {State} state @param {string} session  what is kept is of this start of the server and no other */
export async function keep(state, session) {
  const fragment = await pack(state);
  const short = fragment.length <= LONGEST;
  history.replaceState(null, "", short ? fragment : location.pathname);
  stored((storage) => storage.removeItem(KEPT)); // a full storage keeps nothing rather than something old
  if (!short) stored((storage) => storage.setItem(KEPT, session + fragment));
}

/** @param {string} fragment @returns {boolean} */
export const isShared = (fragment) => fragment.startsWith(PREFIX);

/** What `keep` has kept; "" for nothing. @param {string} session @returns {string} */
export function kept(session) {
  if (isShared(location.hash)) return location.hash;
  const found = stored((storage) => storage.getItem(KEPT)) ?? "";
  return found.startsWith(session + PREFIX) ? found.slice(session.length) : "";
}

/** What an action on the tab's storage gives; null where the storage is full or forbidden. */
function stored(action) {
  try {
    return action(sessionStorage);
  } catch {
    return null;
  }
}

/** @param {State} state @returns {Promise<string>} */
async function pack(state) {
  const { inputs } = state;
  const saved = {
    source: inputs.source,
    names: inputs.names,
    similarity: rows(inputs.given, inputs.size),
    retention: inputs.retention,
    before: inputs.before,
    first: inputs.first,
    last: inputs.last,
    learned: inputs.learned,
    weights: inputs.weights,
    order: state.order,
    rule: state.rule,
    held: state.held,
    pair: state.pair,
  };
  const packed = await through(new Blob([JSON.stringify(saved)]), new CompressionStream("deflate-raw"));
  return PREFIX + toBase64(packed);
}

/**
 * The state in a fragment. A link may come from anyone, so the matrix goes through the same checks as a file and every
 * other part is looked at here.
 * @param {string} fragment @param {(json: string) => Promise<any>} readTable  checks a table on the server
 * @returns {Promise<State>}
 */
export async function fromFragment(fragment, readTable) {
  let saved;
  try {
    const packed = new Blob([fromBase64(fragment.slice(PREFIX.length))]);
    saved = Object(JSON.parse(new TextDecoder().decode(await through(packed, new DecompressionStream("deflate-raw")))));
  } catch {
    throw new Error("The link must be whole, got a damaged one. Copy it again.");
  }
  const { names, similarity, retention = 1 } = saved; // links from before there was retention are of the paper's theory
  if (typeof retention !== "number" || !(retention >= 0 && retention <= 1)) {
    throw new Error(`\`retention\` must be in [0, 1], got ${text(JSON.stringify(retention))}. Copy the link again.`);
  }
  const table = await readTable(JSON.stringify({ names, similarity }));
  const state = stateOf({ ...table, source: text(saved.source) }, retention);
  const size = state.inputs.size;
  const isTask = (task) => Number.isInteger(task) && task >= 0 && task < size;
  const ifTask = (task) => (isTask(task) ? task : null);
  const distinct = (tasks) => [...new Set(Array.isArray(tasks) ? tasks.filter(isTask) : [])];
  const weights = Array.isArray(saved.weights) && saved.weights.length === size ? saved.weights.map(Number) : null;
  const constrained = withInputs(state, {
    before: (Array.isArray(saved.before) ? saved.before : []).filter((pair) => distinct(pair).length === 2),
    first: ifTask(saved.first),
    last: ifTask(saved.last),
    learned: distinct(saved.learned),
    weights: weights?.every((weight) => weight >= 0 && weight < Infinity) ? weights : null,
  });
  const fits = (order) =>
    distinct(order).length === constrained.order.length && distinct(order).every((t) => constrained.order.includes(t));
  return {
    ...constrained,
    order: fits(saved.order) ? distinct(saved.order) : constrained.order,
    rule: told(saved.rule),
    held: fits(saved.held?.order) ? { order: distinct(saved.held.order), rule: told(saved.held.rule) } : null,
    pair: distinct(saved.pair).length === 2 ? saved.pair : constrained.pair,
  };
}

/** What a link says made an order nobody has checked: a search here would say otherwise. @param {unknown} rule */
const told = (rule) => (rule === BY_HAND ? BY_HAND : FROM_LINK);

const text = (value) => String(value ?? "").slice(0, 200);

/** The bytes that come out of a stream; an Error where they are more than any state has: small links can hold much. */
async function through(blob, stream) {
  const reader = blob.stream().pipeThrough(stream).getReader();
  const parts = [];
  for (let size = 0; size <= MOST_BYTES; size += parts.at(-1).length) {
    const { value, done } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    parts.push(value);
  }
  throw new Error("too much");
}

function toBase64(bytes) {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(coded) {
  const binary = atob(coded.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (mark) => mark.charCodeAt(0));
}
