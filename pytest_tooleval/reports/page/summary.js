// @ts-check
// The summary of a run: verdict, facts, gates, and scores per model and suite.

import { columnCell, headingNode } from "./columns.js";
import { commitText, el, factList, fold, isolated, listTable, markOf, modelName, moment, numberCell, outcomeText, scrolling, section, shortened, svg, table, tableRow } from "./dom.js";
import { UNKNOWN, countText, isKnown, limitText, plural, scoreText, secondsText, usdText } from "./numbers.js";

/** @import { Column } from "./columns.js" */
/** @import { Child } from "./dom.js" */

/** Outcomes and their names in a summary. @type {[string, string][]} */
const COUNTED = [["passed", "passed"], ["failed", "failed"], ["error", "errors"], ["skipped", "skipped"]];
/** Tables with more columns are set tighter. */
const DENSE = 12;

// ---- the verdict ----

/** @param {any} document @param {string} heading the element of the verdict */
export function verdictNode(document, heading) {
  const { outcome, verdict, details } = document.summary;
  return el(
    "section",
    { class: `verdict ${outcome}`, "aria-labelledby": "verdict" },
    el(heading, { id: "verdict", class: "verdict-words" }, markOf(outcome), ` ${verdict}`),
    el("p", { class: "problems" }, details.join(" · ")),
    document.lines.length > 0 && el("ul", { class: "models" }, ...document.lines.map(modelLine)),
    outcomeBar(document.run.total),
    runFacts(document),
  );
}

/** The verdict on a model, as the terminal has it. @param {{model: string, verdict: string, text: string, more: string[]}} line */
function modelLine({ model, verdict, text, more }) {
  const reasons = more.map((reason) => el("li", {}, isolated(reason)));
  return el("li", {}, modelName(model), " ", outcomeText(verdict), " ", isolated(text), reasons.length > 0 && el("ul", {}, ...reasons));
}

/** The shares of the outcomes as a bar, and as text. @param {any} total */
function outcomeBar(total) {
  const found = COUNTED.filter(([, name]) => total[name]);
  let left = 0;
  const parts = found.map(([outcome, name]) => {
    const width = (100 * total[name]) / total.cases;
    left += width;
    return svg("rect", { class: `fill-${outcome}`, x: left - width, y: 0, width, height: 6 });
  });
  const items = found.map(([outcome, name]) => el("li", {}, outcomeText(outcome, outcome === "error" ? plural(total[name], "error") : `${countText(total[name])} ${name}`)));
  const bar = svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, ...parts);
  return found.length ? el("div", { class: "outcomes" }, bar, el("ul", {}, ...items)) : "";
}

/** @param {any} document */
function runFacts({ run, models, suites }) {
  const versions = [["pytest-tooleval", run.pytest_tooleval], ["scoring rules", run.scoring_version], ["pytest", run.pytest], ["Python", run.python]].filter(([, version]) => version);
  const options = Object.entries(run.options || {}).flatMap(([name, value]) => [" ", el("code", {}, isolated(`${name}=${shortened(String(value), 120)}`))]);
  return factList([
    ["Suites", fewNodes([...new Set(suites.map((/** @type {any} */ row) => row.suite))], (name) => [isolated(shortened(name, 120))])],
    ["Models", askedModels(run, models)],
    ["Started", run.started && moment(run.started)],
    ["Duration", isKnown(run.duration_s) && secondsText(run.duration_s)],
    ["Commit", run.git && isolated(commitText(run.git))],
    ["Cost", isKnown(run.total.cost_usd) && usdText(run.total.cost_usd) + (run.total.priced < run.total.trials ? "+" : "")],
    ["Options", options.length > 0 && el("span", {}, ...options.slice(1))],
    ["Run", run.id && isolated(shortened(run.id, 40))],
    ["Versions", versions.map((each) => each.join(" ")).join(", ")],
  ]);
}

/**
 * The first of many.
 * @template T
 * @param {T[]} all
 * @param {(one: T) => Child[]} nodes
 */
function fewNodes(all, nodes) {
  const few = all.slice(0, 20).flatMap((one, i) => [i ? ", " : "", ...nodes(one)]);
  return all.length > 0 && el("span", {}, ...few, all.length > 20 && ` and ${countText(all.length - 20)} more`);
}

/** @param {any} run @param {any[]} models */
function askedModels(run, models) {
  const identities = new Map((run.models || []).map((/** @type {any} */ each) => [each.model, each.identity]));
  return fewNodes(models, ({ model }) => {
    const identity = identities.get(model) ?? model;
    return [modelName(model), ...(identity === model ? [] : [" (", modelName(identity), ")"])];
  });
}

// ---- gates ----

