// @ts-check
// A run in figures: its verdict, what was run, the gates, and the means per model and suite.

import { commitText, el, factList, fold, isolated, markOf, metricText, modelName, modelText, moment, numberCell, outcomeText, listTable, scrolling, section, shortened, shown, spoken, svg, table, tableRow, verdictText } from "./dom.js";
import { UNKNOWN, countText, isKnown, plural, scoreText, secondsText, usdText } from "./numbers.js";

/** @import { Child } from "./dom.js" */

/** Outcomes and what a summary calls them. @type {[string, string][]} */
const COUNTED = [["passed", "passed"], ["failed", "failed"], ["error", "errors"], ["skipped", "skipped"]];
const NOTHING_COLLECTED = 5;

// ---- the verdict ----

/**
 * How a run ended that did not come to its end; "" for one that did.
 * @param {{status?: string, exitstatus?: number | null}} run
 */
export function earlyEnd({ status, exitstatus }) {
  if (status === "killed") return "killed before its end";
  if (status === "running") return "not over yet";
  const ends = ["interrupted before its end", "ended by an internal error of pytest", "pytest was not used correctly"];
  return ends[(exitstatus ?? 0) - 2] || "";
}

/** What went wrong, each in a few words; empty when nothing did. @param {any} document */
function problemsOf({ run, gates, baseline }) {
  const { total, exitstatus } = run;
  const failedGates = gates.filter((/** @type {any} */ gate) => gate.failed).length;
  const unsure = gates.filter((/** @type {any} */ gate) => gate.verdict === "inconclusive" && !gate.failed).length;
  const isOpen = total.failed + total.errors > total.tolerated;
  const found = [
    total.cases < run.selected && `only ${countText(total.cases)} of ${plural(run.selected, "case")} ran`,
    total.forbidden && `${plural(total.forbidden, "case")} with a forbidden call`,
    isOpen && total.failed && `${countText(total.failed)} of ${plural(total.cases, "case")} failed`,
    isOpen && total.errors && `${plural(total.errors, "case")} without an answer`,
    failedGates && `${countText(failedGates)} of ${plural(gates.length, "gate")} failed`,
    unsure && `${countText(unsure)} of ${plural(gates.length, "gate")} inconclusive`,
    baseline?.verdict === "inconclusive" ? "comparison with the baseline inconclusive" : baseline?.failed && "worse than the baseline",
    run.collection_errors && `${plural(run.collection_errors, "file")} could not be read`,
    earlyEnd(run) || (exitstatus === NOTHING_COLLECTED && "no test was collected"),
  ].filter(Boolean);
  return found.length || !exitstatus ? found : ["another test of the run failed"];
}

/**
 * What pytest's exit status says or, where there is none, cases and gates. A run that evaluated nothing has
 * not passed, whatever its exit status.
 * @param {any} document
 */
export function verdictOf(document) {
  const { exitstatus, total } = document.run;
  if (exitstatus ?? problemsOf(document).length) return { verdict: "failed", words: "Failed" };
  return total.cases === total.skipped ? { verdict: "empty", words: "Nothing was evaluated" } : { verdict: "passed", words: "Passed" };
}

/** @param {any} document @param {string} heading the element that the verdict stands in */
export function verdictNode(document, heading) {
  const { total } = document.run;
  const { verdict, words } = verdictOf(document);
  const problems = problemsOf(document);
  // What is wrong with a run that passed all the same, such as errors that were allowed.
  if (verdict === "passed") problems.unshift(`${countText(total.passed)} of ${plural(total.cases, "case")} passed`);
  if (total.tolerated) problems.push(`${countText(total.tolerated)} tolerated`);
  if (verdict === "empty") problems.splice(0, Infinity, total.cases ? `${plural(total.cases, "case")} skipped` : "no case was collected");
  return el(
    "section",
    { class: `verdict ${verdict}`, "aria-labelledby": "verdict" },
    el(heading, { id: "verdict", class: "verdict-words" }, markOf(verdict === "empty" ? "skipped" : verdict), ` ${words}`),
    el("p", { class: "problems" }, problems.join(" · ")),
    outcomeBar(total),
    runFacts(document),
  );
}

/** The outcomes' shares, and the same in words below. @param {any} total */
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
  const versions = [["pytest-tooleval", run.pytest_tooleval], ["pytest", run.pytest], ["Python", run.python]].filter(([, version]) => version);
  const options = Object.entries(run.options || {}).flatMap(([name, value]) => [" ", el("code", {}, isolated(`${name}=${shortened(String(value), 120)}`))]);
  return factList([
    ["Suites", fewNodes([...new Set(suites.map((/** @type {any} */ row) => row.suite))], (name) => [isolated(shortened(name, 120))])],
    ["Models", askedModels(run, models)],
    ["Started", run.started && moment(run.started)],
    ["Took", isKnown(run.duration_s) && secondsText(run.duration_s)],
    ["Commit", run.git && isolated(commitText(run.git))],
    ["Answers", answersText(run)],
    ["Cost", costText(run)],
    ["Options", options.length > 0 && el("span", {}, ...options.slice(1))],
    ["Run", run.id && isolated(shortened(run.id, 40))],
    ["Versions", versions.map((each) => each.join(" ")).join(", ")],
  ]);
}

