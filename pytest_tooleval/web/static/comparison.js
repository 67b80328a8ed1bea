// @ts-check
// Two runs compared, as verdicts/baseline.py compares them.

import { runHash } from "./address.js";
import { isolated, link, listTable, moment, plural } from "./dom.js";
import { metricName } from "./summary.js";

const MOST = 100;

/** @param {any} comparison */
export function comparisonSection(comparison) {
  return el("section", { class: "comparison" }, el("h2", {}, "Comparison"), ...comparisonNodes(comparison));
}

/**
 * It fails, too, where there is nothing to compare; then nothing is known to be worse.
 * @param {any} comparison
 */
function verdictOf({ failed, models }) {
  const isWorse = models.some((/** @type {any} */ model) => model.flips_failed || model.metrics.some((/** @type {any} */ each) => each.failed));
  if (isWorse) return ["failed", "worse"];
  if (!failed) return ["passed", "not worse"];
  return ["error", models.some((/** @type {any} */ model) => model.cases > 0) ? "only some can be compared" : "cannot be compared"];
}

/** @param {any} comparison */
export function comparisonNodes(comparison) {
  const { old, new: now, models, cases } = comparison;
  const [outcome, verdict] = verdictOf(comparison);
  return [
    el("p", { class: `verdict-line of-${outcome}` }, outcomeText(outcome, verdict), ": ", isolated(comparison.message)),
    el("dl", { class: "facts" }, ...side("Old", old), ...side("New", now), fact("Compared", plural(cases.same, "case with the same question", "cases with the same question"))),
    ...models.flatMap((/** @type {any} */ model) => modelNodes(model, now)),
    ...changes(cases),
  ];
}

/** @param {string} title @param {any} run */
function side(title, run) {
  const commit = run.git ? ` ${shown(run.git.branch || "")} ${shown(run.git.commit.slice(0, 10))}` : "";
  const name = run.id ? link(runHash(run.id), run.started ? moment(run.started) : isolated(run.id)) : isolated(run.name);
  return [fact(title, name, el("small", {}, commit))];
}

/** @param {string} term @param {...(Node | string)} nodes */
function fact(term, ...nodes) {
  return el("div", {}, el("dt", {}, term), el("dd", {}, ...nodes));
}

/** @param {any} model @param {any} now */
function modelNodes(model, now) {
  const name = model.old === model.new ? isolated(model.new || "no model named") : el("span", {}, isolated(model.old), " → ", isolated(model.new));
  const rows = model.metrics.map((/** @type {any} */ each) => {
    const verdict = each.failed ? outcomeText("failed", "worse") : each.significant ? outcomeText(each.drop > 0 ? "missed" : "passed", each.drop > 0 ? "lower, within what is allowed" : "better") : el("span", { class: "muted" }, "no clear difference");
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, each.metric === "pass" ? "Passing trials" : metricName(each.metric), ...(each.suite ? [" in ", isolated(each.suite)] : [])),
      el("td", { class: "number" }, scoreText(each.old)),
      el("td", { class: "number" }, scoreText(each.new)),
      el("td", { class: "number" }, signed(-each.drop)),
      el("td", { class: "number", title: `${each.test}, ${each.n} cases, before adjusting ${pText(each.p)}` }, pText(each.p_adjusted)),
      el("td", {}, verdict),
    );
  });
  const parts = [
    el("h3", {}, name, " ", el("small", {}, plural(model.cases, "case"))),
    rows.length > 0 ? listTable(["Metric", "Old", "New", "Change", "p", "Verdict"], rows, "Metrics") : el("p", { class: "muted" }, "No case could be compared."),
  ];
  if (model.flips.length) {
    const flips = model.flips.map((/** @type {any} */ each) => caseRow(each, now, model.new, [["", shown(each.old)], ["", shown(each.new)]]));
    const p = isKnown(model.flips_p_adjusted) ? ` (p ${pText(model.flips_p_adjusted)})` : "";
    parts.push(fold(`${plural(model.flips.length, "case")} flipped from passing to failing${p}`, ["Case", "Old", "New"], flips, model.flips_failed ? "failed" : "missed", true));
  }
  for (const [title, list, outcome] of [["worse", model.worse, "failed"], ["better", model.better, "passed"]]) {
    if (!list.length) continue;
    const cells = list.map((/** @type {any} */ each) =>
      caseRow(each, now, model.new, [["number", scoreText(each.old)], ["number", scoreText(each.new)], ["", shown(each.old_passes)], ["", shown(each.new_passes)]]),
    );
    parts.push(fold(`${plural(list.length, "case")} ${title}`, ["Case", "Old", "New", "Passes, old", "Passes, new"], cells, outcome, title === "worse" && model.flips.length === 0));
  }
  return parts;
}

/** @param {any} each @param {any} now @param {string} model @param {[string, string][]} cells */
function caseRow(each, now, model, cells) {
  const params = new URLSearchParams({ q: each.case, model });
  const name = now.id ? link(`${runHash(now.id)}?${params}`, isolated(each.case)) : isolated(each.case);
  return el("tr", {}, el("th", { scope: "row" }, name, el("small", { class: "under" }, isolated(each.suite))), ...cells.map(([style, text]) => el("td", { class: style || null }, text)));
}

/**
 * @param {string} title
 * @param {string[]} columns
 * @param {HTMLElement[]} rows
 * @param {string} outcome
 * @param {boolean} isOpen
 */
function fold(title, columns, rows, outcome, isOpen) {
  const more = rows.length > MOST ? el("p", { class: "muted" }, `and ${countText(rows.length - MOST)} more`) : null;
  return el("details", { open: isOpen ? "" : null }, el("summary", {}, outcomeText(outcome, title)), listTable(columns, rows.slice(0, MOST), title), more);
}

/** @param {any} cases */
function changes(cases) {
  /** @type {[string, any[]][]} */
  const kinds = [
    ["added", cases.added],
    ["removed", cases.removed],
    ["changed, so not compared", cases.changed],
    ["renamed, and compared", cases.renamed],
  ];
  return kinds
    .filter(([, list]) => list.length)
    .map(([words, list]) => {
      const items = list.slice(0, MOST).map((each) =>
        el("li", {}, isolated(each.case), each.old_case !== undefined && el("span", {}, ", was ", isolated(each.old_case)), el("small", {}, " ", isolated(each.suite))),
      );
      const more = list.length > MOST ? el("li", {}, `and ${countText(list.length - MOST)} more`) : null;
      return el("details", {}, el("summary", {}, `${plural(list.length, "case")} ${words}`), el("ul", {}, ...items, more));
    });
}

/** @param {unknown} value */
function signed(value) {
  if (!isKnown(value)) return UNKNOWN;
  const text = Math.abs(value).toFixed(2);
  return Number(text) === 0 ? "0.00" : `${value < 0 ? "−" : "+"}${text}`;
}

/** @param {unknown} value */
function pText(value) {
  if (!isKnown(value)) return UNKNOWN;
  return value < 0.001 ? "<0.001" : value.toFixed(3);
}
