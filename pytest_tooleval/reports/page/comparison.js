// @ts-check
// A comparison of two runs: what changed, whether by more than chance, and in which cases.

import { columnTable } from "./columns.js";
import { capitalized, commitText, el, fold, isolated, link, modelName, moment, outcomeText, section, shortened } from "./dom.js";
import { countText, plural } from "./numbers.js";

/** @import { Identity } from "./cases.js" */
/** @import { Child } from "./dom.js" */
/**
 * The addresses of a run, and of a case of the new run; "" for none. `answers` shows both answers to a case.
 * @typedef {{caseHref: (of: Identity) => string, runHref: (id: string) => string,
 *   answers?: (item: Item) => Promise<Node[]>}} Links
 * @typedef {{of: Identity, was: Identity, suite: string, old: string, new: string, more: string}} Item as `CaseItem` in reports/comparison.py
 * @typedef {{title: string, items: Item[], is_moved: boolean}} List as `CaseList` in reports/comparison.py
 */

const MOST_LISTED = 200;

/** @param {any} comparison as `page_comparison` in reports/html.py makes it @param {Links} links */
export function comparisonSection(comparison, links) {
  return comparison && section("baseline", "Comparison with the baseline", ...comparisonNodes(comparison, links));
}

/** @param {any} comparison @param {Links} links */
export function comparisonNodes({ verdict, message, old, new: now, cases, models, metrics, lists, alpha, max_drop: allowed, margin }, links) {
  const rule = `Failed: a drop above ${allowed}, with a p (adjusted by Holm) below ${alpha}. Passed: a drop above ${margin} is ruled out. Otherwise inconclusive.`;
  const made = [
    el("p", { class: "verdict-line" }, outcomeText(verdict), ": ", isolated(message)),
    el("p", { class: "muted" }, "Old: ", ...runNodes(old, links), " · New: ", ...runNodes(now, links), ` · ${plural(cases.same, "case")} in both`),
    ...(metrics.records.length ? [columnTable(metrics, "Metrics that changed"), el("p", { class: "muted" }, rule)] : []),
    ...lists.map((/** @type {List} */ list) => caseList(list, models.length > 1, links)),
  ];
  return made;
}

/** @param {any} run @param {Links} links @returns {Child[]} */
function runNodes({ id, name, started, git }, { runHref }) {
  const href = id ? runHref(id) : "";
  const label = isolated(shortened(name || id || "this run", 120));
  return [href ? link(href, label) : label, started && ", ", started && moment(started), git && ", ", git && isolated(commitText(git))];
}

/** @param {List} list @param {boolean} isOfModels whether to name the model @param {Links} links */
function caseList({ title, items, is_moved: isMoved }, isOfModels, links) {
  const shownItems = items.slice(0, MOST_LISTED).map((item) => {
    const name = isolated(shortened(item.of.case, 200));
    const href = isMoved ? links.caseHref(item.of) : "";
    const change = isMoved && el("span", { class: "number" }, " ", isolated(item.old), " → ", isolated(item.new));
    const model = isMoved && isOfModels && el("span", {}, " on ", modelName(item.of.model));
    const more = item.more && el("span", { class: "muted" }, " ", isolated(shortened(item.more, 320)));
    const answers = isMoved && links.answers && answersFold(() => links.answers?.(item));
    return el("li", {}, isolated(shortened(item.suite, 120)), " / ", href ? link(href, name) : name, model, change, more, answers);
  });
  const left = items.length > MOST_LISTED && el("li", {}, `and ${countText(items.length - MOST_LISTED)} more`);
  return fold(`${capitalized(title)}: ${countText(items.length)}`, isMoved && !["newly right", "better"].includes(title), el("ul", { class: "cases" }, ...shownItems, left));
}

/** Loads its content when it is first opened. @param {() => Promise<Node[]> | undefined} load */
function answersFold(load) {
  const made = fold("Old and new answers", false);
  made.addEventListener("toggle", async () => {
    if (made.children.length > 1) return;
    const place = el("div", {}, "Loading…");
    made.append(place);
    place.replaceChildren(...((await load()) ?? []));
  });
  return made;
}