/**
 * Some of many.
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

/** @param {any} run */
function answersText({ answers, total }) {
  /** @type {Record<string, string>} */
  const sources = { replayed: "replayed from the cassette", resumed: "taken over from the last run", shared: "shared with a case that asks the same" };
  return total.cached ? `${countText(total.cached)} of ${countText(total.trials)} ${sources[answers] || "from a cassette"}` : "";
}

/** What the cases cost, and what was paid in this run, also for answers that no case shows. @param {any} run */
function costText({ total, spent }) {
  /** @type {{answers: number, priced: number, usd: number}[]} */
  const each = Object.values(spent);
  if (!isKnown(total.cost_usd) && !each.some(({ priced }) => priced)) return "";
  const partly = each.some(({ priced, answers }) => priced < answers) ? ", as far as prices are known" : "";
  const sum = (/** @type {[string, {usd: number}][]} */ some) => some.reduce((so, [, { usd }]) => so + usd, 0);
  const ofOthers = Object.entries(spent).filter(([payer]) => / \(as (judge|user)\)$/.test(payer));
  const others = ofOthers.some(([, { priced }]) => priced) ? `, ${usdText(sum(ofOthers))} of it for judge and simulated user` : "";
  return `${usdText(total.cost_usd)}; spent in this run ${usdText(sum(Object.entries(spent)))}${others}${partly}`;
}

// ---- gates ----

/** @param {any[]} gates */
export function gatesSection(gates) {
  if (!gates.length) return null;
  const rows = gates.map((gate) => {
    const interval = isKnown(gate.low) && isKnown(gate.high) ? ` (${scoreText(gate.low)} to ${scoreText(gate.high)})` : "";
    // A number of errors or what a trial takes, and no share: it must not be too high.
    const isMost = gate.kind !== "fail_under";
    const plain = (/** @type {unknown} */ value) => (isKnown(value) ? value.toLocaleString("en", { maximumSignificantDigits: 4 }) : UNKNOWN);
    return tableRow(
      isolated(shortened(gate.name || metricText(gate.metric || gate.kind), 200)),
      el("td", { class: "result" }, verdictText(gate.verdict)),
      numberCell(isMost ? plain(gate.value) : scoreText(gate.value) + interval),
      numberCell(isMost ? `at most ${plain(gate.needed)}` : scoreText(gate.needed)),
      el("td", { class: "message" }, isolated(gate.message)),
    );
  });
  return section("gates", "Gates", listTable(["Gate", "Result", "Value", "Needed", "Message"], rows, "Gates"));
}

// ---- scores ----

/** Models over all suites, then suite by suite when there are several. @param {any} document */
export function scoresSection({ run, models: all, suites }) {
  const models = all.filter((/** @type {any} */ row) => row.cases);
  if (!models.length) return null;
  const remarks = models.flatMap(remarksOn).map((/** @type {string} */ words) => el("p", { class: "note" }, words));
  return section("scores", "Scores", scoreTables(models, suites, Object.keys(run.total.metrics)), el("p", { class: "muted" }, noteOn(models)), reliabilityTable(models), ...remarks);
}

