// @ts-check
// Which tools were called instead of the expected ones, and how well each is found.

import { choiceText, isRight } from "./cases.js";
import { columnTable } from "./columns.js";
import { el, fold, isolated, link, modelName, modelText, numberCell, scrolling, section, shortened, shown, tableRow } from "./dom.js";
import { countText, plural } from "./numbers.js";

/** @import { Choice } from "./cases.js" */
/** @import { Table } from "./columns.js" */
/**
 * @typedef {{model: string, title: string, notes: string[], rows: (string | null)[], columns: Choice[],
 *   counts: number[][], figures: Table}} Matrix as in reports/confusion.py
 * @typedef {{href: (model: string, choice: string) => string, open: (model: string, choice: string) => void}} Opening
 *   shows the cases of a cell
 */

const FEW_TOOLS = 12;
const NO_TOOL = "none";

/** @param {Matrix[]} matrices @param {Opening} opening */
export function confusionSection(matrices, opening) {
  if (!matrices.length) return null;
  const several = matrices.length > 1;
  const parts = matrices.flatMap((found) => [several && el("h3", {}, modelName(found.model)), ...matrixNodes(found, opening)]);
  return section("tools", "Tools", ...parts);
}

/** @param {Matrix} found @param {Opening} opening */
function matrixNodes(found, opening) {
  const { model, title, notes, rows, figures } = found;
  const count = figures.records.length;
  const how = rows.length > 0 && "Rows are expected tools, columns are called tools. Click a number to see its cases.";
  return [
    el("p", {}, [title, ...notes, how].filter(Boolean).join(". ")),
    rows.length > 0 && matrixTable(found, opening),
    fold(`Precision, recall and F1 of ${plural(count, "tool")}`, count <= FEW_TOOLS, columnTable(figures, `Precision, recall and F1, ${modelText(model)}`)),
  ];
}

/** @param {Matrix} found @param {Opening} opening */
function matrixTable({ model, rows, columns, counts }, opening) {
  const heads = columns.map(({ called, hallucinated, not_found }) => el("th", { scope: "col", title: shown(called || "") || null }, el("span", {}, not_found ? "not found" : hallucinated ? "hallucinated" : toolName(called))));
  const lines = rows.flatMap((expected, i) => {
    const most = counts[i].reduce((sum, each) => sum + each, 0);
    return most ? tableRow(toolName(expected), ...columns.map((column, j) => choiceCell(model, { ...column, expected }, counts[i][j], most, opening))) : [];
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
