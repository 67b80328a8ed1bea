// @ts-check
// The summary of a run: verdict, facts, gates, and scores per model and suite.

import { capitalized, commitText, el, factList, fold, isolated, markOf, metricName, modelName, moment, numberCell, outcomeText, listTable, scrolling, section, shortened, spoken, svg, table, tableRow } from "./dom.js";
import { UNKNOWN, countText, isKnown, plural, scoreText, secondsText, usdText } from "./numbers.js";

/** @import { Child } from "./dom.js" */

/** Outcomes and their names in a summary. @type {[string, string][]} */
const COUNTED = [["passed", "passed"], ["failed", "failed"], ["error", "errors"], ["skipped", "skipped"]];
/** Tables with more columns are set tighter. */
const DENSE = 12;

// ---- the verdict ----

/** @param {any} document @param {string} heading the element of the verdict */
export function verdictNode(document, heading) {
  const { outcome, words, details } = document.verdict;
  return el(
    "section",
    { class: `verdict ${outcome}`, "aria-labelledby": "verdict" },
    el(heading, { id: "verdict", class: "verdict-words" }, markOf(outcome), ` ${words}`),
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
    ["Cost", isKnown(run.total.cost_usd) && usdText(run.total.cost_usd)],
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
  const calls = new Map((run.models || []).map((/** @type {any} */ each) => [each.model, each.calls]));
  return fewNodes(models, ({ model }) => {
    const called = calls.get(model) ?? model;
    return [modelName(model), ...(called === model ? [] : [" (", modelName(called), ")"])];
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
    return tableRow(
      isolated(shortened(gate.name || gate.metric || gate.kind, 200)),
      el("td", { class: "result" }, outcomeText(gate.verdict)),
      numberCell(isMost ? plain(gate.value) : scoreText(gate.value) + interval),
      numberCell(isMost ? `at most ${plain(gate.needed)}` : scoreText(gate.needed)),
      el("td", { class: "message" }, isolated(gate.message)),
    );
  });
  return section("gates", "Gates", listTable(["Gate", "Result", "Value", "Needed", "Message"], rows, "Gates"));
}

// ---- scores ----

/** Models over all suites, then by suite if there are several. @param {any} document */
export function scoresSection({ run, models: all, suites, notes }) {
  const models = all.filter((/** @type {any} */ row) => row.cases);
  if (!models.length) return null;
  const remarks = notes.map((/** @type {string} */ words) => el("p", { class: "note" }, words));
  return section("scores", "Scores", scoreTables(models, suites, Object.keys(run.total.metrics)), el("p", { class: "muted" }, noteOn(models)), reliabilityTable(models), ...remarks);
}

/** @param {any[]} models @param {any[]} suites @param {string[]} metrics those of the run */
function scoreTables(models, suites, metrics) {
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
  const columns = columnsFor(groups.flatMap(([, rows]) => rows), metrics);
  const heads = columns.map(({ head, title }) => el("th", { scope: "col", class: "number", title: title ?? null }, head));
  const bodies = groups.map(([name, rows]) => {
    const group = name && el("tr", { class: "group" }, el("th", { scope: "rowgroup", colspan: columns.length + 1 }, el("span", {}, name)));
    return el("tbody", {}, group, ...rows.map((row) => tableRow(modelName(row.model), ...columns.map(({ cell }) => cell(row)))));
  });
  return scrolling("Scores", el("table", { class: columns.length > DENSE ? "scores dense" : "scores" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Model"), ...heads)), ...bodies));
}

/** @typedef {{head: Child, title?: string, cell: (row: any) => HTMLElement}} Column */

/** Columns that have a value in some row. @param {any[]} rows @param {string[]} metrics @returns {Column[]} */
function columnsFor(rows, metrics) {
  const counts = ["errors", "tolerated", "skipped"].filter((name) => rows.some((row) => row[name]));
  /** @type {(Column | false)[]} */
  const columns = [
    { head: "Pass rate", title: "share of cases that passed", cell: (row) => meanCell(row.pass_rate, true) },
    ...["cases", "passed", "failed", ...counts].map((name) => ({ head: capitalized(name), cell: (/** @type {any} */ row) => countCell(row[name], name) })),
    ...metrics.map((metric) => ({ head: metricName(metric), cell: (/** @type {any} */ row) => meanCell(row.metrics[metric]) })),
    ...(rows.some((row) => row.reliability) ? [reliabilityColumn("pass@k", "at least one trial passes"), reliabilityColumn("pass^k", "every trial passes")] : []),
    rows.some((row) => isKnown(row.tokens?.prompt)) && { head: "Tokens", cell: tokensCell },
    // A plus means that the price of some answers is unknown.
    rows.some((row) => isKnown(row.cost_usd)) && { head: "Cost", cell: (row) => numberCell(usdText(row.cost_usd) + (isKnown(row.cost_usd) && row.priced < row.trials ? "+" : "")) },
    rows.some((row) => isKnown(row.latency_s)) && { head: "Latency", title: "mean per trial", cell: (row) => numberCell(secondsText(row.latency_s)) },
  ];
  return columns.filter((each) => each !== false);
}

/** @param {number} count @param {string} name */
function countCell(count, name) {
  const tones = /** @type {Record<string, string>} */ ({ failed: "failed", errors: "error", tolerated: "tolerated" });
  const tone = count && tones[name] ? ` tone-${tones[name]}` : "";
  return el("td", { class: `number${tone}` }, countText(count));
}

/** A mean and its interval. @param {any} found @param {boolean} isHeadline */
export function meanCell(found, isHeadline = false) {
  const { mean, low, high } = found || {};
  const value = el("span", { class: isHeadline ? "headline" : null }, scoreText(mean));
  if (!isKnown(mean) || !isKnown(low) || !isKnown(high)) return numberCell(value);
  const bounds = el("small", {}, low.toFixed(2), spoken(" to "), el("span", { "aria-hidden": "true" }, "–"), high.toFixed(2));
  return numberCell(value, bounds);
}

/** pass@k or pass^k over all trials. @param {string} name @param {string} title @returns {Column} */
function reliabilityColumn(name, title) {
  return {
    head: name,
    title,
    cell: ({ reliability }) => {
      const k = reliability?.trials;
      const value = reliability?.[name][k];
      return isKnown(value) ? numberCell(scoreText(value), el("small", {}, `k = ${k}`)) : numberCell(UNKNOWN);
    },
  };
}

/** @param {any} row */
function tokensCell({ tokens: { prompt, completion, reasoning } }) {
  const known = [prompt, completion].filter(isKnown);
  const cell = numberCell(known.length ? countText(known.reduce((sum, each) => sum + each)) : UNKNOWN);
  if (known.length) cell.title = `${countText(prompt)} prompt + ${countText(completion)} completion${reasoning ? `, including ${countText(reasoning)} reasoning` : ""}`;
  return cell;
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
