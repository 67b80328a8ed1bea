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

/** @param {unknown} value @param {number | undefined} needed */
export function isBelow(value, needed) {
  return isKnown(value) && isKnown(needed) && value < needed - 1e-9;
}

/**
 * Two decimals. A score that would round up to 1 is shown as <1.00, as it may have failed for that.
 * @param {unknown} value
 */
export function scoreText(value) {
  if (!isKnown(value)) return UNKNOWN;
  return value >= 0.995 && value < 1 ? "<1.00" : value.toFixed(2);
}

/** @param {unknown} value */
export function pText(value) {
  if (!isKnown(value)) return UNKNOWN;
  return value < 0.001 ? "<0.001" : value.toFixed(3);
}

/** A difference of shares in points, with its interval. @param {number} share @param {number | null} low @param {number | null} high */
export function pointsText(share, low, high) {
  const [value, begin, end] = [share, low ?? 0, high ?? 0].map((each) => String(Number((100 * each).toFixed(1)) + 0));
  return `${share > 0 ? "+" : ""}${value} points${low === null || high === null ? "" : ` (${begin} to ${end})`}`;
}

/** @param {unknown} value */
export function secondsText(value) {
  if (!isKnown(value)) return UNKNOWN;
  if (value < 1) return `${(value * 1000).toFixed(0)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return `${countText(Math.floor(value / 60))} min ${Math.floor(value % 60)} s`;
}

/** @param {unknown} value */
export function usdText(value) {
  if (!isKnown(value)) return UNKNOWN;
  if (value > 0 && value < 0.001) return `$${value.toPrecision(2)}`;
  return `$${value.toLocaleString("en", { minimumFractionDigits: 4, maximumFractionDigits: 4 })}`;
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
