// @ts-check
// Columns of figures, which `reports/columns.py` describes: values, and cells of tables.

import { capitalized, el, metricName, numberCell, spoken } from "./dom.js";
import { UNKNOWN, countText, isKnown, scoreText, secondsText, tokensText, usdText } from "./numbers.js";

/** @import { Child } from "./dom.js" */
/** @typedef {{path: string[], heading: string, format: string, about: string, tone: string, seldom: boolean}} Column */

/** @type {Record<string, (value: any, record: any) => Child[]>} */
const FORMATS = {
  rate: (value) => meanNodes(value, "headline"),
  mean: (value) => meanNodes(value),
  score: (value) => [scoreText(value)],
  count: (value) => [countText(value)],
  seconds: (value) => [secondsText(value)],
  tokens: (value) => [tokensSum(value)],
  parts: (_, record) => [tokensText(record.prompt_tokens, record.completion_tokens, record.reasoning_tokens)],
  // A plus means that the price of some answers is unknown.
  usd: (value, { priced, trials }) => [usdText(value) + (isKnown(value) && priced < trials ? "+" : "")],
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
  return [value, el("small", {}, low.toFixed(2), spoken(" to "), el("span", { "aria-hidden": "true" }, "–"), high.toFixed(2))];
}

/** @param {any} found */
export function meanCell(found) {
  return numberCell(...meanNodes(found));
}

/** @param {any} tokens */
function tokensSum({ prompt, completion, reasoning }) {
  const known = [prompt, completion].filter(isKnown);
  if (!known.length) return UNKNOWN;
  const title = `${countText(prompt)} prompt + ${countText(completion)} completion${reasoning ? `, including ${countText(reasoning)} reasoning` : ""}`;
  return el("span", { title }, countText(known.reduce((sum, each) => sum + each)));
}
