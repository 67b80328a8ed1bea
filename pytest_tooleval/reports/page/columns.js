// @ts-check
// Columns of figures, which `reports/columns.py` describes: values, and cells of tables.

import { capitalized, el, isolated, listTable, metricName, numberCell, outcomeText, shortened, spoken, tableRow } from "./dom.js";
import { UNKNOWN, countText, isKnown, pText, pointsText, scoreText, secondsText, tokensText, usdText } from "./numbers.js";

/** @import { Child } from "./dom.js" */
/** @typedef {{path: string[], heading: string, format: string, about: string, tone: string, is_rare: boolean}} Column */
/** @typedef {{columns: Column[], records: any[]}} Table */

/** Formats that are texts and no numbers. */
const TEXTS = ["name", "verdict"];
/** The signs and colours of verdicts on variants. @type {Record<string, string>} */
const TONES = { worse: "failed", better: "passed", "not judged": "skipped" };
/** @type {Record<string, (value: any, record: any) => Child[]>} */
const FORMATS = {
  name: (value) => [isolated(shortened(value, 120))],
  verdict: (value) => [outcomeText(TONES[value] ?? value, value)],
  rate: (value) => meanNodes(value, "headline"),
  mean: (value) => meanNodes(value),
  interval: (value) => meanNodes(value),
  score: (value) => [scoreText(value)],
  p: (value) => [pText(value)],
  points: (value, { low, high }) => [isKnown(value) ? pointsText(value, low, high) : UNKNOWN],
  length: (value) => [countText(value.length)],
  count: (value) => [countText(value)],
  scored: (value, { failed }) => [`${value}/${value + failed}`],
  seconds: (value) => [secondsText(value)],
  tokens: (value) => [tokensSum(value)],
  parts: (_, record) => [tokensText(record.prompt_tokens, record.completion_tokens, record.reasoning_tokens)],
  // A plus means that it is at least this: a price is not known, or not all of it.
  usd: (value, { priced, trials, cost_usd, is_cost_partial }) => [trials === 0 && !isKnown(value) ? UNKNOWN : usdText(value) + (isKnown(value) && (priced < trials || (is_cost_partial && value === cost_usd)) ? "+" : "")],
};

/** @param {any} record @param {Column} column */
export function valueIn(record, { path }) {
  return path.reduce((found, step) => found?.[step], record);
}

/** A value as text, with its interval. @param {any} record @param {Column} column */
export function valueNodes(record, column) {
  return FORMATS[column.format](valueIn(record, column), record);
}

/** @param {any} record @param {Column} column */
export function columnCell(record, column) {
  const made = numberCell(...valueNodes(record, column));
  if (column.tone && valueIn(record, column)) made.classList.add(`tone-${column.tone}`);
  return made;
}

/** The name of a column, which may be that of a metric. @param {Column} column */
export function headingNode({ path, heading }) {
  return path.length > 1 ? metricName(heading) : capitalized(heading);
}

/** A mean and its interval. @param {any} found @param {string | null} className */
function meanNodes(found, className = null) {
  const { mean, low, high } = found || {};
  const value = el("span", { class: className }, scoreText(mean));
  if (!isKnown(mean) || !isKnown(low) || !isKnown(high)) return [value];
  return [value, el("small", {}, scoreText(low), spoken(" to "), el("span", { "aria-hidden": "true" }, "–"), scoreText(high))];
}

/** Records by their columns; the first one names the record. @param {Table} table @param {string} label */
export function columnTable({ columns, records }, label) {
  const rows = records.map((record) => {
    const [name, ...cells] = columns.map((column) => (TEXTS.includes(column.format) ? el("td", {}, ...valueNodes(record, column)) : columnCell(record, column)));
    return tableRow(el("span", {}, ...name.childNodes), ...cells);
  });
  return listTable(columns.map(({ heading, path }) => capitalized(heading || path[0])), rows, label);
}

/** @param {any} tokens */
function tokensSum({ prompt, completion, reasoning }) {
  const known = [prompt, completion].filter(isKnown);
  if (!known.length) return UNKNOWN;
  const title = `${countText(prompt)} prompt + ${countText(completion)} completion${reasoning ? `, including ${countText(reasoning)} reasoning` : ""}`;
  return el("span", { title }, countText(known.reduce((sum, each) => sum + each)));
}
