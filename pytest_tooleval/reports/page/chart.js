// @ts-check
// What all plots share: scales, axes, markers, and the frame with its description and numbers.

import { el, fold, isolated, modelName, shown, svg, table, tableRow, numberCell } from "./dom.js";

/** @import { Child } from "./dom.js" */
/** @typedef {{at: (value: number) => number, ticks: number[], start: number, end: number}} Scale */

export const WIDTH = 440;
export const LEFT = 44;
export const RIGHT = 20;
export const EDGE = 8;
const COLOURS = 8;
const RADIUS = 4.5;
/** The corners of each shape; a circle has none. @type {[number, number][][]} */
const SHAPES = [
  [],
  [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  [[0, -1.2], [1.2, 1], [-1.2, 1]],
  [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]],
  [[0, 1.2], [1.2, -1], [-1.2, -1]],
];

/**
 * Maps `low` to `high` onto pixels `start` to `end`.
 * @param {number} low
 * @param {number} high
 * @param {number} start
 * @param {number} end
 * @returns {Scale}
 */
export function linear(low, high, start, end) {
  const at = (/** @type {number} */ value) => start + Math.min(Math.max((value - low) / (high - low), 0), 1) * (end - start);
  return { at, start, end, ticks: ticksFor(low, high).filter((tick) => tick >= low && tick <= high * 1.0001) };
}

/** From 0 to a round number above all values. @param {number[]} values @param {number} start @param {number} end */
export function upward(values, start, end) {
  const most = Math.max(0, ...values);
  return linear(0, most > 1e-12 ? /** @type {number} */ (ticksFor(0, most).at(-1)) : 1, start, end);
}

/** Some round numbers (1, 2 or 5 times a power of ten) from `low` to just past `high`. @param {number} low @param {number} high */
export function ticksFor(low, high) {
  const least = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((factor) => power * factor >= least) ?? 10);
  const first = Math.floor(low / step);
  const count = Math.ceil(high / step - 1e-9) - first + 1;
  // Else 3 times 0.1 would be 0.30000000000000004.
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** @param {number} value */
function tickText(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 1000 ? 21 : 4 });
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {"start" | "middle" | "end"} side
 * @param {string | null} className
 */
export function caption(x, y, words, side = "start", className = null) {
  return svg("text", { x, y, "text-anchor": side === "start" ? null : side, class: className }, shown(words));
}

/**
 * @param {string} className
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
export function stroke(className, x1, y1, x2, y2) {
  return svg("line", { class: className, x1, x2, y1, y2 });
}

/** Grid lines with numbers below, and the label of the axis. @param {Scale} scale @param {number} top @param {number} bottom @param {string} label */
export function horizontalAxis(scale, top, bottom, label) {
  const lines = scale.ticks.flatMap((tick) => {
    const x = scale.at(tick);
    return [stroke("grid", x, top, x, bottom), caption(x, bottom + 14, tickText(tick), "middle", "tick")];
  });
  return [...lines, caption((scale.start + scale.end) / 2, bottom + 30, label, "middle", "axis")];
}

/** @param {Scale} scale @param {string} label @param {number} right */
export function verticalAxis(scale, label, right = WIDTH - RIGHT) {
  const lines = scale.ticks.flatMap((tick) => [stroke("grid", LEFT, scale.at(tick), right, scale.at(tick)), caption(LEFT - 6, scale.at(tick) + 4, tickText(tick), "end", "tick")]);
  return [...lines, caption(2, Math.min(scale.start, scale.end) - 10, label, "start", "axis")];
}

/** @param {number} model */
export function modelClass(model) {
  return `model-${model % COLOURS}`;
}

/** A model's marker has a colour and a shape, so that either is enough. @param {number} model @param {number} x @param {number} y @param {string} words */
export function marker(model, x, y, words = "", radius = RADIUS) {
  const corners = SHAPES[model % SHAPES.length].map(([dx, dy]) => `${(x + dx * radius).toFixed(1)},${(y + dy * radius).toFixed(1)}`);
  const note = words && svg("title", {}, words);
  const attributes = { class: `mark ${modelClass(model)}` };
  return corners.length ? svg("polygon", { ...attributes, points: corners.join(" ") }, note) : svg("circle", { ...attributes, cx: x, cy: y, r: radius }, note);
}

/** @param {{index: number, model: string, about?: string}[]} models */
export function legend(models) {
  const items = models.map(({ index, model, about }) => el("li", {}, svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, marker(index, 7, 7)), " ", modelName(model), about && `: ${about}`));
  return el("ul", { class: "legend" }, ...items);
}

/**
 * A plot with its title, text alternative, notes and numbers.
 * @param {string} heading
 * @param {Node[]} shapes
 * @param {{height: number, words: string, header: string[], numbers: string[][], below?: Child[], width?: number, level?: string}} rest
 *   the first of each row of `numbers` is its name
 */
export function figure(heading, shapes, { height, words, header, numbers, below = [], width = WIDTH, level = "h3" }) {
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${shown(heading)}. ${shown(words)}` }, ...shapes);
  const rows = numbers.map(([name, ...rest]) => tableRow(isolated(name), ...rest.map((each) => numberCell(each))));
  return el("figure", { class: "plot" }, el("figcaption", {}, el(level, {}, isolated(heading))), drawing, ...below, fold("Numbers", false, table(header.map(shown), rows, heading)));
}
