// @ts-check
// The cases of a run: which are shown, in which order, and as a query in the address.

import { OUTCOMES, isTolerated, shortened, toneOf } from "./dom.js";
import { isKnown, misses } from "./numbers.js";

/** @import { Trial } from "./trial.js" */
/**
 * A case on a model, as the result document has it.
 * @typedef {{nodeid: string, suite: string, file: string, line: number, case: string, model: string, variant: string, against: string,
 *   outcome: string, counted: boolean, tolerated: boolean, scores: Record<string, number | null>, thresholds: Record<string, number>, reason: string,
 *   weight: number, tags: string[], tool_choice: string, pass_rule: string, passes: number, answered: number,
 *   trials: Trial[], prompt_text: string, called: string[]}} Row
 * @typedef {{suite: string, case: string, file: string, model: string, variant: string}} Identity as in record/identity.py
 * @typedef {{key: string, suite: number, first: Row, rows: (Row | undefined)[], text?: string}} Case a row per model
 * @typedef {{label: string, key: string}} Named
 * @typedef {{expected: string | null, called: string | null, hallucinated: boolean, not_found: boolean}} Choice the expected and
 *   the called tool; null for none
 * @typedef {{models: Named[], suites: Named[], variants: string[], cases: Case[]}} Index `key` is its name in an address
 * @typedef {{query: string, outcomes: string[], variant: string, model: string, suite: string, tag: string, tool: string, failure: string,
 *   choice: string, sort: string, open: string, on: string, trial: number}} State
 */

/** In place of a variant: the unchanged cases and those under all variants. */
export const ALL_VARIANTS = "@all";

/** The outcomes to filter by; a tolerated case has failed, too. */
export const CHOSEN_BY = [...OUTCOMES, "tolerated"];

/** @param {Row} row @param {string} outcome one of CHOSEN_BY */
export function hasOutcome(row, outcome) {
  return outcome === "tolerated" ? isTolerated(row) : row.outcome === outcome;
}

/**
 * Rows by case, in order; a case under a variant is one of its own. A case that a model has twice becomes two.
 * @param {Row[]} rows
 * @param {string[]} first models, in the order of their columns
 * @returns {Index}
 */
export function indexOf(rows, first = []) {
  const models = [...new Set([...first, ...rows.map((row) => row.model)])];
  const places = new Map(models.map((model, i) => [model, i]));
  /** @type {Map<string, {row: Row, place: number}>} */
  const suites = new Map();
  /** @type {Map<string, Case>} */
  const cases = new Map();
  for (const row of rows) {
    const own = JSON.stringify([row.file, row.suite]);
    const suite = suites.get(own) || { row, place: suites.size };
    suites.set(own, suite);
    const model = places.get(row.model) ?? 0;
    let name = own + caseName(row);
    while (cases.get(name)?.rows[model]) name += "\n";
    const found = cases.get(name) || { key: "", suite: suite.place, first: row, rows: new Array(models.length).fill(undefined) };
    found.rows[model] = row;
    cases.set(name, found);
  }
  const names = Array.from(suites.values(), ({ row }) => row.suite);
  const labels = Array.from(suites.values(), ({ row }, i) => (names.indexOf(row.suite) === names.lastIndexOf(row.suite) ? names[i] : `${row.suite} (${row.file})`));
  const found = [...cases.values()];
  const keys = keysOf(found.map(({ first }) => caseKey(first)));
  found.forEach((each, i) => (each.key = keys[i]));
  const variants = [...new Set(rows.map((row) => row.variant).filter(Boolean))];
  return { models: named(models), suites: named(labels), variants, cases: found };
}

/** The id of a case with its variant. @param {{case: string, variant: string}} row */
function caseName(row) {
  return row.variant ? `${row.case}[${row.variant}]` : row.case;
}

/** The name of a case in an address. @param {Identity} of */
export function caseKey(of) {
  return `${of.file || of.suite}::${caseName(of)}`;
}

/** The case, on any model. @param {Index} index @param {Identity} of */
export function findCase(index, of) {
  return index.cases.find(({ first }) => isCase(first, of));
}

/** @param {Row[]} rows @param {Identity} of */
export function findRow(rows, of) {
  return rows.find((row) => isCase(row, of) && row.model === of.model);
}

