// @ts-check
// The address after the #: the page, and the state of the page.

/** The address of the current page. */
export const address = { hash: "" };

/**
 * Write the page's state to the address, without a new visit.
 * @param {string} hash
 */
export function replaceHash(hash) {
  history.replaceState(null, "", hash);
  address.hash = hash;
}

/**
 * The same, and Back returns to the state before.
 * @param {string} hash
 */
export function pushHash(hash) {
  history.pushState(null, "", hash);
  address.hash = hash;
}

/** @param {string} file */
export function suiteHash(file) {
  return "#/suite/" + encodeURIComponent(file);
}

/** @param {string} id */
export function runHash(id) {
  return "#/runs/" + encodeURIComponent(id);
}
