/** Where tables come from: a file, pasted text, an example. */

import { byId, complain } from "./dom.js";
import { h } from "./svg.js";
import * as server from "./server.js";

const EXAMPLES = [
  ["demo", "CIFAR-100", "measured"],
  ["chain", "Chain", "alike when near"],
  ["ring", "Ring", "a closed chain"],
  ["tree", "Tree", "a binary tree"],
  ["leaves", "Leaves", "ends of a tree"],
];

/** The form that loads a table; there is one, which stands on the start page or in the dialog.
 * @param {import("./app.js").App} app */
export function createLoader(app) {
  const form = byId("loader-template").content.cloneNode(true).firstElementChild;
  const file = form.querySelector("input[type=file]");
  const drop = form.querySelector(".drop");
  const value = (name) => form.querySelector(`[data-${name}]`).value;

  async function load(table) {
    complain("");
    form.setAttribute("aria-busy", "true");
    try {
      app.open(await table());
      byId("loader-dialog").close();
    } catch (problem) {
      byId("loader-dialog").close(); // the message stands on the page
      complain(problem.message);
    } finally {
      form.removeAttribute("aria-busy");
    }
  }

  const read = (chosen) =>
    load(() => {
      if (chosen.size > app.start.limits.bytes) {
        const size = (bytes) => `${Number((bytes / 2 ** 20).toPrecision(4))} MB`;
        throw new Error(
          `\`${chosen.name}\` must be at most ${size(app.start.limits.bytes)}, got ${size(chosen.size)}. ` +
            "Keep only the similarity matrix in it, or save it as NPY.",
        );
      }
      return server.readTable(chosen, chosen.name);
    });

  file.addEventListener("change", () => {
    if (file.files.length) read(file.files[0]);
    file.value = "";
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) read(event.dataTransfer.files[0]);
    });
  }
  form
    .querySelector("[data-paste]")
    .addEventListener("click", () => load(() => server.readTable(form.querySelector("textarea").value, "pasted text")));
  form.querySelector(".examples").append(
    ...EXAMPLES.map(([kind, title, about]) =>
      h(
        "button",
        {
          type: "button",
          "data-example": kind,
          onclick: () => load(() => server.example(kind, value("tasks"), value("a"))),
        },
        h("strong", {}, title),
        h("span", {}, about),
      ),
    ),
  );
  return { form };
}
