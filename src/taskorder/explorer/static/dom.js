/** The few helpers that build the page. Text only ever enters as text: no markup is parsed anywhere. */

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** An element with properties, attributes, listeners and children.
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
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== false));
  return element;
}

/** Show or hide. @param {HTMLElement} element @param {boolean} shown */
export function show(element, shown) {
  element.hidden = !shown;
}

let turn = 0;

/** Say something to a screen reader. @param {string} text */
export function announce(text) {
  const said = byId("said");
  turn = 1 - turn; // the same sentence twice must still be a change
  said.textContent = text + "\u00a0".repeat(turn);
}

/** Show a problem where it cannot be missed; "" hides it. @param {string} text */
export function complain(text) {
  const box = byId("problem");
  box.querySelector("p").textContent = text;
  show(box, text !== "");
}

/** Four digits, for people. @param {number} value */
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) < 5e-13) return "0";
  const small = Math.abs(value) < 1e-4;
  return small ? value.toExponential(2).replace("-", "−") : String(Number(value.toPrecision(4))).replace("-", "−");
}

/** Four decimals, for columns. @param {number} value */
export const decimals = (value) => (value >= 100 ? number(value) : value.toFixed(4));

/** @param {number} share @returns {string} */
export const percent = (share) => `${Number((100 * share).toPrecision(share < 0.1 ? 2 : 3))} %`;

/** Offer a file. @param {string} name @param {Blob} blob */
export function saveFile(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const tokens = new Map();

/** A CSS variable of the page; remembered, since asking makes the browser lay the page out. @param {string} name */
export function token(name) {
  if (!tokens.has(name)) tokens.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return tokens.get(name);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tokens.clear());
