// @ts-check
// Two runs compared: what moved, whether by more than chance, and in which cases.

import { commitText, el, fold, isolated, link, listTable, metricText, modelName, moment, numberCell, section, shortened, shown, tableRow, verdictText } from "./dom.js";
import { countText, isKnown, pText, plural, scoreText, signedText } from "./numbers.js";

/** @import { Child } from "./dom.js" */
/**
 * Where a case of the new run, and a run, can be seen; "" for nowhere.
 * @typedef {{caseHref: (suite: string, id: string, model: string) => string, runHref: (id: string) => string}} Links
 */

// Nobody reads on beyond this many.
const MOST = 200;

/** @param {any} comparison @param {Links} links */
export function comparisonSection(comparison, links) {
  return comparison && section("baseline", "Against the baseline", ...comparisonNodes(comparison, links));
}

/** @param {any} comparison @param {Links} links */
export function comparisonNodes(comparison, links) {
  return [
    el("p", { class: "verdict-line" }, verdictText(comparison.verdict), ": ", isolated(comparison.message)),
    el("p", { class: "muted" }, "old: ", ...runNodes(comparison.old, links), " · new: ", ...runNodes(comparison.new, links)),
    ...comparison.models.flatMap((/** @type {any} */ model) => modelNodes(model, comparison, links)),
    ...unsharedNodes(comparison.cases),
  ];
}

/** @param {any} run @param {Links} links @returns {Child[]} */
function runNodes({ id, name, started, git }, { runHref }) {
  const href = id ? runHref(id) : "";
  const label = isolated(shortened(name || id || "this run", 120));
  return [href ? link(href, label) : label, started && " of ", started && moment(started), git && " at ", git && isolated(commitText(git))];
}

/** @param {any} model @param {any} comparison @param {Links} links */
function modelNodes(model, { alpha, max_drop: allowed, margin }, links) {
  const names = model.old === model.new ? [modelName(model.new)] : [modelName(model.old), " → ", modelName(model.new)];
  const caseLine = (/** @type {any} */ each, /** @type {string} */ change) => {
    const href = links.caseHref(each.suite, each.case, model.new);
    return caseItem(each, ` ${change}`, href);
  };
  const flips = model.flips.map((/** @type {any} */ each) => caseLine(each, `${each.old} → ${each.new} trials`));
  const verdict = model.flips_failed ? verdictText("failed") : "noted";
  const moved = (/** @type {any} */ each) => caseLine(each, `${scoreText(each.old)} → ${scoreText(each.new)}${each.old_passes && each.new_passes ? ` (${each.old_passes} → ${each.new_passes} trials)` : ""}`);
  return [
    el("h3", {}, ...names),
    model.metrics.length > 0 && listTable(["Metric", "Old", "New", "Change", "Drop at most", "Cases", "p", "p adjusted", "Test", "Result"], model.metrics.map(metricRow), "Comparison"),
    el("p", { class: "muted" }, `${plural(model.cases, "case")} compared. Failed: a drop above ${allowed}, significant below ${alpha} after Holm's correction. Passed: a drop above ${margin} is ruled out. Else inconclusive.`),
    flips.length > 0 && caseList(el("span", {}, `${plural(flips.length, "case")} passed always and now never: `, verdict, ` (p adjusted: ${pText(model.flips_p_adjusted ?? model.flips_p)})`), flips, true),
    model.worse.length > 0 && caseList(`Worse cases: ${countText(model.worse.length)}`, model.worse.map(moved)),
    model.better.length > 0 && caseList(`Better cases: ${countText(model.better.length)}`, model.better.map(moved)),
  ].filter((node) => node !== false);
}

/** @param {any} row */
function metricRow(row) {
  const change = isKnown(row.new) && isKnown(row.old) ? row.new - row.old : null;
  return tableRow(
    el("span", {}, metricText(row.metric), row.suite && el("span", { class: "muted" }, " in ", isolated(shortened(row.suite, 120)))),
    numberCell(scoreText(row.old)),
    numberCell(scoreText(row.new)),
    numberCell(signedText(change)),
    numberCell(scoreText(row.bound)),
    numberCell(countText(row.n)),
    numberCell(pText(row.p)),
    numberCell(pText(row.p_adjusted)),
    shown(row.test),
    verdictText(row.verdict),
  );
}

/** @param {any} each @param {string} change @param {string} [href] */
function caseItem(each, change, href) {
  const name = isolated(shortened(each.case, 200));
  return el("li", {}, isolated(shortened(each.suite, 120)), " / ", href ? link(href, name) : name, el("span", { class: "number" }, shown(change)));
}

/** @param {Node | string} heading @param {HTMLElement[]} items @param {boolean} isOpen */
function caseList(heading, items, isOpen = false) {
  const more = items.length > MOST && el("li", {}, `and ${countText(items.length - MOST)} more`);
  return fold(heading, isOpen, el("ul", { class: "cases" }, ...items.slice(0, MOST), more));
}

/** What the two runs do not share, and so was not compared. @param {any} cases */
function unsharedNodes(cases) {
  /** @type {[string, string][]} */
  const kinds = [
    ["added", "New cases"],
    ["removed", "Cases that are gone"],
    ["changed", "Changed cases, not compared"],
    ["renamed", "Renamed cases, compared under their new name"],
  ];
  const blocks = kinds
    .filter(([kind]) => cases[kind].length)
    .map(([kind, heading]) => {
      const items = cases[kind].map((/** @type {any} */ each) => caseItem(each, each.old_case === undefined ? "" : ` was ${shortened(`${each.old_suite} / ${each.old_case}`, 320)}`));
      return caseList(`${heading}: ${countText(items.length)}`, items);
    });
  return blocks.length ? [el("h3", {}, "Cases that the two runs do not share"), ...blocks] : [];
}