/** @param {any[]} models @param {any[]} suites @param {string[]} metrics those of the run */
function scoreTables(models, suites, metrics) {
  /** @type {Map<string, any[]>} */
  const bySuite = new Map();
  for (const row of suites) {
    const name = JSON.stringify([row.suite, row.file]);
    bySuite.set(name, [...(bySuite.get(name) || []), row]);
  }
  const names = Array.from(bySuite.values(), ([row]) => row.suite);
  const several = bySuite.size > 1;
  /** @type {[Child, any[]][]} */
  const groups = several ? [["All suites", models]] : [[null, models]];
  for (const rows of several ? bySuite.values() : []) {
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
  return scrolling("Scores", el("table", { class: "scores" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Model"), ...heads)), ...bodies));
}

/** @typedef {{head: string, title?: string, cell: (row: any) => HTMLElement}} Column */

/** Those that have something to say about some row. @param {any[]} rows @param {string[]} metrics @returns {Column[]} */
function columnsFor(rows, metrics) {
  const counts = ["errors", "tolerated", "skipped"].filter((name) => rows.some((row) => row[name]));
  /** @type {(Column | false)[]} */
  const columns = [
    { head: "Pass rate", title: "the share of the cases that passed", cell: (row) => meanCell(row.pass_rate, true) },
    ...["cases", "passed", "failed", ...counts].map((name) => ({ head: name[0].toUpperCase() + name.slice(1), cell: (/** @type {any} */ row) => countCell(row[name], name) })),
    ...metrics.map((metric) => ({ head: metricText(metric), cell: (/** @type {any} */ row) => meanCell(row.metrics[metric]) })),
    ...(rows.some((row) => row.reliability) ? [reliabilityColumn("pass@k", "some trial of all passes"), reliabilityColumn("pass^k", "every trial passes")] : []),
    rows.some((row) => isKnown(row.tokens?.prompt)) && { head: "Tokens", cell: tokensCell },
    // A plus says that the price of some answers is unknown.
    rows.some((row) => isKnown(row.cost_usd)) && { head: "Cost", cell: (row) => numberCell(usdText(row.cost_usd) + (isKnown(row.cost_usd) && row.priced < row.trials ? "+" : "")) },
    rows.some((row) => isKnown(row.latency_s)) && { head: "Latency", title: "seconds per trial, mean", cell: (row) => numberCell(secondsText(row.latency_s)) },
  ];
  return columns.filter((each) => each !== false);
}

/** @param {number} count @param {string} name */
function countCell(count, name) {
  const tones = /** @type {Record<string, string>} */ ({ failed: "failed", errors: "error", tolerated: "warning" });
  const tone = count && tones[name] ? ` tone-${tones[name]}` : "";
  return el("td", { class: `number${tone}` }, countText(count));
}

/** A mean with its interval. @param {any} found @param {boolean} isHeadline */
export function meanCell(found, isHeadline = false) {
  const { mean, low, high } = found || {};
  const value = el("span", { class: isHeadline ? "headline" : null }, scoreText(mean));
  if (!isKnown(mean) || !isKnown(low) || !isKnown(high)) return numberCell(value);
  const bounds = el("small", {}, low.toFixed(2), spoken(" to "), el("span", { "aria-hidden": "true" }, "–"), high.toFixed(2));
  return numberCell(value, bounds);
}

/** pass@k or pass^k with k being all trials. @param {string} name @param {string} title @returns {Column} */
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
  if (known.length) cell.title = `${countText(prompt)} prompt + ${countText(completion)} completion${reasoning ? `, ${countText(reasoning)} of them reasoning` : ""}`;
  return cell;
}

/** pass@k and pass^k for every k, when cases had several trials. @param {any[]} models */
function reliabilityTable(models) {
  const found = models.filter((row) => row.reliability);
  const ks = [...new Set(found.flatMap((row) => Object.keys(row.reliability["pass@k"])))].sort((a, b) => Number(a) - Number(b));
  if (ks.length < 2) return null;
  const rows = found.flatMap(({ model, reliability }) => {
    const line = (/** @type {string} */ name, /** @type {string} */ meaning, /** @type {(value: unknown) => string} */ text) =>
      tableRow(modelName(model), el("td", {}, name, el("span", { class: "muted" }, ` ${meaning}`)), ...ks.map((k) => numberCell(text(reliability[name][k]))));
    const lines = [line("pass@k", "at least one of k trials passes", scoreText), line("pass^k", "all k trials pass", scoreText)];
    return new Set(Object.values(reliability.cases)).size > 1 ? [...lines, line("cases", "that have k trials", countText)] : lines;
  });
  return fold("Reliability over trials: pass@k and pass^k", false, table(["Model", "Share of cases", ...ks.map((k) => `k = ${k}`)], rows, "Reliability", "reliability"));
}

/** @param {any[]} models */
function noteOn(models) {
  const hasIntervals = models.some((row) => Object.values(row.metrics).some((mean) => isKnown(mean.low)));
  return [
    "Means leave out errors and skipped cases.",
    hasIntervals && "Small: the 95% interval.",
    `${UNKNOWN} is unknown or does not apply; tokens are those of prompts and completions.`,
    "For redundancy and detours less is better.",
  ].filter(Boolean).join(" ");
}

/** What the numbers alone would hide. @param {any} row */
function remarksOn(row) {
  const name = modelText(row.model);
  return [
    row.fallbacks.length && `${name}: ${row.fallbacks.map(fallbackText).join("; ")}`,
    row.recovered && `${name}: ${plural(row.recovered, "answer")} had calls written as text (recovered)`,
  ].filter(Boolean);
}

/** @param {{parameter: string, sent: string | null, cases: number}} fallback */
function fallbackText({ parameter, sent, cases }) {
  const words = sent === null ? `refuses ${parameter}, which was left out` : `refuses ${parameter} as asked for, was sent ${shown(sent)}`;
  return `${words} (${plural(cases, "case")})`;
}
