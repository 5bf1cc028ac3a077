/**
 * The predicted error of an order: one Gauss-Seidel sweep over residuals, as in theory/error.py.
 *
 *     r <- r - r[j] C[j, :]   for j in the visits;   the error of task i is r[i]^2.
 *
 * @typedef {Object} SolverInput  A table with its constraints; never changed in place.
 * @property {Float64Array} matrix    P x P correlation matrix, row by row
 * @property {number} size            P
 * @property {number[]} learned       tasks learned already, in that order
 * @property {number[] | null} weights  importance of each task; null for all ones
 * @property {[number, number][]} before  pairs (a, b): a is learned before b
 * @property {number | null} first
 * @property {number | null} last
 *
 * @typedef {Object} Evaluation
 * @property {number} error            weighted sum over tasks after the last step
 * @property {Float64Array} path       row s: each task's error after s steps of the order; row 0 before the first
 * @property {Float64Array} final      each task's error after the last step, by task
 * @property {Float64Array} total      weighted sum over all tasks after each step
 * @property {Float64Array} forgotten  weighted sum over the tasks learned by then: each was 0 when it was learned
 */

/** Tasks still to be learned, ascending. @param {SolverInput} inputs @returns {number[]} */
export function openTasks(inputs) {
  return [...Array(inputs.size).keys()].filter((task) => !inputs.learned.includes(task));
}

/** Residuals before the first step: ones, and then what the learned tasks left.
 * @param {SolverInput} inputs @returns {Float64Array} */
export function startResiduals(inputs) {
  const residuals = new Float64Array(inputs.size).fill(1);
  for (const task of inputs.learned) visit(inputs.matrix, inputs.size, residuals, task);
  return residuals;
}

/** Learn one task: change the residuals in place.
 * @param {Float64Array} matrix @param {number} size @param {Float64Array} residuals @param {number} task */
export function visit(matrix, size, residuals, task) {
  const own = residuals[task];
  const row = task * size;
  for (let other = 0; other < size; other++) residuals[other] -= own * matrix[row + other];
}

/** @param {SolverInput} inputs @param {Float64Array} residuals @returns {number} weighted sum of squares */
export function weightedError(inputs, residuals) {
  let sum = 0;
  for (let task = 0; task < inputs.size; task++) {
    sum += (inputs.weights ? inputs.weights[task] : 1) * residuals[task] * residuals[task];
  }
  return sum;
}

/** Final error alone. @param {SolverInput} inputs @param {ArrayLike<number>} order @returns {number} */
export function finalError(inputs, order) {
  const residuals = startResiduals(inputs);
  for (let step = 0; step < order.length; step++) visit(inputs.matrix, inputs.size, residuals, order[step]);
  return weightedError(inputs, residuals);
}

/** Everything that the page shows of an order of the open tasks.
 * @param {SolverInput} inputs @param {number[]} order @returns {Evaluation} */
export function evaluate(inputs, order) {
  const { matrix, size, weights } = inputs;
  const residuals = startResiduals(inputs);
  const path = new Float64Array((order.length + 1) * size);
  const total = new Float64Array(order.length + 1);
  const forgotten = new Float64Array(order.length + 1);
  const seen = new Uint8Array(size);
  for (const task of inputs.learned) seen[task] = 1;
  for (let step = 0; step <= order.length; step++) {
    if (step > 0) {
      visit(matrix, size, residuals, order[step - 1]);
      seen[order[step - 1]] = 1;
    }
    for (let task = 0; task < size; task++) {
      const error = residuals[task] * residuals[task];
      const counted = weights ? weights[task] * error : error;
      path[step * size + task] = error;
      total[step] += counted;
      if (seen[task]) forgotten[step] += counted;
    }
  }
  return { error: total[order.length], path, final: path.slice(order.length * size), total, forgotten };
}
