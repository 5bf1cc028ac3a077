/** A slider changes the state with every move; a whole slide is one step to undo. */

/** @param {import("./state.js").Store} store */
export function createSlide(store) {
  let before = null; // the state before the slider was touched
  return {
    /** @param {Partial<import("./state.js").State>} change */
    move(change) {
      before ??= store.state;
      store.adjust(change);
    },
    settle() {
      if (!before) return;
      const now = store.state;
      store.state = before;
      before = null;
      store.commit(now);
    },
  };
}
