// @ts-check
// The address after the #: the page, and the state of the page.

/** The address of the current page. */
export const address = { hash: "" };

/**
 * Write the page's state to the address, without a new visit.
 * @param {string} hash
 * @param {boolean} isPushed whether Back returns to the state before
 */
export function writeHash(hash, isPushed = false) {
  history[isPushed ? "pushState" : "replaceState"](null, "", hash);
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
