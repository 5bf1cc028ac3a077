/** Tables as colored cells: one pixel a cell, as opaque as its value is large, which suits light and dark paper. */

import { drawing, fitted, FONT, h, number, svg, textWidth } from "./svg.js";

const [COLD, WARM] = [[0, 114, 178], [213, 94, 0]];
const LARGEST_CELL = 56;
const LEAST = 9; // the smallest text that can be read
const NAMED = 40; // tables up to this size have their names beside them

/** The color of a value: blue for one sign, vermilion for the other. @param {number} share of the strongest color
 * @param {boolean} [warm] whether positive values are vermilion: where they are costs @returns {number[]} */
export const cellColor = (share, warm = false) => [
  ...(share >= 0 !== warm ? COLD : WARM),
  255 * Math.min(Math.abs(share), 1),
];

/** Fill a canvas with one pixel a cell; CSS makes it large. @param {HTMLCanvasElement} canvas @param {number} columns
 * @param {number} rows @param {(row: number, column: number) => number[]} color red, green, blue, opacity up to 255 */
export function paint(canvas, columns, rows, color) {
  if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let row = 0, at = 0; row < rows; row++)
    for (let column = 0; column < columns; column++, at += 4) image.data.set(color(row, column), at);
  context.putImageData(image, 0, 0);
}

/** The rows or columns of a table that are labeled: as many as find room, all of them or every k-th.
 * @param {number} count @param {number} room  that a label needs @param {number} cell
 * @param {number} [first]  the number of the first @returns {number[]} */
export function evenly(count, room, cell, first = 1) {
  const least = Math.ceil(room / cell - 1e-9);
  const step = least <= 1 ? 1 : [2, 5, 10, 20, 25, 50, 100].find((every) => every >= least) ?? count;
  return Array.from({ length: count }, (_, k) => k).filter((k) => (k + first) % step === 0 || (k === 0 && step >= 5));
}

/** A square table: rows with their names, or with their marks where names have no room, columns with their marks.
 * @param {Object} given @param {string} given.label @param {string} given.unit
 * @param {string[]} given.names @param {string[]} given.marks @param {number[][]} given.values
 * @param {number} given.top  the value of the strongest color @param {string} given.beyond  what is said of larger ones
 * @param {boolean} given.warm @param {boolean} given.blocks  whether a row is a block of tasks @param {number} width */
export function heatMap({ label, unit, names, marks, values, top, beyond, warm, blocks }, width) {
  const count = names.length;
  const size = Math.min(FONT, (0.95 * Math.min(0.68 * width, 560)) / count);
  const legible = count <= NAMED && size >= LEAST;
  const longest = legible && Math.max(...names.map((name) => textWidth(name.slice(0, 200), size)));
  const left = legible ? Math.min(longest + 10, 0.32 * width) : 8 + Math.max(...marks.map((mark) => textWidth(mark)));
  const side = Math.min(width - left - 8, 560, LARGEST_CELL * count);
  const cell = side / count;
  const box = { x: left, y: beyond ? 60 : 44, width: side, height: side };
  const middle = (start, k) => start + (k + 0.5) * cell;
  const canvas = h("canvas");
  paint(canvas, count, count, (row, column) =>
    row === column && !blocks ? [128, 128, 128, 90] : cellColor(values[row][column] / top, warm),
  );
  const across = evenly(count, Math.max(...marks.map((mark) => textWidth(mark))) + 4, cell);
  const rows = legible
    ? names.map((name, row) => {
        const at = { x: left - 8, y: middle(box.y, row) + 0.35 * size };
        return svg("text", { ...at, "font-size": size, class: "name end" }, fitted(name, left - 8, size));
      })
    : evenly(count, FONT + 2, cell).map((row) =>
        svg("text", { x: left - 6, y: middle(box.y, row) + 4, class: "tick end" }, marks[row]),
      );
  const columns = across.map((column) =>
    svg("text", { x: middle(left, column), y: box.y + side + 15, class: "tick middle column" }, marks[column]),
  );
  const far = [];
  for (let row = 0; row < count; row++)
    for (let column = 0; column < count; column++)
      if ((row !== column || blocks) && Math.abs(values[row][column]) > top)
        far.push([middle(left, column), middle(box.y, row)]);
  const dots = far.map(([cx, cy]) => svg("circle", { cx, cy, r: Math.min(3, 0.25 * cell), class: "beyond" }));
  return drawing(width, box.y + side + 20, label, [
    ...legend(top, warm, unit, left, Math.min(width - left, 260)),
    ...(beyond ? [svg("text", { x: Math.min(left, Math.max(0, width - textWidth(beyond))), y: 54, class: "tick" }, fitted(beyond, width))] : []),
    svg("rect", { ...box, class: "paper" }),
    svg("image", { ...box, href: canvas.toDataURL(), preserveAspectRatio: "none", class: "cells" }),
    ...rows,
    ...columns,
    ...dots,
    svg("rect", { ...box, class: "frame", "data-grid": true }),
  ]);
}

function legend(top, warm, unit, left, length) {
  const [count, parts] = [21, [svg("text", { x: left, y: 11, class: "title" }, unit)]];
  for (let k = 0; k < count; k++) {
    const share = (2 * k) / (count - 1) - 1;
    const box = { x: left + (k * length) / count, y: 18, width: length / count + 0.3, height: 8 };
    const [red, green, blue] = cellColor(share, warm);
    const fill = `rgb(${red} ${green} ${blue})`;
    parts.push(svg("rect", { ...box, class: "cells", fill, "fill-opacity": Math.abs(share) }));
  }
  for (const [share, anchor] of [[-1, ""], [0, " middle"], [1, " end"]])
    parts.push(svg("text", { x: left + ((1 + share) / 2) * length, y: 38, class: `tick${anchor}` }, number(share * top)));
  return parts;
}
