// @ts-check
// The variants of a run: a table, a curve for each series, and the cases that changed.

import { LEFT, RIGHT, WIDTH, figure, horizontalAxis, legend, linear, marker, modelClass, stroke, upward, verticalAxis } from "./chart.js";
import { columnTable } from "./columns.js";
import { el, fold, isolated, link, modelName, modelText, section, shortened, svg } from "./dom.js";
import { countText, plural, scoreText } from "./numbers.js";

/** @import { Identity } from "./cases.js" */
/** @import { Table } from "./columns.js" */
/** @import { Item } from "./comparison.js" */
/** @typedef {(of: Identity) => string} CaseHref */
/**
 * A variant on a model, as `ComparedVariant` in record/variants.py.
 * @typedef {{variant: string, model: string, message: string, cases: number, old: number, new: number, low: number, high: number, difference: number,
 *   is_earlier: boolean, attack: {message: string} | null, apart: string, worse: Item[], better: Item[], left_out: Identity[], added_called: Record<string, number>}} Compared
 * @typedef {{about: string, points: Record<string, Compared[]>}} Series by its numbers
 */

const MOST_CHANGED = 100;

/** @param {{variants: Compared[], variant_table: Table, series: Series[]}} document @param {string[]} models in the order of their colours @param {CaseHref} caseHref */
export function variantsSection({ variants, variant_table: compared, series }, models, caseHref) {
  if (!variants.length) return null;
  const about = "Each variant runs the same cases under another condition. The difference is the mean over all pairs, with its 95% interval.";
  const plots = series.map((each) => seriesPlot(each, models));
  return section(
    "variants",
    "Variants",
    compared.records.length > 0 && columnTable(compared, "Variants"),
    el("p", { class: "muted" }, about),
    ...variants.flatMap((each) => [each.attack?.message, each.apart && `not judged: ${each.apart}`].map((text) => text && remark(each, text))),
    plots.length > 0 && el("div", { class: "plots" }, ...plots),
    ...variants.map((each) => casesFold(each, caseHref)),
  );
}

/** @param {Compared} found @param {string} text */
function remark({ variant, model }, text) {
  return el("p", {}, isolated(variant), " on ", modelName(model), ": ", isolated(text));
}

/** The pass rate over the numbers of a series, with a line per model. @param {Series} series @param {string[]} models */
function seriesPlot({ about, points }, models) {
  const numbers = Object.keys(points).map(Number);
  const [top, bottom] = [26, 196];
  const across = upward(numbers, LEFT, WIDTH - RIGHT);
  const up = linear(0, 1, bottom, top);
  const lines = models.flatMap((model, index) => {
    const found = numbers.flatMap((number) => points[number].filter((each) => each.model === model).map((each) => ({ number, ...each })));
    return found.length ? [{ index, model, found, about: found.map((each) => `${scoreText(each.new)} at ${countText(each.number)}`).join(", ") }] : [];
  });
  const drawn = lines.flatMap(({ index, model, found }) => {
    const place = (/** @type {typeof found[0]} */ each) => [across.at(each.number), up.at(each.new)];
    const path = found.map((each, i) => `${i ? "L" : "M"}${place(each).map((at) => at.toFixed(1)).join(" ")}`).join("");
    const whiskers = found.map((each) => {
      const [x] = place(each);
      return stroke("whisker", x, up.at(each.old + each.low), x, up.at(each.old + each.high));
    });
    const marks = found.map((each) => marker(index, place(each)[0], place(each)[1], `${modelText(model)}, ${each.message}`));
    return [svg("g", { class: modelClass(index) }, svg("path", { class: "line", d: path }), ...whiskers), ...marks];
  });
  return figure(about, [...verticalAxis(up, "share of passed trials"), ...horizontalAxis(across, top, bottom, "N"), ...drawn], {
    height: bottom + 36,
    words: lines.map(({ model, about: words }) => `${modelText(model)}: ${words}`).join("; "),
    header: ["N, model", "Cases", "Unchanged", "Variant", "Difference from", "to"],
    numbers: lines.flatMap(({ model, found }) => found.map((each) => [`${each.number}, ${modelText(model)}`, countText(each.cases), ...[each.old, each.new, each.low, each.high].map(scoreText)])),
    below: [legend(lines), el("p", { class: "muted" }, "Whiskers show the 95% interval of the difference from the unchanged cases.")],
  });
}

/** The cases that a variant changed. @param {Compared} found @param {CaseHref} caseHref */
function casesFold({ variant, model, message, worse, better, left_out: leftOut, added_called: added }, caseHref) {
  const item = (/** @type {Item} */ each) => {
    const name = isolated(shortened(each.of.case, 200));
    const href = caseHref({ ...each.of, variant });
    return el("li", {}, isolated(shortened(each.suite, 120)), " / ", href ? link(href, name) : name, el("span", { class: "number" }, ` ${each.old} → ${each.new}`));
  };
  const called = Object.entries(added);
  const names = leftOut.map((each) => each.case);
  const parts = [
    ...listed(`Worse: ${countText(worse.length)}`, worse, item),
    ...listed(`Better: ${countText(better.length)}`, better, item),
    ...listed("Calls to added tools, which may be right", called, ([tool, cases]) => el("li", {}, el("code", {}, isolated(shortened(tool, 200))), ` in ${plural(cases, "case")}`)),
    ...listed("Left out: the variant does not apply, or was not run", names, (name) => el("li", {}, isolated(shortened(name, 200)))),
  ];
  if (!parts.length) return null;
  return fold(el("span", {}, isolated(variant), " on ", modelName(model), ": ", isolated(message)), false, ...parts);
}

/**
 * @template T
 * @param {string} heading
 * @param {T[]} all
 * @param {(one: T) => HTMLElement} item
 * @returns {HTMLElement[]}
 */
function listed(heading, all, item) {
  const left = all.length > MOST_CHANGED && el("li", {}, `and ${countText(all.length - MOST_CHANGED)} more`);
  return all.length ? [el("p", { class: "muted" }, heading), el("ul", { class: "cases" }, ...all.slice(0, MOST_CHANGED).map(item), left)] : [];
}
