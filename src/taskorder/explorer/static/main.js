/** Start the page: the bar, the address, and what is there to begin with. */

import { ruleText } from "./answer.js";
import { App } from "./app.js";
import { announce, byId, complain } from "./dom.js";
import { createDownloads } from "./downloads.js";
import { nameProblem } from "./inspector.js";
import { createLoader } from "./loader.js";
import * as server from "./server.js";
import { fromFragment, isShared, keep, kept, toFragment } from "./share.js";
import { withInputs } from "./state.js";
import { token } from "./token.js";

const LINK_AFTER = 400;

/** Undo, redo, link, names: what stands in the bar. @param {App} app */
function connectBar(app) {
  const { store } = app;
  const step = (kind) => {
    store[kind]();
    if (store.state) announce(`${kind === "undo" ? "Undone" : "Redone"}: order ${ruleText(store.state.rule)}.`);
  };
  byId("undo").addEventListener("click", () => step("undo"));
  byId("redo").addEventListener("click", () => step("redo"));
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target.matches("input:not([type=range]), textarea")) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    step(key === "y" || event.shiftKey ? "redo" : "undo");
  });
  byId("link").addEventListener("click", async () => {
    try {
      history.replaceState(null, "", await toFragment(store.state));
      await navigator.clipboard.writeText(location.href).then(
        () => flash(byId("link"), "Link copied"),
        () => flash(byId("link"), "Link is in the address bar"),
      );
    } catch (problem) {
      complain(problem.message);
    }
  });
  const dialog = byId("names-dialog");
  byId("rename").addEventListener("click", () => {
    byId("names").value = store.state.inputs.names.join("\n");
    byId("names-problem").textContent = "";
    dialog.showModal();
  });
  dialog.querySelector("form").addEventListener("submit", (event) => {
    const names = byId("names")
      .value.replace(/\n+$/, "")
      .split("\n")
      .map((name) => name.trim());
    const { size, names: before } = store.state.inputs;
    const problem =
      names.length === size
        ? nameProblem(names, before)
        : `There must be ${size} names, one for each task, got ${names.length}.`;
    byId("names-problem").textContent = problem;
    if (problem) event.preventDefault();
    else store.commit(withInputs(store.state, { names }));
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address holds the state
    byId("main").focus();
  });
  for (const button of document.querySelectorAll("[data-close]"))
    button.addEventListener("click", () => button.closest("dialog").close());
  byId("problem")
    .querySelector("button")
    .addEventListener("click", () => complain(""));
}

/** Show a word on a button for a moment. */
function flash(button, text) {
  const usual = "Share";
  button.textContent = text;
  announce(text);
  setTimeout(() => (button.textContent = usual), 2000);
}

/** Keep the state, so that a reload loses nothing. @param {App} app */
function connectAddress(app) {
  let timer = 0;
  app.store.subscribe((state) => {
    clearTimeout(timer);
    timer = setTimeout(() => app.store.state === state && keep(state, token), LINK_AFTER);
  });
  addEventListener("hashchange", () => isShared(location.hash) && restore(app, location.hash));
}

/** Show the state in a fragment. @param {App} app @param {string} fragment */
async function restore(app, fragment) {
  try {
    app.store.commit(await fromFragment(fragment, (json) => server.readTable(json, "the link")));
  } catch (problem) {
    complain(problem.message);
    app.refresh();
  }
}

async function main() {
  let start;
  try {
    start = await server.begin();
  } catch (problem) {
    byId("loading").textContent = "";
    return complain(problem.message);
  }
  const app = new App(start);
  const { form } = createLoader(app);
  byId("start-loader").append(form);
  byId("open").addEventListener("click", () => {
    byId("dialog-loader").append(form);
    byId("loader-dialog").showModal();
  });
  connectBar(app);
  connectAddress(app);
  createDownloads(app);
  const fragment = kept(token);
  if (fragment) await restore(app, fragment);
  else if (start.table) app.open(start.table);
  else app.refresh();
}

main();
