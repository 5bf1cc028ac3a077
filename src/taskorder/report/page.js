"use strict";
(() => {
  const tip = document.getElementById("tip");
  const read = (key) => JSON.parse(document.getElementById(key).textContent);
  const grids = read("grids");

  // --- what a mark says, by pointer ---
  function show(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
    tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
  }
  function hide() { tip.hidden = true; }

  function cellText(frame, x, y) {
    const grid = grids[frame.dataset.grid], box = frame.getBoundingClientRect(), n = grid.names.length;
    const place = (at, start, size) => Math.max(0, Math.min(n - 1, Math.floor((at - start) / size * n)));
    const row = place(y, box.top, box.height), column = place(x, box.left, box.width);
    const value = String(grid.values[row][column]).replace("-", "\u2212");
    return grid.names[row] + "\n" + grid.names[column] + "\n" + value;
  }
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
  function whole(svg) {
    if (!boxes.has(svg)) boxes.set(svg, svg.getAttribute("viewBox").split(" ").map(Number));
    return boxes.get(svg);
  }
  const now = (svg) => svg.getAttribute("viewBox").split(" ").map(Number);
  function view(svg, x, y, w) {
    const all = whole(svg), k = Math.max(1, Math.min(16, all[2] / w)), width = all[2] / k, height = all[3] / k;
    const left = Math.max(0, Math.min(all[2] - width, x)), top = Math.max(0, Math.min(all[3] - height, y));
    svg.setAttribute("viewBox", [left, top, width, height].join(" "));
    svg.style.setProperty("--k", k);
    svg.toggleAttribute("data-zoomed", k > 1.001);
    hide();
  }
  function zoom(svg, factor, cx, cy) {
    whole(svg);
    const [x, y, w, h] = now(svg), wide = w / factor, high = h / factor;
    const px = cx === undefined ? x + w / 2 : cx, py = cy === undefined ? y + h / 2 : cy;
    view(svg, px - (px - x) / w * wide, py - (py - y) / h * high, wide);
  }
  const shown = (figure) => [...figure.querySelectorAll("svg")].find((svg) => svg.getBoundingClientRect().width > 0);
  function act(figure, what) {
    const svg = shown(figure);
    if (what === "in") zoom(svg, 1.6); else if (what === "out") zoom(svg, 1 / 1.6); else view(svg, 0, 0, whole(svg)[2]);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-zoom]");
    if (button) act(button.closest("figure"), button.dataset.zoom);
  });
  function at(svg, event) {
    const box = svg.getBoundingClientRect(), [x, y, w, h] = now(svg);
    return [x + (event.clientX - box.left) / box.width * w, y + (event.clientY - box.top) / box.height * h];
  }
  document.addEventListener("wheel", (event) => {
    const svg = event.target.closest && event.target.closest("figure svg");
    if (!svg || !(event.ctrlKey || event.metaKey)) return; // the wheel alone scrolls the page
    event.preventDefault();
    zoom(svg, event.deltaY < 0 ? 1.25 : 0.8, ...at(svg, event));
  }, { passive: false });
  document.addEventListener("dblclick", (event) => {
    const svg = event.target.closest && event.target.closest("figure svg");
    if (svg) zoom(svg, 2, ...at(svg, event));
  });
  document.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest && event.target.closest("svg[data-zoomed]");
    if (svg && event.button === 0) held = { svg, x: event.clientX, y: event.clientY, box: now(svg) };
  });
  document.addEventListener("pointermove", (event) => {
    if (!held) return;
    const size = held.svg.getBoundingClientRect(), [x, y, w, h] = held.box;
    view(held.svg, x - (event.clientX - held.x) / size.width * w, y - (event.clientY - held.y) / size.height * h, w);
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
    else if (event.key === "0") act(figure, "reset");
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
    const n = grids[frame.dataset.grid].names.length, [row, column] = walk.get(frame) || [0, -1];
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
})();
