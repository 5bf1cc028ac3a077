/**
 * The law of retention, as in theory/law.py, in terms of what is missing, r = 1 - knowledge. Learning task k:
 *
 *     r <- 1 - d (1 - r),   then   r <- r - r[k] S[k, :].
 *
 * At retention d = 1 nothing fades: that is the paper's recursion, on the similarity itself, and an order is judged by
 * its error, the weighted sum of r^2. Below 1 the similarity becomes knowledge, S = 1 - (1 - rho)^2, and an order is
 * judged by its score, the weighted mean of 1 - r.
 *
 * @typedef {Object} SolverInput  A table with its constraints; never changed in place.
 * @property {"similarity" | "transfer"} kind  what the table holds; a transfer table is knowledge as it is
 * @property {Float64Array} given     P x P table as loaded, row by row
 * @property {Float64Array} matrix    the correlation matrix nearest to a similarity
 * @property {number} size            P
 * @property {number} retention       d in [0, 1]
 * @property {number[]} learned       tasks learned already, in that order
 * @property {number[] | null} weights  importance of each task; null for all ones
 * @property {[number, number][]} before  pairs (a, b): a is learned before b
 * @property {number | null} first
 * @property {number | null} last
 *
 * @typedef {Object} Evaluation  In units of the objective: knowledge for a score, squares of what is missing for an error
 * @property {number} value       score or error after the last step
 * @property {Float64Array} path  row s: each task after s steps of the order; row 0 before the first
 * @property {Float64Array} final each task after the last step
 * @property {Float64Array} total all tasks after each step: weighted mean knowledge, or weighted sum of errors
 * @property {Float64Array} seen  the same over the tasks learned by then
 */

/** Whether orders are judged by their score; at retention 1 by their error. @param {{retention: number}} inputs */
export const isScored = (inputs) => inputs.retention < 1;

/** Tasks still to be learned, ascending. @param {SolverInput} inputs @returns {number[]} */
export function openTasks(inputs) {
  return [...Array(inputs.size).keys()].filter((task) => !inputs.learned.includes(task));
}

const tables = new WeakMap();

/** The table S that the recursion reads. @param {SolverInput} inputs @returns {Float64Array} */
export function tableOf(inputs) {
  const { kind, given, size } = inputs;
  if (!isScored(inputs)) return inputs.matrix;
  if (kind === "transfer") return given;
  if (!tables.has(given)) {
    const rho = (_, at) => (given[at] + given[(at % size) * size + Math.floor(at / size)]) / 2; // symmetric to rounding
    tables.set(
      given,
      given.map(rho).map((one) => 1 - (1 - one) ** 2),
    );
  }
  return tables.get(given);
}

/** What is missing before the first step: all of it, and then what the learned tasks left.
 * @param {SolverInput} inputs @returns {Float64Array} */
export function startMissing(inputs) {
  const missing = new Float64Array(inputs.size).fill(1);
  for (const task of inputs.learned) visit(inputs, tableOf(inputs), missing, task);
  return missing;
}

/** Learn one task: change what is missing in place. @param {SolverInput} inputs @param {Float64Array} table
 * @param {Float64Array} missing @param {number} task */
export function visit({ size, retention }, table, missing, task) {
  if (retention < 1) for (let other = 0; other < size; other++) missing[other] = 1 - retention * (1 - missing[other]);
  const own = missing[task];
  const row = task * size;
  for (let other = 0; other < size; other++) missing[other] -= own * table[row + other];
}

/** What an order is judged by, smaller is better: 1 - score, or the error. @param {SolverInput} inputs
 * @param {Float64Array} missing  after the last step @returns {number} */
export function costOf(inputs, missing) {
  const { size, weights } = inputs;
  const scored = isScored(inputs);
  let sum = 0;
  let all = 0;
  for (let task = 0; task < size; task++) {
    const weight = weights ? weights[task] : 1;
    sum += weight * (scored ? missing[task] : missing[task] * missing[task]);
    all += weight;
  }
  return scored ? sum / all : sum;
}

/** The cost of an order as the page shows it: a score or an error. @param {SolverInput} inputs @param {number} cost */
export const valueOf = (inputs, cost) => (isScored(inputs) ? 1 - cost : cost);

/** The cost of an order of the open tasks. @param {SolverInput} inputs @param {ArrayLike<number>} order
 * @returns {number} */
export function finalCost(inputs, order) {
  const missing = startMissing(inputs);
  const table = tableOf(inputs);
  for (let step = 0; step < order.length; step++) visit(inputs, table, missing, order[step]);
  return costOf(inputs, missing);
}

/** Everything that the page shows of an order of the open tasks.
 * @param {SolverInput} inputs @param {number[]} order @returns {Evaluation} */
export function evaluate(inputs, order) {
  const { size, weights } = inputs;
  const scored = isScored(inputs);
  const table = tableOf(inputs);
  const missing = startMissing(inputs);
  const path = new Float64Array((order.length + 1) * size);
  const total = new Float64Array(order.length + 1);
  const seen = new Float64Array(order.length + 1);
  const isSeen = new Uint8Array(size);
  for (const task of inputs.learned) isSeen[task] = 1;
  for (let step = 0; step <= order.length; step++) {
    if (step > 0) {
      visit(inputs, table, missing, order[step - 1]);
      isSeen[order[step - 1]] = 1;
    }
    let [all, known] = [0, 0];
    for (let task = 0; task < size; task++) {
      const weight = weights ? weights[task] : 1;
      const one = scored ? 1 - missing[task] : missing[task] * missing[task];
      path[step * size + task] = one;
      total[step] += weight * one;
      all += weight;
      if (!isSeen[task]) continue;
      seen[step] += weight * one;
      known += weight;
    }
    if (!scored) continue;
    total[step] /= all;
    seen[step] /= known || 1;
  }
  return { value: total[order.length], path, final: path.slice(order.length * size), total, seen };
}
