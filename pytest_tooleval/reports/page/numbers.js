// @ts-check
// Numbers and times as text. Unknown values are a dash, never 0.

export const UNKNOWN = "–";

/**
 * Whether it is a number of a plausible size for a count, time or price.
 * @param {unknown} value
 * @returns {value is number}
 */
export function isKnown(value) {
  return typeof value === "number" && Math.abs(value) < 1e15;
}

// Lower is better: a threshold is the most that passes. As in metrics.py, which a test compares.
export const PENALTIES = ["redundancy_penalty", "detour_penalty", "attack_success"];

/** Whether a score is below its threshold; of a penalty, above. @param {string} metric @param {unknown} value @param {number | undefined} threshold */
export function misses(metric, value, threshold) {
  if (!isKnown(value) || !isKnown(threshold)) return false;
  return PENALTIES.includes(metric) ? value > threshold + 1e-9 : value < threshold - 1e-9;
}

/** What a threshold needs, in the column of that name. @param {string} metric @param {unknown} threshold */
export function needsText(metric, threshold) {
  if (!isKnown(threshold)) return "";
  return PENALTIES.includes(metric) ? `at most ${limitText(threshold)}` : limitText(threshold);
}

/** The thresholds and gates of the run on the page. @type {number[]} */
let limits = [];

/** Scores are rounded so that none seems to be on the other side of one of these. @param {number[]} found */
export function roundFor(found) {
  limits = found;
}

/** @param {number} value @param {number} bound */
function side(value, bound) {
  if (Math.abs(value - bound) <= 1e-9) return 0;
  return value > bound ? 1 : -1;
}

/** The value with as many decimals, or with more if it would move to another side of a bound. @param {number} value @param {number} digits @param {number[]} bounds */
function apart(value, digits, bounds) {
  for (let more = digits; more < 9; more++) {
    const text = value.toFixed(more);
    if (bounds.every((bound) => side(Number(text), bound) === side(value, bound))) return text;
  }
  return value.toFixed(9);
}

// As in figures.py, which a test compares.

/** Two decimals, or more where two would be wrong: only 1 is 1.00, and only 0 is 0.00. @param {unknown} value */
export function scoreText(value) {
  return isKnown(value) ? apart(value, 2, [0, 1, ...limits]) : UNKNOWN;
}

/** A threshold as it was given, with at least two decimals. @param {unknown} value */
export function limitText(value) {
  if (!isKnown(value)) return UNKNOWN;
  const [whole, decimals = ""] = value.toString().split(".");
  return `${whole}.${decimals.padEnd(2, "0")}`;
}

/** @param {unknown} value */
export function pText(value) {
  if (!isKnown(value)) return UNKNOWN;
  return value < 0.001 ? "<0.001" : value.toFixed(3);
}

/** A difference of shares in points, with its interval. @param {number} share @param {number | null} low @param {number | null} high */
export function pointsText(share, low, high) {
  const [value, begin, end] = [share, low ?? 0, high ?? 0].map((each) => apart(100 * each, 1, [0]).replace(/\.0$/, ""));
  return `${share > 0 ? "+" : ""}${value} points${low === null || high === null ? "" : ` (${begin} to ${end})`}`;
}

/** @param {unknown} value */
export function secondsText(value) {
  if (!isKnown(value)) return UNKNOWN;
  const milliseconds = (value * 1000).toFixed(0);
  if (Number(milliseconds) < 1000) return `${milliseconds} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return `${countText(Math.floor(value / 60))} min ${Math.floor(value % 60)} s`;
}

/** @param {unknown} value */
export function usdText(value) {
  if (!isKnown(value)) return "unknown";
  if (value === 0) return "$0";
  const digits = value >= 1 ? 2 : value >= 0.001 ? 4 : Math.min(1 - Math.floor(Math.log10(value)), 20);
  return `$${value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** @param {unknown} value */
export function countText(value) {
  return isKnown(value) ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : UNKNOWN;
}

/** @param {unknown} prompt @param {unknown} completion @param {unknown} reasoning a part of the completion */
export function tokensText(prompt, completion, reasoning) {
  if (!isKnown(prompt) && !isKnown(completion)) return UNKNOWN;
  return `${countText(prompt)} + ${countText(completion)}${reasoning ? ` (${countText(reasoning)} reasoning)` : ""}`;
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function plural(count, one, many = `${one}s`) {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/**
 * A time in the reader's time zone.
 * @param {unknown} iso
 * @param {Intl.DateTimeFormatOptions} [style]
 */
export function momentText(iso, style = { dateStyle: "medium", timeStyle: "medium" }) {
  const date = new Date(String(iso));
  return Number.isNaN(date.getTime()) ? UNKNOWN : new Intl.DateTimeFormat("en-GB", style).format(date);
}
