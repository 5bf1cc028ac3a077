/** A state as a URL fragment, which browsers never send to a server: JSON, deflated, in URL-safe base 64. */

import { asking, rows, stateOf } from "./state.js";

/** @typedef {import("./state.js").State} State */

/** Longer links break in mail and chat programs. */
export const LONGEST = 60_000;
const PREFIX = "#s=";

/** @param {State} state @returns {Promise<string>} the fragment; an Error where it would be too long */
export async function toFragment(state) {
  const { question } = state;
  const saved = {
    source: question.source,
    names: question.names,
    similarity: rows(question.given, question.size),
    before: question.before,
    first: question.first,
    last: question.last,
    learned: question.learned,
    weights: question.weights,
    order: state.order,
    rule: state.rule,
    held: state.held,
    pair: state.pair,
  };
  if (question.size > 300) throw tooLong(question.size);
  const packed = await through(new Blob([JSON.stringify(saved)]), new CompressionStream("deflate-raw"));
  const fragment = PREFIX + toBase64(packed);
  if (fragment.length > LONGEST) throw tooLong(question.size);
  return fragment;
}

/** @param {string} fragment @returns {boolean} */
export function isShared(fragment) {
  return fragment.startsWith(PREFIX);
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
    saved = JSON.parse(new TextDecoder().decode(await through(packed, new DecompressionStream("deflate-raw"))));
  } catch {
    throw new Error("The link must be whole, got a damaged one. Copy it again.");
  }
  const { names, similarity } = saved;
  const state = stateOf({ ...(await readTable(JSON.stringify({ names, similarity }))), source: text(saved.source) });
  const size = state.question.size;
  const isTask = (task) => Number.isInteger(task) && task >= 0 && task < size;
  const ifTask = (task) => (isTask(task) ? task : null);
  const distinct = (tasks) => [...new Set(Array.isArray(tasks) ? tasks.filter(isTask) : [])];
  const weights = Array.isArray(saved.weights) && saved.weights.length === size ? saved.weights.map(Number) : null;
  const asked = asking(state, {
    before: (Array.isArray(saved.before) ? saved.before : []).filter((pair) => distinct(pair).length === 2),
    first: ifTask(saved.first),
    last: ifTask(saved.last),
    learned: distinct(saved.learned),
    weights: weights?.every((weight) => weight >= 0 && weight < Infinity) ? weights : null,
  });
  const fits = (order) =>
    distinct(order).length === asked.order.length && distinct(order).every((t) => asked.order.includes(t));
  return {
    ...asked,
    order: fits(saved.order) ? distinct(saved.order) : asked.order,
    rule: text(saved.rule),
    held: fits(saved.held?.order) ? { order: distinct(saved.held.order), rule: text(saved.held.rule) } : null,
    pair: distinct(saved.pair).length === 2 ? saved.pair : asked.pair,
  };
}

const text = (value) => String(value ?? "").slice(0, 200);

const tooLong = (size) =>
  new Error(
    `A link must be at most ${LONGEST / 1000} kB long, and these ${size} tasks need more. Download the plan instead.`,
  );

async function through(blob, stream) {
  return new Uint8Array(await new Response(blob.stream().pipeThrough(stream)).arrayBuffer());
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
