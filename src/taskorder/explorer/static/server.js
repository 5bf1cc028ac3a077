/** Calls to the server that sent this page; every one carries the token. */

import { BY_HAND, FROM_LINK, rows } from "./state.js";
import { token } from "./token.js";

const SILENT = "The server does not answer. Start it again with: taskorder explore";

/** @param {string} path @param {RequestInit} [options] @returns {Promise<Response>} an Error with the server's line */
async function call(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { "X-Taskorder-Token": token } });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error(SILENT);
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error ?? `The server answered ${answer.status}.`);
}

export const begin = async () => (await call("/api/start")).json();

export const example = async (kind, tasks, a) => (await call(`/api/example/${kind}?tasks=${tasks}&a=${a}`)).json();

/** Check a table. @param {BodyInit} body @param {string} name what messages call it */
export const readTable = async (body, name) =>
  (await call(`/api/table?name=${encodeURIComponent(name)}`, { method: "POST", body })).json();

/** The plan of an order as JSON text. @param {import("./state.js").State} state */
export const planText = async ({ inputs, order, rule }) =>
  (await call("/api/plan", { method: "POST", body: requestBody(inputs, { order, rule: ruleOf(rule) }) })).text();

/** The report on an order as HTML. @param {import("./state.js").State} state @param {any} plan what a search found */
export const reportText = async ({ inputs, order, rule }, plan) =>
  (
    await call("/api/report", {
      method: "POST",
      body: requestBody(inputs, { order, rule: ruleOf(rule), plan, source: inputs.source }),
    })
  ).text();

/** What a plan calls what made an order: no rule did where only a link says so. @param {string} rule */
const ruleOf = (rule) => (rule === FROM_LINK ? BY_HAND : rule);

/** The orders of the rules that need no search, by name. @param {import("./state.js").PageInput} inputs
 * @returns {Promise<Object<string, number[]>>} */
export const ruleOrders = async (inputs) =>
  (await call("/api/rules", { method: "POST", body: requestBody(inputs, {}) })).json();

/**
 * Search on the server; progress comes as it goes.
 * @param {import("./state.js").PageInput} inputs @param {{rule: string, seed?: number}} how
 * @param {number} seconds time limit
 * @param {(event: {value: number | null, bound: number | null, seconds: number}) => void} [progress]
 * @returns {{plan: Promise<any>, stop: () => Promise<any>, abandon: () => void}}
 *   stop ends the search with the best it has; abandon forgets it.
 */
export function search(inputs, how, seconds, progress = () => {}) {
  const controller = new AbortController();
  let named;
  const key = new Promise((resolve) => (named = resolve));
  const run = async () => {
    const body = requestBody(inputs, { ...how, seconds });
    const answer = await call("/api/solve", { method: "POST", body, signal: controller.signal });
    for await (const event of lines(answer.body)) {
      if (event.key) named(event.key);
      else if (event.plan) return event.plan;
      else if (event.problem) throw new Error(event.problem);
      else progress(event);
    }
    throw new Error("The server ended the search without a plan.");
  };
  return {
    plan: run(),
    stop: async () => call(`/api/stop/${await key}`, { method: "POST" }),
    abandon: () => controller.abort(),
  };
}

/** The body of a request about an input. */
function requestBody(inputs, more) {
  const { given, size, retention, names, before, first, last, learned, weights } = inputs;
  const asked = { retention, names, before, first, last, learned, weights };
  return JSON.stringify({ similarity: rows(given, size), ...asked, ...more });
}

/** JSON values from a stream of lines. @param {ReadableStream<Uint8Array>} stream */
async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch((problem) => {
      throw problem.name === "AbortError" ? problem : new Error(SILENT); // it ended in the middle of an answer
    });
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}
