/** The page's side of its two workers: one for the order that is being dragged, one for what takes longer. */

/** @typedef {import("./recursion.js").SolverInput} SolverInput
 * @typedef {import("./recursion.js").Evaluation} Evaluation */

/** The page's policy lets no text become script; this one address is the exception. */
const ADDRESS = new URL("./worker.js", import.meta.url).href;
const policy = globalThis.trustedTypes?.createPolicy("taskorder", { createScriptURL: () => ADDRESS });
const WORKER = policy ? policy.createScriptURL("") : ADDRESS;

/** One worker, with promises. */
class Lane {
  constructor() {
    this.worker = new Worker(WORKER, { type: "module" });
    this.waiting = new Map();
    this.count = 0;
    this.known = null;
    this.worker.addEventListener("message", ({ data }) => {
      const { resolve, reject } = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if ("problem" in data) reject(new Error(data.problem));
      else resolve(data.value);
    });
  }

  /** Run one of the worker's calls on an input, which is sent only when it is a new one.
   * @param {string} call @param {SolverInput} inputs @param {...any} args @returns {Promise<any>} */
  ask(call, inputs, ...args) {
    const id = ++this.count;
    const fresh = inputs !== this.known;
    this.known = inputs;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, call, args, ...(fresh ? { inputs: plain(inputs) } : {}) });
    });
  }
}

export class Engine {
  constructor() {
    this.fast = new Lane();
    this.slow = new Lane();
    this.busy = false;
    this.next = null;
  }

  /** Evaluate an order; null where a newer request has overtaken this one. While one runs, only the newest waits.
   * @param {SolverInput} inputs @param {number[]} order @returns {Promise<Evaluation | null>} */
  async evaluate(inputs, order) {
    if (this.busy) {
      this.next?.resolve(null);
      return new Promise((resolve) => (this.next = { inputs, order, resolve }));
    }
    this.busy = true;
    try {
      return await this.fast.ask("evaluate", inputs, order);
    } finally {
      this.busy = false;
      const next = this.next;
      this.next = null;
      if (next) this.evaluate(next.inputs, next.order).then(next.resolve);
    }
  }
}

/** What the worker needs of an input. @param {SolverInput} inputs */
function plain({ matrix, size, learned, weights, before, first, last }) {
  return { matrix, size, learned, weights, before, first, last };
}
