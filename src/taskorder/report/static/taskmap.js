/** A map of the tasks with the path of an order drawn on it. */

import { drawing, fitted, FONT, pointList, svg, textWidth } from "./svg.js";

const NUMBERED = 60; // up to this many tasks the dots carry their step
const LINE = 17; // of the list of names
const LABELED = 300; // up to this many tasks every name is there, crowded ones only when zoomed in

/** A dot for each task with its mark, the path through them, and their names: beside the dots where all of them find
 * room, else in a list below; of very many tasks those that find room. Dots, arrows and names keep their size when the
 * reader zooms in (class `fixed`), so that crowds come apart.
 * @param {Object} given @param {string} given.label @param {number[][]} given.points  by task @param {number[]} given.order
 * @param {string[]} given.names @param {string[]} given.marks @param {number} width */
export function taskMap({ label, points, order, names, marks }, width) {
  const steps = new Map(order.map((task, k) => [task, k + 1]));
  const numbered = names.length <= NUMBERED;
  const size = numbered ? 9 : names.length <= LABELED ? 3 : 2;
  const { at, height } = onPaper(points, width);
  if (numbered) pushApart(at, 2 * size + 2, [width, height]);
  const placed = names.length <= LABELED ? placeNames(at, names, steps, size, [width, height]) : new Map();
  const listed = numbered && [...placed.values()].some(({ room }) => !room);
  const dots = names.map((name, task) => {
    const step = steps.get(task);
    const kind = !step ? "stop known" : step === 1 ? "stop first" : step === order.length ? "stop last" : "stop";
    const tip = step ? `step ${step}: ${name.slice(0, 80)}` : `${name.slice(0, 80)}: learned before`;
    const mark = numbered && svg("text", { y: 3.7, class: "step middle" }, marks[task]);
    const parts = [svg("circle", { r: size, class: kind }), mark, (!listed && placed.get(task)?.text) ?? false];
    return fixed(at[task], "", parts, { "data-tip": tip });
  });
  const path = pathParts(order.map((task) => at[task]), numbered, size);
  if (!listed) return drawing(width, height, label, [...path, ...dots]);
  const list = nameList(names, marks, steps, height, width);
  return drawing(width, height + list.height, label, [...path, ...dots, ...list.parts]);
}

/** All names with their marks below the map, down one column after another: those of no step first. */
function nameList(names, marks, steps, top, width) {
  const turn = inTurn(names, steps, 0);
  const wide = Math.min(Math.max(...names.map((name) => textWidth(name))) + 44, width);
  const each = Math.ceil(turn.length / Math.min(Math.floor(width / wide), 4));
  const parts = turn.flatMap((task, k) => {
    const [x, y] = [wide * Math.floor(k / each), top + LINE * ((k % each) + 1)];
    const name = svg("text", { x: x + 28, y, class: "name start" }, fitted(names[task], wide - 36));
    return [svg("text", { x: x + 22, y, class: "tick end" }, marks[task]), name];
  });
  return { parts, height: LINE * each + 8 };
}

const inTurn = (names, steps, known) =>
  names.map((_, task) => task).sort((a, b) => (steps.get(a) ?? known) - (steps.get(b) ?? known));

/** Parts around a point, of the same size however far the reader has zoomed in. */
function fixed([x, y], turned, parts, given = {}) {
  const transform = `translate(${x.toFixed(1)} ${y.toFixed(1)})${turned}`;
  return svg("g", { transform, ...given }, svg("g", { class: "fixed" }, ...parts));
}

/** Coordinates of the tasks, one scale for both axes, and how high the drawing is. */
function onPaper(points, width) {
  const range = (k) => [Math.min(...points.map((p) => p[k])), Math.max(...points.map((p) => p[k]))];
  const [[x0, x1], [y0, y1]] = [range(0), range(1)];
  const room = [Math.max(width - 150, 0.55 * width), (width >= 500 ? 0.6 : 0.8) * width];
  const spread = Math.max(x1 - x0, y1 - y0) > 1e-6;
  const factor = spread ? Math.min(room[0] / Math.max(x1 - x0, 1e-9), room[1] / Math.max(y1 - y0, 1e-9)) : 0;
  const height = factor * (y1 - y0) + 70;
  const at = points.map(([x, y]) => [width / 2 + factor * (x - (x0 + x1) / 2), height / 2 - factor * (y - (y0 + y1) / 2)]);
  return { at, height };
}

