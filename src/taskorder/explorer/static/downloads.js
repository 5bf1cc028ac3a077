/** What can be taken away: the plan, the figure, the report. */

import { byId, complain, saveFile, show } from "./dom.js";
import { h, number, svg } from "./svg.js";
import { sentence } from "./answer.js";
import { pathChart } from "./chart.js";
import { wordsOf } from "./objective.js";
import * as server from "./server.js";

const WIDTH = 760;
const INK = { title: "#1d2125", text: "#5a636d", grid: "#e3e5e8" };

/** The charts of a view as one picture that stands alone: every look is an attribute.
 * @param {import("./app.js").View} view @param {(rule: string) => string | undefined} color @returns {SVGSVGElement} */
export function figure(view, color) {
  const { state, evaluation } = view;
  const words = wordsOf(state.inputs);
  const names = [
    ...state.inputs.learned.map((task) => `(${state.inputs.names[task]})`),
    ...state.order.map((task) => state.inputs.names[task]),
  ];
  const lines = wrap(names.length > 60 ? [...names.slice(0, 59), "…", names.at(-1)] : names, 95);
  const top = 64 + 17 * lines.length;
  const picture = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${WIDTH} ${top + 480}`,
    width: WIDTH,
    height: top + 480,
    "font-family": "sans-serif",
    "font-size": 12,
  });
  picture.append(
    svg("rect", { width: "100%", height: "100%", fill: "#fff" }),
    svg(
      "text",
      { x: 16, y: 30, "font-size": 18, "font-weight": "bold", fill: INK.title },
      `Predicted ${words.name} ${number(evaluation.value)} at retention ${number(state.inputs.retention)}`,
    ),
    svg("text", { x: 16, y: 50, fill: INK.text }, sentence(view)),
    ...lines.map((line, place) => svg("text", { x: 16, y: 72 + 17 * place, fill: INK.title }, line)),
  );
  words.charts.forEach(([which, title], place) => {
    const group = svg("g", { transform: `translate(0 ${top + 240 * place})` });
    group.append(...pathChart(view, which, title, WIDTH - 16, 230).childNodes);
    looks(group, color);
    picture.append(group);
  });
  return picture;
}

/** Turn classes into attributes: a file has no style sheet. */
function looks(group, color) {
  for (const part of group.querySelectorAll("[class]")) {
    const kinds = new Set(part.classList);
    const look = [...kinds].find((kind) => kind.startsWith("s-"));
    const rule = (look && color(look.slice(2))) ?? INK.title;
    if (part.tagName === "text") {
      const anchor = kinds.has("end") ? "end" : kinds.has("middle") ? "middle" : "start";
      set(part, { fill: kinds.has("title") ? INK.title : INK.text, "text-anchor": anchor });
    } else if (kinds.has("hair")) part.setAttribute("stroke", INK.grid);
    else if (kinds.has("band")) part.setAttribute("fill", "#eceef0");
    else if (kinds.has("median")) set(part, { fill: "none", stroke: "#b5bcc4", "stroke-dasharray": "2 3" });
    else if (kinds.has("dot")) part.setAttribute("fill", rule);
    else if (kinds.has("line")) set(part, { fill: "none", stroke: rule, "stroke-width": 2 });
    if (kinds.has("held")) part.setAttribute("stroke-dasharray", "6 4");
    part.removeAttribute("class");
  }
}

const set = (part, looks) => Object.entries(looks).forEach(([name, value]) => part.setAttribute(name, String(value)));

function wrap(names, width) {
  const lines = [""];
  names.forEach((name, place) => {
    const piece = (place ? " → " : "") + name;
    if ((lines.at(-1) + piece).length > width) lines.push(piece.trim());
    else lines[lines.length - 1] += piece;
  });
  return lines;
}

const asText = (picture) => new XMLSerializer().serializeToString(picture);

/** @param {SVGSVGElement} picture @returns {Promise<Blob>} twice the size, for sharp print */
async function asPng(picture) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([asText(picture)], { type: "image/svg+xml" }));
  image.src = address;
  await image.decode();
  const canvas = h("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** The plan that a search has found for this order, with its proof; null for an order made by hand. */
function foundPlan({ store, answers }) {
  const { inputs, order, rule } = store.state;
  const answer = answers(inputs).get(rule);
  return answer?.order.join() === order.join() ? answer.plan : null;
}

/** @param {import("./app.js").App} app */
async function planText(app) {
  const plan = foundPlan(app);
  return plan ? JSON.stringify(plan, null, 2) : server.planText(app.store.state);
}

/** @param {import("./app.js").App} app */
export function createDownloads(app) {
  const menu = byId("downloads");
  const button = byId("download");
  const open = (shown) => {
    show(menu, shown);
    button.setAttribute("aria-expanded", String(shown));
  };
  button.addEventListener("click", () => open(menu.hidden));
  document.addEventListener("click", (event) => !event.target.closest(".menu") && open(false));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || menu.hidden) return;
    open(false);
    button.focus();
  });
  const ways = [
    ["plan", "Plan (JSON)", "plan.json", async () => new Blob([await planText(app)], { type: "application/json" })],
    [
      "svg",
      "Figure (SVG)",
      "order.svg",
      async () => new Blob([asText(figure(app.view, app.color))], { type: "image/svg+xml" }),
    ],
    ["png", "Figure (PNG)", "order.png", async () => asPng(figure(app.view, app.color))],
    [
      "report",
      "Report (HTML)",
      "report.html",
      async () => new Blob([await server.reportText(app.store.state, foundPlan(app))], { type: "text/html" }),
    ],
  ];
  const take = async (name, make) => {
    open(false);
    button.textContent = "Preparing …";
    try {
      saveFile(name, await make());
    } catch (problem) {
      complain(problem.message);
    }
    button.textContent = "Download";
  };
  menu.append(
    ...ways.map(([kind, text, name, make]) =>
      h("button", { type: "button", "data-download": kind, onclick: () => take(name, make) }, text),
    ),
  );
}
