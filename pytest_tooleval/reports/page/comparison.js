// @ts-check
// A comparison of two runs: what changed, whether by more than chance, and in which cases.

import { commitText, el, fold, isolated, link, listTable, metricName, modelName, modelText, moment, numberCell, outcomeText, section, shortened, shown, tableRow } from "./dom.js";
import { countText, isKnown, pText, plural, scoreText, signedText } from "./numbers.js";

/** @import { Child } from "./dom.js" */
/**
 * The addresses of a run, and of a case of the new run; "" for none. `answers` shows both answers to a case.
 * @typedef {{caseHref: (suite: string, id: string, model: string) => string, runHref: (id: string) => string,
 *   answers?: (each: {suite: string, case: string}, model: {old: string, new: string}) => Promise<Node[]>}} Links
 */

const MOST_LISTED = 200;

/** @param {any} comparison @param {Links} links */
export function comparisonSection(comparison, links) {
  return comparison && section("baseline", "Comparison with the baseline", ...comparisonNodes(comparison, links));
}

/** @param {any} comparison @param {Links} links @param {string} heading the element for a model's name */
export function comparisonNodes(comparison, links, heading = "h3") {
  return [
    el("p", { class: "verdict-line" }, outcomeText(comparison.verdict), ": ", isolated(comparison.message)),
    el("p", { class: "muted" }, "Old: ", ...runNodes(comparison.old, links), " · New: ", ...runNodes(comparison.new, links)),
    ...comparison.models.flatMap((/** @type {any} */ model) => modelNodes(model, comparison, links, heading)),
    ...unsharedNodes(comparison.cases, heading),
  ];
}

/** @param {any} run @param {Links} links @returns {Child[]} */
function runNodes({ id, name, started, git }, { runHref }) {
  const href = id ? runHref(id) : "";
  const label = isolated(shortened(name || id || "this run", 120));
  return [href ? link(href, label) : label, started && ", ", started && moment(started), git && ", ", git && isolated(commitText(git))];
}

/** @param {any} model @param {any} comparison @param {Links} links @param {string} heading */
function modelNodes(model, { alpha, max_drop: allowed, margin }, links, heading) {
  const names = model.old === model.new ? [modelName(model.new)] : [modelName(model.old), " → ", modelName(model.new)];
  const caseLine = (/** @type {any} */ each, /** @type {string} */ change) => {
    const href = links.caseHref(each.suite, each.case, model.new);
    return caseItem(each, ` ${change}`, href, links.answers && answersFold(() => links.answers?.(each, model)));
  };
  const broken = model.worse.filter((/** @type {any} */ each) => each.newly_broken);
  const worse = model.worse.filter((/** @type {any} */ each) => !each.newly_broken);
  const chance = model.newly_broken_p_adjusted ?? model.newly_broken_p;
  const tested = [": ", model.newly_broken_failed ? outcomeText("failed") : "may be due to chance", isKnown(chance) && ` (adjusted p: ${pText(chance)})`];
  const moved = (/** @type {any} */ each) => caseLine(each, `${scoreText(each.old)} → ${scoreText(each.new)}${each.old_passes && each.new_passes ? ` (${each.old_passes} → ${each.new_passes} trials)` : ""}`);
  const [passing] = model.metrics;
  const change = passing && `: passing trials ${scoreText(passing.old)} → ${scoreText(passing.new)} (${signedText(passing.new - passing.old)})`;
  const { more_trials: further, trials_in_both: both } = model;
  const orBoth = both ? `, or about ${both} in both runs` : "";
  const more = further ? `; about ${plural(further, "more trial")} of each case would decide${orBoth}` : both ? `; about ${plural(both, "trial")} of each case in both runs would decide` : "";
  const rule = `Failed: a drop above ${allowed}, with an adjusted p (Holm) below ${alpha}. Passed: a drop above ${margin} is ruled out. Otherwise inconclusive.`;
  const columns = ["Metric", "Old", "New", "Change", "Drop at most", "Cases", "p", "Adjusted p", "Test", "Result"];
  return [
    el(heading, {}, ...names),
    el("p", {}, outcomeText(model.verdict), change, ` in ${plural(model.cases, "case")}${more}`),
    broken.length > 0 && caseList(el("span", {}, `Newly broken cases: ${countText(broken.length)}`, ...tested), broken.map(moved), true),
    worse.length > 0 && caseList(`Worse cases: ${countText(worse.length)}`, worse.map(moved), true),
    model.better.length > 0 && caseList(`Better cases: ${countText(model.better.length)}`, model.better.map(moved)),
    model.metrics.length > 0 && fold("All metrics", false, listTable(columns, model.metrics.map(metricRow), `Comparison of ${modelText(model.new)}`), el("p", { class: "muted" }, rule)),
  ].filter((node) => node !== false);
}

/** @param {any} row */
function metricRow(row) {
  const change = isKnown(row.new) && isKnown(row.old) ? row.new - row.old : null;
  return tableRow(
    el("span", {}, row.metric === "pass" ? "passing trials" : metricName(row.metric), row.suite && el("span", { class: "muted" }, " in ", isolated(shortened(row.suite, 120)))),
    numberCell(scoreText(row.old)),
    numberCell(scoreText(row.new)),
    numberCell(signedText(change)),
    numberCell(scoreText(row.largest_drop)),
    numberCell(countText(row.n)),
    numberCell(pText(row.p)),
    numberCell(pText(row.p_adjusted)),
    shown(row.test),
    outcomeText(row.verdict),
  );
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

/** @param {any} each @param {string} change @param {string} [href] @param {Child} [more] */
function caseItem(each, change, href, more) {
  const name = isolated(shortened(each.case, 200));
  return el("li", {}, isolated(shortened(each.suite, 120)), " / ", href ? link(href, name) : name, el("span", { class: "number" }, shown(change)), more);
}

/** @param {Node | string} heading @param {HTMLElement[]} items @param {boolean} isOpen */
function caseList(heading, items, isOpen = false) {
  const more = items.length > MOST_LISTED && el("li", {}, `and ${countText(items.length - MOST_LISTED)} more`);
  return fold(heading, isOpen, el("ul", { class: "cases" }, ...items.slice(0, MOST_LISTED), more));
}

/** Cases that could not be paired as they are. @param {any} cases @param {string} heading */
function unsharedNodes(cases, heading) {
  /** @type {[string, string][]} */
  const kinds = [
    ["added", "New cases"],
    ["removed", "Removed cases"],
    ["changed", "Changed cases, not compared"],
    ["renamed", "Renamed cases, compared under the new name"],
    ["incomparable", "Cases not comparable"],
  ];
  const blocks = kinds
    .filter(([kind]) => cases[kind].length)
    .map(([kind, heading]) => {
      const more = (/** @type {any} */ each) => (each.old_case !== undefined ? ` was ${shortened(`${each.old_suite} / ${each.old_case}`, 320)}` : each.why ? ` ${shortened(each.why, 320)}` : "");
      const items = cases[kind].map((/** @type {any} */ each) => caseItem(each, more(each)));
      return caseList(`${heading}: ${countText(items.length)}`, items);
    });
  return blocks.length ? [el(heading, {}, "Cases that differ between the runs"), ...blocks] : [];
}
