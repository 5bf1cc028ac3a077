/** The page's side of its workers: for the order that is shown, the best order, what takes longer, and what can wait. */

/** @typedef {import("./recursion.js").SolverInput} SolverInput */

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
    this.running = new Map();
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

  /** The same for a call that is made again and again, by a drag or a slider: undefined where a newer one has overtaken it.
   * While one runs, only the newest waits. @param {string} call @param {SolverInput} inputs @param {...any} args */
  async latest(call, inputs, ...args) {
    const running = this.running.get(call);
    if (running) {
      running.next?.resolve(undefined);
      return new Promise((resolve, reject) => (running.next = { inputs, args, resolve, reject }));
    }
    const own = { next: null };
    this.running.set(call, own);
    try {
      return await this.ask(call, inputs, ...args);
    } finally {
      this.running.delete(call);
      const { next } = own;
      if (next) this.latest(call, next.inputs, ...next.args).then(next.resolve, next.reject);
    }
  }
}

export class Engine {
  constructor() {
    this.fast = new Lane();
    this.best = new Lane();
    this.slow = new Lane();
    this.patient = new Lane();
  }
}

/** What the worker needs of an input. @param {SolverInput} inputs */
function plain({ kind, given, matrix, size, retention, learned, weights, before, first, last }) {
  return { kind, given, matrix, size, retention, learned, weights, before, first, last };
}
