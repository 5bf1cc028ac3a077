/** Elements, and how numbers and names are written. Text only ever enters as text: no markup is parsed anywhere. */

export const FONT = 12; // a chart is drawn for the width that it is shown at, so that this is its size on the screen

/** An element with attributes, listeners and children.
 * @param {string} tag @param {Object<string, any>} [given] on* are listeners, null and false are left out
 * @param {...(Node | string | null | false)} children @returns {any} */
export function h(tag, given = {}, ...children) {
  return fill(document.createElement(tag), given, children);
}

/** The same for SVG. @param {string} tag @param {Object<string, any>} [given] @param {...(Node | string)} children */
export function svg(tag, given = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);
}

function fill(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === false || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : typeof value === "number" ? rounded(value) : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== false));
  return element;
}

const rounded = (value) => String(Math.round(100 * value) / 100); // coordinates need no more than two decimals

/** A whole chart; `label` is what a screen reader says.
 * @param {number} width @param {number} height @param {string} label @param {Node[]} content @returns {SVGSVGElement} */
export function drawing(width, height, label, content) {
  const box = { viewBox: `0 0 ${rounded(width)} ${rounded(height)}`, width, height };
  return svg("svg", { ...box, role: "img", class: "chart", "aria-label": label }, ...content);
}

/** Points of a polyline. @param {number[][]} points */
export const pointList = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

/** Four significant digits with a true minus sign, as `number` of report/text.py. @param {number} value */
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  const short = Number(value.toPrecision(4));
  const text = size >= 1e4 ? value.toFixed(0) : Math.abs(short) < 1e-4 ? short.toExponential() : String(short);
  return text.replace("-", "−").replace("e-", "e−");
}

/** A share without needless digits, as `percent` of report/text.py. @param {number} share */
export function percent(share) {
  const value = 100 * share;
  const whole = (Math.abs(value) >= 10 && Math.abs(value) <= 99) || value === 0 || value === 100;
  return `${value.toFixed(whole ? 0 : 1)} %`.replace("-", "−");
}

let pen = null;

/** @param {string} text @param {number} [size] @returns {number} */
export function textWidth(text, size = FONT) {
  if (!pen) {
    pen = document.createElement("canvas").getContext("2d");
    pen.font = `600 ${FONT}px ${getComputedStyle(document.body).fontFamily}`;
  }
  return (pen.measureText(text).width * size) / FONT;
}

/** The text, cut with an ellipsis where it is wider than `width`.
 * @param {string} text @param {number} width @param {number} [size] */
export function fitted(text, width, size = FONT) {
  if (text.length <= 2000 && textWidth(text, size) <= width) return text;
  const marks = Array.from(text.slice(0, 400));
  while (marks.length && textWidth(`${marks.join("")}…`, size) > width + 2) marks.pop();
  return `${marks.join("")}…`;
}
