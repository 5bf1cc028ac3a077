/** The report's own part: charts drawn from their numbers, what marks say, zoom, keyboard, and the numbers as a file. */

import { heatMap } from "./heat.js";
import { lineChart } from "./lines.js";
import { columnChart, rowChart } from "./rows.js";
import { scatter } from "./scatter.js";
import { histogram, ranking } from "./spread.js";
import { h, number } from "./svg.js";
import { taskMap } from "./taskmap.js";

const KINDS = { columns: columnChart, heat: heatMap, histogram, lines: lineChart, map: taskMap, ranking, rows: rowChart, scatter };
const PRINTED = 720;
const tip = document.getElementById("tip");
const read = (key) => JSON.parse(document.getElementById(key).textContent);
const specs = read("charts");
const figures = [...document.querySelectorAll("figure")];
const specOf = (part) => specs[part.closest("figure").dataset.chart];

// --- drawing: for the width that there is, and again when that changes ---
function draw(figure, width) {
  const spec = specOf(figure);
  figure.querySelector(".drawing").replaceChildren(KINDS[spec.kind](spec, width));
}
for (const figure of figures) {
  const title = figure.getAttribute("aria-label");
  const buttons = [["+", "in", "Zoom in"], ["\u2212", "out", "Zoom out"], ["all", "all", "Show all"]].map(([mark, key, said]) =>
    h("button", { type: "button", "data-zoom": key, "aria-label": `${said}: ${title}` }, mark),
  );
  figure.prepend(h("div", { class: "zoom" }, ...buttons), h("div", { class: "drawing" }));
  figure.querySelector("details").open = false; // open where a reader without scripts has no drawing
}
document.documentElement.classList.add("drawn");
let drawnWidth = 0;
function drawAll(width) {
  if (!figures.length || width === drawnWidth) return;
  drawnWidth = width;
  hide();
  for (const figure of figures) draw(figure, width);
}
const fit = () => drawAll(Math.max(240, Math.min(PRINTED, document.querySelector("main > header").clientWidth)));
addEventListener("resize", fit);
addEventListener("beforeprint", () => drawAll(PRINTED));
addEventListener("afterprint", fit);

