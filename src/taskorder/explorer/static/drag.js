/** Reorder a list with mouse, finger or keyboard. The list's rows carry data-task; locked rows stay at its head. */

import { moved } from "./state.js";

const THRESHOLD = 5;
const EDGE = 48;

/**
 * @param {HTMLElement} list
 * @param {Object} on
 * @param {() => number[]} on.order  the present order
 * @param {() => number} on.locked  how many rows at the head stay where they are
 * @param {() => void} on.begin  a row starts to move; all rows must be of one height now
 * @param {(order: number[], task: number) => void} on.preview  while it moves
 * @param {(order: number[], task: number) => void} on.drop  when it has arrived
 * @param {() => void} on.cancel
 */
export function makeDraggable(list, on) {
  let drag = null;

  list.addEventListener("pointerdown", (event) => {
    const row = event.target.closest("li[data-task]");
    const grip = event.target.closest(".grip");
    if (!row || drag || event.button !== 0 || row.classList.contains("locked")) return;
    if (event.target.closest(".inspector")) return;
    if (event.pointerType !== "mouse" && !grip) return; // a finger elsewhere scrolls
    const task = Number(row.dataset.task);
    drag = { id: event.pointerId, row, task, y: event.clientY, startY: event.clientY, moving: false, frame: 0 };
    drag.order = on.order();
  });

  list.addEventListener("pointermove", (event) => {
    if (!drag || event.pointerId !== drag.id) return;
    drag.y = event.clientY;
    if (!drag.moving) {
      if (Math.abs(drag.y - drag.startY) < THRESHOLD) return;
      drag.moving = true;
      list.setPointerCapture(drag.id);
      on.begin();
      drag.height = drag.row.querySelector(".face").offsetHeight;
      list.classList.add("moving");
      drag.row.classList.add("dragged");
      const grab = drag.startY - drag.row.getBoundingClientRect().top;
      // rows may have moved away from the pointer when an open one was closed
      drag.grab = grab >= 0 && grab <= drag.height ? grab : drag.height / 2;
      drag.frame = requestAnimationFrame(follow);
    }
    place();
  });

  list.addEventListener("pointerup", (event) => {
    if (!drag || event.pointerId !== drag.id) return;
    const { order, task, moving } = drag;
    finish();
    if (moving) on.drop(order, task);
  });

  list.addEventListener("pointercancel", abort);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && drag?.moving) abort();
  });
  // the click that ends a drag must not open the row
  list.addEventListener(
    "click",
    (event) => {
      if (list.dataset.dragged) event.stopPropagation();
    },
    true,
  );

  function place() {
    const box = list.getBoundingClientRect();
    const locked = on.locked();
    const last = drag.order.length - 1;
    // where the row's top is, from that of the first free place; a row that hung over the end would stretch the list
    const free = drag.y - drag.grab - box.top + list.scrollTop - locked * drag.height;
    const top = Math.max(0, Math.min(last * drag.height, free));
    const target = Math.round(top / drag.height);
    if (drag.order[target] !== drag.task) {
      drag.order = moved(drag.order, drag.task, target);
      on.preview(drag.order, drag.task);
    }
    drag.row.style.transform = `translateY(${top - target * drag.height}px)`;
  }

  /** Scroll when the pointer is near an end of the list (or of the window). */
  function follow() {
    if (!drag?.moving) return;
    const box = list.getBoundingClientRect();
    const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
    const speed = drag.y < top + EDGE ? -8 : drag.y > bottom - EDGE ? 8 : 0;
    if (speed) {
      if (list.scrollHeight > list.clientHeight + 1) list.scrollTop += speed;
      else if (box.top < 0 || box.bottom > innerHeight) scrollBy(0, speed);
      place();
    }
    drag.frame = requestAnimationFrame(follow);
  }

  function finish() {
    cancelAnimationFrame(drag.frame);
    drag.row.classList.remove("dragged");
    drag.row.style.transform = "";
    list.classList.remove("moving");
    if (drag.moving) {
      list.dataset.dragged = "yes";
      setTimeout(() => delete list.dataset.dragged, 0);
    }
    drag = null;
  }

  function abort() {
    if (!drag) return;
    const moving = drag.moving;
    finish();
    if (moving) on.cancel();
  }
}
