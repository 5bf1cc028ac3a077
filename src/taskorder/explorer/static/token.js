/**
 * The token that every call to the server carries: who has it started the explorer, or was told by whoever did.
 *
 * The address that `taskorder explore` prints has it in its fragment, which browsers never send. It is taken from there
 * and kept for reloads and other tabs, so that a link to share does not have it.
 */

const PREFIX = "#token=";
const KEPT = "taskorder-token";

const given = () => (location.hash.startsWith(PREFIX) ? location.hash.slice(PREFIX.length) : "");

/** What an action on the storage of this address and port gives; null where the storage is forbidden. */
function stored(action) {
  try {
    return action(localStorage);
  } catch {
    return null;
  }
}

export const token = given() || (stored((storage) => storage.getItem(KEPT)) ?? "");

if (given()) {
  stored((storage) => storage.setItem(KEPT, token));
  history.replaceState(null, "", location.pathname);
}
addEventListener("hashchange", () => given() && location.reload()); // the address of a new start, in an old tab
