// @ts-check
// The router: the address after the # names the page.

import { address } from "./address.js";
import { ask, errorBox } from "./controls.js";
import { el, link } from "./page/dom.js";
import { roundFor } from "./page/numbers.js";

/**
 * A page draws itself into `place`. `moved` is called when only the query of its address has changed.
 * @typedef {{leave?: () => void, isDirty?: () => boolean, moved?: (params: URLSearchParams) => void}} Page
 * @typedef {{place: HTMLElement, rest: string, params: URLSearchParams, isGone: () => boolean}} Visit
 */

/**
 * By the first part of the address; a script is loaded when its page is first opened. The navigation has those that
 * are not `under` another one.
 * @type {Record<string, {title: string, under?: string, show: (visit: Visit) => Promise<Page | void>}>}
 */
const PAGES = {
  suites: { title: "Suites", show: async (visit) => (await import("./suites.js")).show(visit) },
  new: { title: "New suite", under: "suites", show: async (visit) => (await import("./create.js")).showNew(visit) },
  import: { title: "Import JSON", under: "suites", show: async (visit) => (await import("./create.js")).showImport(visit) },
  mcp: { title: "Import from MCP", under: "suites", show: async (visit) => (await import("./import-mcp.js")).show(visit) },
  suite: { title: "Suite", under: "suites", show: async (visit) => (await import("./suite.js")).show(visit) },
  run: { title: "Run", show: async (visit) => (await import("./run-form.js")).show(visit) },
  runs: { title: "Run", under: "run", show: async (visit) => (await import("./run-page.js")).show(visit) },
  history: { title: "History", show: async (visit) => (await import("./history.js")).show(visit) },
  compare: { title: "Comparison", under: "history", show: async (visit) => (await import("./compare.js")).show(visit) },
  trend: { title: "Trends", show: async (visit) => (await import("./trend.js")).show(visit) },
};
const links = Object.entries(PAGES).filter(([, page]) => !page.under).map(([name, { title }]) => link(`#/${name}`, title));
document.querySelector("nav")?.append(...links);

/** @type {Page} */
let current = {};
let visits = 0;

/** @param {string} hash */
function parse(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const slash = path.indexOf("/");
  const name = slash < 0 ? path : path.slice(0, slash);
  let rest = slash < 0 ? "" : path.slice(slash + 1);
  try {
    rest = decodeURIComponent(rest);
  } catch {
    // A malformed address; the page reports what it cannot find.
  }
  return { name, rest, params: new URLSearchParams(search) };
}

async function route() {
  const hash = location.hash;
  if (current.isDirty?.() && hash !== address.hash) {
    history.pushState(null, "", address.hash);
    const answer = await ask("Leave without saving?", "This suite has unsaved changes.", [
      ["leave", "Leave without saving"],
      ["", "Stay"],
    ]);
    if (answer !== "leave") return;
    history.replaceState(null, "", hash);
  }
  const { name, rest, params } = parse(hash);
  const isSame = hash.split("?")[0] === address.hash.split("?")[0];
  address.hash = hash;
  if (isSame && current.moved) {
    current.moved(params);
    return;
  }
  current.leave?.();
  current = {};
  const known = Object.hasOwn(PAGES, name) ? name : "suites";
  const page = PAGES[known];
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  visits += 1;
  const visit = visits;
  const place = el("div", { class: "page" });
  document.title = `${page.title} · tooleval`;
  for (const each of links) {
    if (each.getAttribute("href") === `#/${page.under ?? known}`) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  main.replaceChildren(place);
  window.scrollTo(0, 0);
  const isGone = () => visit !== visits;
  roundFor([]); // those of the run that was open
  try {
    const shownPage = await page.show({ place, rest, params, isGone });
    if (isGone()) shownPage?.leave?.();
    else current = shownPage || {};
  } catch (error) {
    if (isGone()) return;
    place.append(el("h1", { tabindex: -1 }, page.title), errorBox(error));
  }
  if (!isGone() && (document.activeElement === document.body || document.activeElement === null)) {
    /** @type {HTMLElement | null} */ (place.querySelector("h1"))?.focus({ preventScroll: true });
  }
}

window.addEventListener("hashchange", () => {
  if (location.hash !== address.hash) void route();
});
// The skip link must not change the address, which names the page.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
window.addEventListener("beforeunload", (event) => {
  if (current.isDirty?.()) event.preventDefault();
});
void route();