// --- what a mark says, by pointer ---
function show(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - box.width - 6))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18}px`;
}
function hide() {
  tip.hidden = true;
}
function cellText(frame, x, y) {
  const { names, values } = specOf(frame);
  const box = frame.getBoundingClientRect();
  const cell = (at, start, size) => Math.max(0, Math.min(names.length - 1, Math.floor(((at - start) / size) * names.length)));
  const [row, column] = [cell(y, box.top, box.height), cell(x, box.left, box.width)];
  return [names[row], names[column], number(values[row][column])].join("\n");
}
fit();
for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, (event) => { // a finger only taps
  if (held) return;
  const target = event.target instanceof Element ? event.target : null;
  const frame = target && target.closest("[data-grid]"), mark = target && target.closest("[data-tip]");
  if (frame) show(cellText(frame, event.clientX, event.clientY), event.clientX, event.clientY);
  else if (mark) show(mark.dataset.tip, event.clientX, event.clientY);
  else hide();
});
document.addEventListener("scroll", hide, { passive: true, capture: true });

// --- zoom: the view box moves, text keeps its size ---
let held = null;
const boxes = new Map();
function whole(chart) {
  if (!boxes.has(chart)) boxes.set(chart, chart.getAttribute("viewBox").split(" ").map(Number));
  return boxes.get(chart);
}
const now = (chart) => chart.getAttribute("viewBox").split(" ").map(Number);
function view(chart, x, y, w) {
  const all = whole(chart), k = Math.max(1, Math.min(16, all[2] / w)), width = all[2] / k, height = all[3] / k;
  const left = Math.max(0, Math.min(all[2] - width, x)), top = Math.max(0, Math.min(all[3] - height, y));
  chart.setAttribute("viewBox", [left, top, width, height].join(" "));
  chart.style.setProperty("--k", k);
  chart.toggleAttribute("data-zoomed", k > 1.001);
  hide();
}
function zoom(chart, factor, cx, cy) {
  whole(chart);
  const [x, y, w, h] = now(chart), wide = w / factor, high = h / factor;
  const px = cx === undefined ? x + w / 2 : cx, py = cy === undefined ? y + h / 2 : cy;
  view(chart, px - (px - x) / w * wide, py - (py - y) / h * high, wide);
}
const shown = (figure) => figure.querySelector("svg");
function act(figure, what) {
  const chart = shown(figure);
  if (what === "in") zoom(chart, 1.6); else if (what === "out") zoom(chart, 1 / 1.6); else view(chart, 0, 0, whole(chart)[2]);
}
document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("[data-zoom]");
  if (button) act(button.closest("figure"), button.dataset.zoom);
});
function at(chart, event) {
  const box = chart.getBoundingClientRect(), [x, y, w, h] = now(chart);
  return [x + (event.clientX - box.left) / box.width * w, y + (event.clientY - box.top) / box.height * h];
}
document.addEventListener("wheel", (event) => {
  const chart = event.target.closest && event.target.closest("figure svg");
  if (!chart || !(event.ctrlKey || event.metaKey)) return; // the wheel alone scrolls the page
  event.preventDefault();
  zoom(chart, event.deltaY < 0 ? 1.25 : 0.8, ...at(chart, event));
}, { passive: false });
document.addEventListener("dblclick", (event) => {
  const chart = event.target.closest && event.target.closest("figure svg");
  if (chart) zoom(chart, 2, ...at(chart, event));
});
document.addEventListener("pointerdown", (event) => {
  const chart = event.target.closest && event.target.closest("svg[data-zoomed]");
  if (chart && event.button === 0) held = { chart, x: event.clientX, y: event.clientY, box: now(chart) };
});
document.addEventListener("pointermove", (event) => {
  if (!held) return;
  const size = held.chart.getBoundingClientRect(), [x, y, w, h] = held.box;
  view(held.chart, x - (event.clientX - held.x) / size.width * w, y - (event.clientY - held.y) / size.height * h, w);
});
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => { held = null; });

// --- keyboard: arrows walk through the marks of a figure, + - 0 zoom ---
const walk = new Map();
document.addEventListener("keydown", (event) => {
  const figure = event.target.matches && event.target.matches("figure") ? event.target : null;
  if (!figure || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (step) {
    const frame = shown(figure).querySelector("[data-grid]");
    if (frame) walkCells(frame, event.key); else walkMarks(figure, step);
    event.preventDefault();
  } else if (event.key === "+" || event.key === "=") act(figure, "in");
  else if (event.key === "-") act(figure, "out");
  else if (event.key === "0") act(figure, "all");
  else if (event.key === "Escape") leave(figure);
});
function leave(figure) {
  hide();
  for (const old of figure.querySelectorAll(".here")) old.classList.remove("here");
}
document.addEventListener("focusout", (event) => {
  if (event.target.matches && event.target.matches("figure")) leave(event.target);
});
function walkMarks(figure, step) {
  const marks = [...shown(figure).querySelectorAll("[data-tip]")];
  if (!marks.length) return;
  leave(figure);
  const last = walk.get(figure);
  const next = last === undefined ? (step > 0 ? 0 : marks.length - 1) : (last + step + marks.length) % marks.length;
  walk.set(figure, next);
  marks[next].classList.add("here");
  const box = marks[next].getBoundingClientRect();
  show(marks[next].dataset.tip, box.left + box.width / 2, box.top + box.height / 2);
}
function walkCells(frame, key) {
  const n = specOf(frame).names.length, [row, column] = walk.get(frame) || [0, -1];
  const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[key];
  const to = [Math.max(0, Math.min(n - 1, row + move[0])), Math.max(0, Math.min(n - 1, column + move[1]))];
  walk.set(frame, to);
  const box = frame.getBoundingClientRect();
  const x = box.left + (to[1] + 0.5) / n * box.width, y = box.top + (to[0] + 0.5) / n * box.height;
  show(cellText(frame, x, y), x, y);
}

// --- the numbers as a file ---
const save = document.getElementById("save");
save.hidden = false;
save.addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(read("numbers"), null, 2)], { type: "application/json" }));
  link.download = "taskorder-report.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
