// @ts-check
// The router: the address after the # names the page.

import { address } from "./address.js";
import { show as showCompare } from "./compare.js";
import { ask, errorBox } from "./controls.js";
import { showImport, showNew } from "./create.js";
import { show as showHistory } from "./history.js";
import { show as showMcp } from "./import-mcp.js";
import { show as showRunForm } from "./run-form.js";
import { show as showRun } from "./run-page.js";
import { show as showSuite } from "./suite.js";
import { show as showSuites } from "./suites.js";
import { show as showTrend } from "./trend.js";
import { el } from "./page/dom.js";

/**
 * A page draws itself into `place`. `moved` is called when only the query of its address has changed.
 * @typedef {{leave?: () => void, isDirty?: () => boolean, moved?: (params: URLSearchParams) => void}} Page
 * @typedef {{place: HTMLElement, rest: string, params: URLSearchParams, isGone: () => boolean}} Visit
 * @typedef {(visit: Visit) => Promise<Page | void>} Show
 */

/** @type {Record<string, {show: Show, title: string, nav: string}>} */
const PAGES = {
  suites: { show: showSuites, title: "Suites", nav: "suites" },
  new: { show: showNew, title: "New suite", nav: "suites" },
  import: { show: showImport, title: "Import JSON", nav: "suites" },
  mcp: { show: showMcp, title: "Import from MCP", nav: "suites" },
  suite: { show: showSuite, title: "Suite", nav: "suites" },
  run: { show: showRunForm, title: "Run", nav: "run" },
  runs: { show: showRun, title: "Run", nav: "run" },
  history: { show: showHistory, title: "History", nav: "history" },
  trend: { show: showTrend, title: "Trends", nav: "trend" },
  compare: { show: showCompare, title: "Comparison", nav: "history" },
};

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
  const page = PAGES[Object.hasOwn(PAGES, name) ? name : "suites"];
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  visits += 1;
  const visit = visits;
  const place = el("div", { class: "page" });
  document.title = `${page.title} · tooleval`;
  for (const each of document.querySelectorAll("nav a")) {
    if (each.getAttribute("href") === `#/${page.nav}`) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  main.replaceChildren(place);
  window.scrollTo(0, 0);
  const isGone = () => visit !== visits;
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
