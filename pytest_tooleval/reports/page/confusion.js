// @ts-check
// Which tools were called instead of the expected ones, and how well each is found.

import { choiceText, isRight } from "./cases.js";
import { meanCell } from "./columns.js";
import { el, fold, isolated, link, listTable, modelName, modelText, numberCell, scrolling, section, shortened, shown, tableRow } from "./dom.js";
import { countText, plural } from "./numbers.js";

/** @import { Choice } from "./cases.js" */
/**
 * @typedef {Choice & {count: number}} Cell
 * @typedef {{tool: string, expected: number, called: number, right: number, precision: any, recall: any, f1: any}} Figures
 * @typedef {{model: string, tools: Figures[], cells: Cell[]}} Confusion
 * @typedef {{href: (model: string, choice: string) => string, open: (model: string, choice: string) => void}} Opening
 *   shows the cases of a cell
 */

const MOST_TOOLS = 30;
const FEW_TOOLS = 12;
const NO_TOOL = "none";
/** The column for all hallucinated names. */
const MADE_UP = { expected: null, called: "", hallucinated: true };

/** @param {Confusion[]} confusions @param {Opening} opening */
export function confusionSection(confusions, opening) {
  if (!confusions.length) return null;
  const several = confusions.length > 1;
  const parts = confusions.flatMap((found) => [several && el("h3", {}, modelName(found.model)), ...confusionNodes(found, opening)]);
  return section("tools", "Tools", ...parts);
}

/** @param {Confusion} found @param {Opening} opening */
function confusionNodes(found, opening) {
  const { tools, cells } = found;
  const wrong = cells.filter((cell) => !isRight(cell));
  const total = countOf(cells);
  const names = tools.length > MOST_TOOLS ? confusedMost(wrong) : tools.map(({ tool }) => tool);
  const involved = new Set(wrong.flatMap(toolsIn));
  const hidden = names.filter((name) => involved.has(name)).length < involved.size;
  const others = tools.length - new Set([...names, ...involved]).size;
  const about = [
    `${countText(total - countOf(wrong))} of ${plural(total, "choice")} right.`,
    wrong.length > 0 && "Rows are expected tools, columns are called tools. Click a number to see its cases.",
    wrong.length > 0 && others > 0 && `${plural(others, "other tool")} ${others === 1 ? "was" : "were"} always right.`,
    hidden && "Only the most confused tools are shown; the JSON report has all.",
  ];
  const rows = [...tools].sort((a, b) => a.f1.mean - b.f1.mean || b.expected - a.expected).map(figuresRow);
  const figures = listTable(["Tool", "Expected", "Called", "Right", "Precision", "Recall", "F1"], rows, `Precision, recall and F1, ${modelText(found.model)}`);
  return [
    el("p", {}, about.filter(Boolean).join(" ")),
    wrong.length > 0 && confusionTable(found, names, opening),
    fold(`Precision, recall and F1 of ${plural(tools.length, "tool")}`, tools.length <= FEW_TOOLS, figures),
  ];
}

/** @param {Cell[]} cells */
function countOf(cells) {
  return cells.reduce((total, { count }) => total + count, 0);
}

/** The tools of the largest wrong cells, sorted by name. @param {Cell[]} wrong the largest first */
function confusedMost(wrong) {
  return [...new Set(wrong.flatMap(toolsIn))].slice(0, MOST_TOOLS).sort();
}

/** @param {Cell} cell */
function toolsIn({ expected, called, hallucinated }) {
  return [expected, hallucinated ? null : called].filter((name) => name !== null);
}

/** @param {Confusion} found @param {string[]} names @param {Opening} opening */
function confusionTable({ model, cells }, names, opening) {
  const counts = new Map(cells.map((cell) => [choiceText(cell), cell.count]));
  /** @type {Choice[]} */
  const called = [...names.map((name) => ({ expected: null, called: name, hallucinated: false })), { expected: null, called: null, hallucinated: false }, MADE_UP];
  const place = (/** @type {string | null} */ row, /** @type {Choice} */ column) => ({ ...column, expected: row });
  const isCell = (/** @type {string | null} */ row, /** @type {Choice} */ column) => counts.has(choiceText(place(row, column)));
  const expected = [...names, null].filter((row) => called.some((column) => isCell(row, column)));
  const columns = called.filter((column) => expected.some((row) => isCell(row, column)));
  const heads = columns.map((column) => el("th", { scope: "col", title: shown(column.called || "") || null }, el("span", {}, column.hallucinated ? "hallucinated" : toolName(column.called))));
  const lines = expected.map((row) => {
    const inRow = columns.map((column) => place(row, column));
    const most = countOf(cells.filter((cell) => cell.expected === row));
    return tableRow(toolName(row), ...inRow.map((choice) => choiceCell(model, choice, counts.get(choiceText(choice)) || 0, most, opening)));
  });
  const corner = el("th", { scope: "col" }, "expected ↓ called →");
  const made = el("table", { class: "confusion" }, el("thead", {}, el("tr", {}, corner, ...heads)), el("tbody", {}, ...lines));
  return scrolling(`Expected and called tools, ${modelText(model)}`, made);
}

/** @param {string | null} name */
function toolName(name) {
  return name === null ? el("em", {}, NO_TOOL) : isolated(shortened(name, 100));
}

/**
 * @param {string} model
 * @param {Choice} choice
 * @param {number} count
 * @param {number} most the total of the row
 * @param {Opening} opening
 */
function choiceCell(model, choice, count, most, opening) {
  if (!count) return numberCell("");
  const text = choiceText(choice);
  const made = link(opening.href(model, text), countText(count), { "aria-label": `${countText(count)} × ${shown(text)}`, title: shown(text) });
  made.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    opening.open(model, text);
  });
  const cell = el("td", { class: `number ${isRight(choice) ? "right" : "wrong"}` }, made);
  cell.style.setProperty("--share", `${Math.round(10 + (40 * count) / most)}%`);
  return cell;
}

/** @param {Figures} figures */
function figuresRow({ tool, expected, called, right, precision, recall, f1 }) {
  return tableRow(isolated(shortened(tool, 100)), ...[expected, called, right].map((count) => numberCell(countText(count))), ...[precision, recall, f1].map((mean) => meanCell(mean)));
}
