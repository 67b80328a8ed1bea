// @ts-check
// The part of the address behind the #: which page is shown, and what is chosen on it.

/** The address of the page that is shown. */
export const address = { hash: "" };

/**
 * Note in the address what is chosen on this page, without a new visit.
 * @param {string} hash
 */
export function replaceHash(hash) {
  history.replaceState(null, "", hash);
  address.hash = hash;
}

/**
 * The same, and Back leads to what was chosen before.
 * @param {string} hash
 */
export function pushHash(hash) {
  history.pushState(null, "", hash);
  address.hash = hash;
}

/** @param {string} hash */
export function go(hash) {
  location.hash = hash;
}

/**
 * @param {string} file
 */
export function suiteHash(file) {
  return "#/suite/" + encodeURIComponent(file);
}

/** @param {string} id */
export function runHash(id) {
  return "#/runs/" + encodeURIComponent(id);
}