/** @param {any[]} gates */
export function gatesSection(gates) {
  if (!gates.length) return null;
  const rows = gates.map((gate) => {
    const interval = isKnown(gate.low) && isKnown(gate.high) ? ` (${scoreText(gate.low)} to ${scoreText(gate.high)})` : "";
    // Errors and limits are counts or amounts, with an upper limit.
    const isMost = gate.kind !== "fail_under";
    const plain = (/** @type {unknown} */ value) => (isKnown(value) ? value.toLocaleString("en", { maximumSignificantDigits: 4 }) : UNKNOWN);
    const amount = { cost_usd: usdText, latency_s: secondsText }[/** @type {string} */ (gate.metric)] ?? plain;
    return tableRow(
      isolated(shortened(gate.name || gate.metric || gate.kind, 200)),
      el("td", { class: "result" }, outcomeText(gate.verdict)),
      numberCell(isMost ? amount(gate.value) : scoreText(gate.value) + interval),
      numberCell(isMost ? `at most ${amount(gate.needed)}` : limitText(gate.needed)),
      el("td", { class: "message" }, isolated(gate.message)),
    );
  });
  return section("gates", "Gates", listTable(["Gate", "Result", "Value", "Needed", "Message"], rows, "Gates"));
}

// ---- scores ----

/** Models over all suites, then by suite if there are several. @param {any} document */
export function scoresSection({ models: all, suites, notes, short, scores }) {
  const models = all.filter((/** @type {any} */ row) => row.cases);
  if (!models.length) return null;
  const whole = fold("All figures", false, scoreTables(models, suites, scores, "All figures"));
  const remarks = notes.map((/** @type {string} */ words) => el("p", { class: "note" }, words));
  return section("scores", "Scores", scoreTables(models, suites, short, "Scores"), whole, el("p", { class: "muted" }, noteOn(models)), reliabilityTable(models), ...remarks);
}

/** @param {any[]} models @param {any[]} suites @param {Column[]} columns @param {string} label */
function scoreTables(models, suites, columns, label) {
  const bySuite = [...Map.groupBy(suites, ({ suite, file }) => JSON.stringify([suite, file])).values()];
  const names = bySuite.map(([row]) => row.suite);
  const several = bySuite.length > 1;
  /** @type {[Child, any[]][]} */
  const groups = [[several && "All suites", models]];
  for (const rows of several ? bySuite : []) {
    const [{ suite, file }] = rows;
    const isShared = names.indexOf(suite) !== names.lastIndexOf(suite);
    groups.push([el("span", {}, isolated(shortened(suite, 200)), isShared && el("span", { class: "muted" }, " ", isolated(file))), rows]);
  }
  const heads = columns.map((column) => el("th", { scope: "col", class: "number", title: column.about || null }, headingNode(column)));
  const bodies = groups.map(([name, rows]) => {
    const group = name && el("tr", { class: "group" }, el("th", { scope: "rowgroup", colspan: columns.length + 1 }, el("span", {}, name)));
    return el("tbody", {}, group, ...rows.map((row) => tableRow(modelName(row.model), ...columns.map((column) => columnCell(row, column)))));
  });
  return scrolling(label, el("table", { class: columns.length > DENSE ? "scores dense" : "scores" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Model"), ...heads)), ...bodies));
}

/** pass@k and pass^k for every k, if cases had several trials. @param {any[]} models */
function reliabilityTable(models) {
  const found = models.filter((row) => row.reliability);
  const ks = [...new Set(found.flatMap((row) => Object.keys(row.reliability["pass@k"])))].sort((a, b) => Number(a) - Number(b));
  if (ks.length < 2) return null;
  const rows = found.flatMap(({ model, reliability }) => {
    const line = (/** @type {string} */ name, /** @type {string} */ meaning, /** @type {(value: unknown) => string} */ text) =>
      tableRow(modelName(model), el("td", {}, name, el("span", { class: "muted" }, ` ${meaning}`)), ...ks.map((k) => numberCell(text(reliability[name][k]))));
    const lines = [line("pass@k", "at least one of k trials passes", scoreText), line("pass^k", "all k trials pass", scoreText)];
    return new Set(Object.values(reliability.cases)).size > 1 ? [...lines, line("cases", "with k trials", countText)] : lines;
  });
  return fold("Reliability over trials: pass@k and pass^k", false, table(["Model", "Share of cases", ...ks.map((k) => `k = ${k}`)], rows, "Reliability", "reliability"));
}

/** @param {any[]} models */
function noteOn(models) {
  const hasIntervals = models.some((row) => Object.values(row.metrics).some((mean) => isKnown(mean.low)));
  return [
    "Means exclude errors and skipped cases.",
    hasIntervals && "Small numbers are the 95% interval.",
    `${UNKNOWN} means unknown or not applicable. Tokens are prompt and completion tokens.`,
    "For redundancy and detours, lower is better.",
  ].filter(Boolean).join(" ");
}