/** @param {Row} row @param {Identity} of */
function isCase(row, of) {
  return row.case === of.case && row.suite === of.suite && row.file === of.file && row.variant === of.variant;
}

/** The same case under another variant, or unchanged. @param {Index} index @param {Row} row @param {string} variant */
export function caseUnder(index, row, variant) {
  return findCase(index, { ...row, variant });
}

/** The cases of the chosen variant. @param {Index} index @param {State} state */
export function underVariant({ cases }, { variant }) {
  return variant === ALL_VARIANTS ? cases : cases.filter(({ first }) => first.variant === variant);
}

/** @param {string[]} labels @returns {Named[]} */
function named(labels) {
  const keys = keysOf(labels);
  return labels.map((label, i) => ({ label, key: keys[i] }));
}

/**
 * A name for each entry in an address: the text, or its position if the text is unsuitable.
 * @param {string[]} texts
 */
function keysOf(texts) {
  /** @type {Set<string>} */
  const taken = new Set();
  return texts.map((text, i) => {
    const key = text && text.length <= 200 && text.isWellFormed() && !taken.has(text) ? text : `@${i + 1}`;
    taken.add(key);
    return key;
  });
}

/** What failed a case whose overall score does not show it. @param {Row} row */
export function belowOf(row) {
  if (causesOf(row).includes("forbidden_call")) return "forbidden call";
  const low = Object.keys(row.thresholds).filter((metric) => misses(metric, row.scores[metric], row.thresholds[metric]));
  return low.includes("overall") ? "" : low[0] || "";
}

/** Why trials failed, each cause once. @param {Row} row */
export function causesOf(row) {
  return [...new Set(row.trials.map(causeOf).filter(Boolean))];
}

/** @param {Trial} trial */
export function causeOf(trial) {
  return trial.error ? `error: ${trial.error.kind}` : trial.failure || "";
}

/** @param {Choice} choice */
export function isRight({ expected, called, hallucinated, not_found }) {
  return !hallucinated && !not_found && expected === called;
}

/** Its name in lists and addresses; all hallucinated names are the same. @param {Choice} choice */
export function choiceText({ expected, called, hallucinated, not_found }) {
  const name = (/** @type {string | null} */ tool) => (tool === null ? "(none)" : shortened(tool, 200).toWellFormed());
  return `${name(expected)} → ${not_found ? "(not found)" : hallucinated ? "(hallucinated)" : name(called)}`;
}

/** The tools that were expected or called. @param {Row} row */
export function toolsOf(row) {
  const names = [...row.called, ...choicesOf(row).map(({ expected }) => expected)].filter((name) => name !== null);
  return [...new Set(names.map((name) => shortened(name, 200).toWellFormed()))];
}

/** @param {Row} row */
export function choicesOf(row) {
  return row.trials.flatMap((trial) => trial.call_pairs);
}

// ---- state in the address, which can be shared ----

/** The names of the fields in an address, in its order. @type {Record<keyof State, string>} */
const NAMES = { query: "q", outcomes: "outcome", variant: "variant", model: "model", suite: "suite", tag: "tag", tool: "tool", failure: "failure", choice: "choice", sort: "sort", open: "case", on: "on", trial: "trial" };

/** @returns {State} */
export function startState() {
  return { query: "", outcomes: [], variant: "", model: "", suite: "", tag: "", tool: "", failure: "", choice: "", sort: "failed", open: "", on: "", trial: 0 };
}

/** @param {string} query @returns {State} */
export function readState(query) {
  const given = new URLSearchParams(query);
  const texts = Object.entries(NAMES).flatMap(([field, name]) => (given.get(name) ? [[field, given.get(name)]] : []));
  const found = { ...startState(), ...Object.fromEntries(texts) };
  const outcomes = String(found.outcomes).split(",").filter((each) => CHOSEN_BY.includes(each));
  return { ...found, outcomes, trial: Math.max(0, Number.parseInt(found.trial, 10) || 0) };
}

/** @param {State} state */
export function writeState(state) {
  const start = startState();
  const fields = /** @type {(keyof State)[]} */ (Object.keys(NAMES)).filter((field) => state.open || (field !== "on" && field !== "trial"));
  const pairs = fields.map((field) => [NAMES[field], String(state[field]), String(start[field])]);
  return new URLSearchParams(pairs.flatMap(([name, value, unset]) => (value && value !== unset ? [[name, value]] : []))).toString();
}