/** Move dots that cover each other apart until every one of them can be read, within the paper. */
function pushApart(at, gap, [width, height]) {
  const inside = (value, most) => Math.max(gap / 2, Math.min(most - gap / 2, value));
  for (let round = 0, moved = true; moved && round < 200; round++) {
    moved = false;
    for (let a = 0; a < at.length; a++)
      for (let b = 0; b < a; b++) {
        const [dx, dy] = [at[a][0] - at[b][0], at[a][1] - at[b][1]];
        const distance = Math.hypot(dx, dy);
        if (distance >= gap - 0.01) continue;
        const angle = distance > 1e-6 ? Math.atan2(dy, dx) : a; // on one point: a direction of its own for each
        const shift = (gap - distance) / 2;
        for (const [dot, sign] of [[at[a], 1], [at[b], -1]]) {
          dot[0] = inside(dot[0] + sign * shift * Math.cos(angle), width);
          dot[1] = inside(dot[1] + sign * shift * Math.sin(angle), height);
        }
        moved = true;
      }
  }
}

function pathParts(points, arrows, size) {
  const line = svg("polyline", { points: pointList(points), class: arrows ? "path" : "path thin" });
  if (!arrows) return [line];
  const heads = points.slice(1).flatMap(([x2, y2], k) => {
    const [x1, y1] = points[k];
    const length = Math.hypot(x2 - x1, y2 - y1);
    if (length < 2 * size + 10) return [];
    const share = 0.5 + 4 / length;
    const angle = ((Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI).toFixed(0);
    const middle = [x1 + share * (x2 - x1), y1 + share * (y2 - y1)];
    return [fixed(middle, ` rotate(${angle})`, [svg("path", { d: "M0 0L-8 -4L-8 4Z", class: "head" })])];
  });
  return [line, ...heads];
}

/** Each name where there is room around its dot; a name without room waits until the reader zooms in, and so does one
 * that is cut to the same text as another. */
function placeNames(at, names, steps, size, paper) {
  const taken = at.map(([x, y]) => [x - size - 1, y - size - 1, x + size + 1, y + size + 1]);
  const away = size + 4;
  const spots = [
    [away, 4, "start"], [-away, 4, "end"], [0, -away - 1, "middle"], [0, away + 10, "middle"],
    [away - 2, -8, "start"], [2 - away, -8, "end"], [away - 2, 16, "start"], [2 - away, 16, "end"],
  ];
  const labels = new Map();
  const short = names.map((name) => fitted(name, 0.3 * paper[0]));
  const distinct = new Set(short).size === new Set(names).size;
  for (const task of inTurn(names, steps, names.length * 9)) {
    const name = short[task];
    const boxes = spots.map((spot) => boxOf(at[task], spot, textWidth(name)));
    const free = boxes.findIndex((box) => isFree(box, taken, paper));
    const [x, y, anchor] = spots[Math.max(free, 0)];
    if (free >= 0) taken.push(boxes[free]);
    const text = svg("text", { x, y, class: free >= 0 ? `name ${anchor}` : "name crowded" }, name);
    labels.set(task, { text, room: free >= 0 && distinct });
  }
  return labels;
}

function boxOf([atX, atY], [dx, dy, anchor], wide) {
  const left = atX + dx - (anchor === "end" ? wide : anchor === "middle" ? wide / 2 : 0);
  return [left, atY + dy - 0.8 * FONT, left + wide, atY + dy + 0.25 * FONT];
}

function isFree([a, b, c, d], taken, [width, height]) {
  const inside = a >= 2 && b >= 2 && c <= width - 2 && d <= height - 2;
  return inside && taken.every(([left, upper, right, lower]) => c <= left || a >= right || d <= upper || b >= lower);
}
