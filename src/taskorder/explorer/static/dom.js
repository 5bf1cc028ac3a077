/** The few helpers that change the page; svg.js makes its elements. */

import { h, number } from "./svg.js";

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

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

/** Four decimals, for columns. @param {number} value */
export const decimals = (value) => (Math.abs(value) >= 100 ? number(value) : value.toFixed(4).replace("-", "−"));

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

/** A color of the page as red, green, blue and opacity. @param {string} name @returns {number[]} */
export const tokenColor = (name) => [...[1, 3, 5].map((at) => parseInt(token(name).slice(at, at + 2), 16)), 255];

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tokens.clear());