// ---- filtering and sorting ----

const FAILED_FIRST = ["failed", "error", "tolerated", "passed", "skipped"];

/** The searchable text of a case, in lower case. @param {Case} each */
function textOf(each) {
  const { first, rows } = each;
  const parts = [first.case, first.suite, first.file, first.prompt_text, ...first.tags];
  for (const row of rows) if (row) parts.push(row.reason, ...row.called);
  return (each.text = parts.join("\n").toLowerCase());
}

/**
 * The cases to show, filtered and sorted.
 * @param {Index} index
 * @param {State} state
 */
export function chosenCases(index, state) {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const model = index.models.findIndex(({ key }) => key === state.model);
  const suite = index.suites.findIndex(({ key }) => key === state.suite);
  const found = underVariant(index, state).filter(
    (each) =>
      (suite < 0 || each.suite === suite) &&
      (!state.tag || each.first.tags.some((tag) => tag.toWellFormed() === state.tag)) &&
      rowsShown(each, model).some((row) => rowMatches(row, state)) &&
      (!words.length || words.every((word) => (each.text ?? textOf(each)).includes(word))),
  );
  return ordered(found, index, state.sort, model);
}

/** @param {Case} each @param {number} model index of the chosen one, or -1 */
function rowsShown(each, model) {
  return model < 0 ? each.rows : [each.rows[model]];
}

/** Whether one row matches all filters. @param {Row | undefined} row @param {State} state */
function rowMatches(row, { outcomes, tool, failure, choice }) {
  return (
    row &&
    (!outcomes.length || outcomes.some((each) => hasOutcome(row, each))) &&
    (!tool || toolsOf(row).includes(tool)) &&
    (!failure || causesOf(row).includes(failure)) &&
    (!choice || choicesOf(row).some((each) => choiceText(each) === choice))
  );
}

/**
 * @param {Case[]} cases
 * @param {Index} index
 * @param {string} sort failed, suite, name, worst, differ, or model: and a model's key; a minus reverses it
 * @param {number} model
 */
function ordered(cases, index, sort, model) {
  const back = sort.startsWith("-");
  const by = back ? sort.slice(1) : sort;
  const column = by.startsWith("model:") ? index.models.findIndex(({ key }) => key === by.slice(6)) : -1;
  /** @type {((each: Case) => number) | null} */
  const measure =
    by === "failed"
      ? (each) => Math.min(...rowsShown(each, model).map((row) => (row ? FAILED_FIRST.indexOf(toneOf(row)) : 9)))
      : by === "worst" ? (each) => Math.min(...rowsShown(each, model).map(rank)) : by === "differ" ? (each) => -disagreement(each) : column >= 0 ? (each) => rank(each.rows[column]) : null;
  if (by === "name") {
    const collator = new Intl.Collator("en", { numeric: true });
    cases.sort((a, b) => collator.compare(a.first.case, b.first.case));
  } else if (measure) {
    const values = new Map(cases.map((each) => [each, measure(each)]));
    cases.sort((a, b) => (values.get(a) ?? 0) - (values.get(b) ?? 0));
  }
  return back ? cases.reverse() : cases;
}

/** For sorting: errors first, then by score; no score comes last. @param {Row | undefined} row */
function rank(row) {
  if (!row || row.outcome === "skipped") return 3;
  if (row.outcome === "error") return -1;
  const { overall } = row.scores;
  return isKnown(overall) ? overall + shareOf(row) / 1000 : 2;
}

/** @param {Row} row */
function shareOf(row) {
  return row.answered ? row.passes / row.answered : 0;
}

/** How far apart the models are on a case: 0 when they agree. @param {Case} each */
function disagreement(each) {
  const found = each.rows.filter((row) => row !== undefined).filter((row) => row.answered > 0);
  if (found.length < 2) return -1;
  const spread = (/** @type {number[]} */ values) => Math.max(...values) - Math.min(...values);
  return spread(found.map(shareOf)) + spread(found.map((row) => row.scores.overall || 0)) / 10;
}
