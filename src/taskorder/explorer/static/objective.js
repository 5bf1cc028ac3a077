/** How the page speaks of what orders are judged by: their score below retention 1, and their error at 1. */

import { isScored } from "./recursion.js";

const SCORE = {
  name: "score",
  headline: "predicted score: mean knowledge at the end",
  sum: (inputs) =>
    `${inputs.weights ? "weighted mean" : "mean"} knowledge of ${inputs.size} tasks: 0 is chance, 1 is perfect`,
  only: "knowledge of the only task",
  least: "least known",
  column: "known in the end",
  charts: [
    ["total", "Mean knowledge of all tasks, step by step"],
    ["seen", "Mean knowledge of the tasks learned so far"],
  ],
  cells: "Rows: tasks in this order. Columns: steps. Full color where a task is known perfectly.",
  cellName: "Knowledge",
};

const ERROR = {
  name: "error",
  headline: "predicted error after the last task",
  sum: (inputs) => `${inputs.weights ? "weighted sum" : "sum"} over ${inputs.size} tasks, each 1 before any learning`,
  only: "error of the only task",
  least: "most forgotten",
  column: "forgotten in the end",
  charts: [
    ["total", "Error of all tasks, step by step"],
    ["seen", "Error of the tasks learned so far"],
  ],
  cells: "Rows: tasks in this order. Columns: steps. Blank where a task has just been learned.",
  cellName: "Error",
};

/** @param {{retention: number}} inputs */
export const wordsOf = (inputs) => (isScored(inputs) ? SCORE : ERROR);

/** How much better the first value is than the second. @param {{retention: number}} inputs
 * @param {number} value @param {number} other @returns {number} */
export const lead = (inputs, value, other) => (isScored(inputs) ? value - other : other - value);

/** Whether two values are the same to rounding, or the first is better. @param {{retention: number}} inputs */
export const asGood = (inputs, value, other) => lead(inputs, value, other) >= -1e-7 * Math.abs(other) - 1e-12;

/** What a retention means, in words. @param {number} retention @returns {string} */
export function meaning(retention) {
  if (retention === 0) return "Only the last task counts: it wipes out what was known before.";
  if (retention === 1) return "Keeps everything: the paper's theory, which counts the error.";
  return `Keeps ${Math.round(100 * retention)} % of what it knew when the next task is learned, ${like(retention)}.`;
}

const like = (retention) =>
  retention < 0.3
    ? "like a plain network"
    : retention < 0.65
      ? "like a network with replay"
      : "like a network with a head for each task";
