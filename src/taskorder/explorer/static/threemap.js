/**
 * The phase diagram: which order of three tasks is best over rho_AB and rho_BC, at this rho_CA and this retention; at
 * retention 1 figure 2c of the paper.
 */

import { allOrders } from "./listing.js";
import { finalCost } from "./recursion.js";

/** @typedef {import("./recursion.js").SolverInput} SolverInput */

/** Orders tie below this difference; the lexicographically first is shown then. */
const TIE = 1e-12;

/**
 * For each cell (rho_BC from 1 down to -1, rho_AB from -1 up to 1) the number of the best order among `orders`, or 255
 * where the three similarities belong to no correlation matrix.
 * @param {SolverInput} inputs  of three tasks @param {number} resolution cells along each axis
 * @returns {{cells: Uint8Array, orders: number[][]}}
 */
export function threeMap(inputs, resolution) {
  const { orders } = allOrders(inputs);
  const matrix = inputs.matrix.slice();
  const c = matrix[2];
  const cells = new Uint8Array(resolution * resolution).fill(255);
  for (let row = 0; row < resolution; row++) {
    const b = 1 - (2 * row) / (resolution - 1);
    for (let column = 0; column < resolution; column++) {
      const a = (2 * column) / (resolution - 1) - 1;
      if (1 + 2 * a * b * c - a * a - b * b - c * c <= 1e-12) continue;
      matrix[1] = matrix[3] = a;
      matrix[5] = matrix[7] = b;
      const moved = { ...inputs, matrix, given: matrix.slice() };
      const costs = orders.map((order) => finalCost(moved, order));
      const least = Math.min(...costs);
      cells[row * resolution + column] = costs.findIndex((cost) => cost <= least + TIE);
    }
  }
  return { cells, orders };
}
