/** Where the best order changes as one number moves: the similarity of a pair, or the retention. */

import { bestOrder, JUST_ABOVE } from "./best.js";
import { finalCost } from "./recursion.js";

/** @typedef {import("./recursion.js").SolverInput} SolverInput
 * @typedef {{low: number, high: number, order: number[]}} Phase  the order is best from low to high
 */

const GRID = 24;
const HALVINGS = 40;
const DEEPEST = 8;
/** Below retention 1 by this much: at 1 itself orders are judged by the paper's error. */
const EDGE = 1e-4;

/** The input with another similarity of one pair.
 * @template {SolverInput} Q @param {Q} inputs @param {number} i @param {number} j @param {number} value @returns {Q} */
export function withPair(inputs, i, j, value) {
  const matrix = inputs.matrix.slice();
  matrix[i * inputs.size + j] = matrix[j * inputs.size + i] = value;
  return { ...inputs, matrix, given: matrix };
}

/** The input at another retention. @template {SolverInput} Q @param {Q} inputs @param {number} retention @returns {Q} */
export const withRetention = (inputs, retention) => ({ ...inputs, retention });

/**
 * The values that leave the matrix a correlation matrix. With the other tasks accounted for, the pair has variances u,
 * v and covariance w: its similarity may move from c - w - sqrt(u v) to c - w + sqrt(u v).
 * @param {SolverInput} inputs @param {number} i @param {number} j @returns {[number, number]}
 */
export function pairRange(inputs, i, j) {
  const { matrix, size } = inputs;
  const tasks = [...Array(size).keys()].filter((task) => task !== i && task !== j);
  const factor = cholesky(matrix, size, [...tasks, i, j]);
  const n = size;
  const u = factor[(n - 2) * n + n - 2] ** 2;
  const w = factor[(n - 1) * n + n - 2] * factor[(n - 2) * n + n - 2];
  const v = factor[(n - 1) * n + n - 1] ** 2 + factor[(n - 1) * n + n - 2] ** 2;
  const middle = matrix[i * size + j] - w;
  const width = Math.sqrt(u * v);
  return [Math.max(-1, middle - width), Math.min(1, middle + width)];
}

/** Lower Cholesky factor of the rows and columns in the order given; a tiny ridge lets singular matrices pass.
 * @param {Float64Array} matrix @param {number} size @param {number[]} places @returns {Float64Array} */
function cholesky(matrix, size, places) {
  const factor = new Float64Array(size * size);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column <= row; column++) {
      let sum = matrix[places[row] * size + places[column]] + (row === column ? 1e-9 : 0);
      for (let k = 0; k < column; k++) sum -= factor[row * size + k] * factor[column * size + k];
      factor[row * size + column] =
        row === column ? Math.sqrt(Math.max(sum, 1e-12)) : sum / factor[column * size + column];
    }
  }
  return factor;
}

/**
 * The phases from low to high. A grid finds them; where neighbors differ, the crossing of their two costs is the flip,
 * unless a third order is better there, which then splits the interval.
 * @param {(value: number) => SolverInput} inputsAt  the input at a value of what moves
 * @param {number} low @param {number} high
 * @param {(inputs: SolverInput) => Promise<number[]> | number[]} best  finds the best order
 * @param {(share: number) => void} [progress]  told how much of the grid is done
 * @returns {Promise<Phase[]>}
 */
export async function findPhases(inputsAt, low, high, best, progress = () => {}) {
  const cost = (order, value) => finalCost(inputsAt(value), order);
  const at = async (value) => ({ value, order: await best(inputsAt(value)) });
  const flips = [];
  const split = async (left, right, depth) => {
    if (tied(cost, left, right)) return { ...right, order: left.order };
    const value = crossing(cost, left, right);
    const middle = await at(value);
    const limit = cost(left.order, value);
    if (depth < DEEPEST && cost(middle.order, value) < limit - 1e-7 * Math.abs(limit) - 1e-12) {
      return split(await split(left, middle, depth + 1), right, depth + 1);
    }
    flips.push({ value, order: right.order });
    return right;
  };
  let left = await at(low);
  const phases = [{ low, high, order: left.order }];
  for (let step = 1; step <= GRID; step++) {
    left = await split(left, await at(low + ((high - low) * step) / GRID), 0);
    progress(step / GRID);
  }
  for (const flip of flips) {
    phases[phases.length - 1].high = flip.value;
    phases.push({ low: flip.value, high, order: flip.order });
  }
  return phases;
}

const listed = (inputs) => bestOrder(inputs).order;

/** The phases along the similarity of a pair, for few tasks. @param {SolverInput} inputs @param {number} i
 * @param {number} j @param {number} low @param {number} high @returns {Promise<Phase[]>} */
export function listedPhases(inputs, i, j, low, high) {
  return findPhases((value) => withPair(inputs, i, j, value), low, high, listed);
}

/** The phases from retention 0 up to 1, and 1 itself as the last. @param {SolverInput} inputs
 * @returns {Promise<Phase[]>} */
export async function retentionPhases(inputs) {
  const phases = await findPhases((value) => withRetention(inputs, value), JUST_ABOVE, 1 - EDGE, listed);
  phases[0].low = 0;
  if (inputs.kind === "transfer") return phases; // the paper's theory needs a similarity
  return [...phases, { low: 1, high: 1, order: listed(withRetention(inputs, 1)) }];
}

/** Whether the left order is still as good as the right one at the right end. */
function tied(cost, left, right) {
  const own = cost(right.order, right.value);
  return cost(left.order, right.value) <= own + 1e-7 * Math.abs(own) + 1e-12;
}

/** Where the two orders' costs cross, by halving. */
function crossing(cost, left, right) {
  let [low, high] = [left.value, right.value];
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (low + high) / 2;
    if (cost(left.order, middle) <= cost(right.order, middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
