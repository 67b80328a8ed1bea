// @ts-check
// Building blocks. Every text may be hostile: nodes are made only by createElement and textContent, and
// invisible characters are shown as escapes.

import { UNKNOWN, momentText } from "./numbers.js";

/** @typedef {Node | string | null | undefined | false} Child */
/** @typedef {Record<string, string | number | null | undefined>} Attributes null leaves one out */

const LONGEST = 1000;
export const OUTCOMES = ["passed", "failed", "error", "skipped"];
const MARKS = { passed: "✓", failed: "✗", error: "!", skipped: "⊘", tolerated: "○", inconclusive: "?", warning: "⚠" };

/**
 * @template {Element} T
 * @param {T} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  for (const child of children) {
    if (child || child === "") element.append(child);
  }
  return element;
}

/**
 * An element. Strings become text, and missing children are left out.
 * @param {string} name
 * @param {Attributes} attributes
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/**
 * @param {string} name
 * @param {Attributes} attributes
 * @param {...Child} children
 */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/**
 * @param {string} label
 * @param {() => void} action
 * @param {Attributes} attributes
 */
export function button(label, action, attributes = {}) {
  const element = el("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", action);
  return element;
}

/**
 * @param {string} href
 * @param {Node | string} label
 * @param {Attributes} [attributes]
 */
export function link(href, label, attributes = {}) {
  return el("a", { href, ...attributes }, label);
}

// ---- texts ----

// Control characters, bidirectional controls, zero-width ones, unusual spaces, lone surrogates.
const INVISIBLE = /(?:(?![ \n\t])[\p{C}\p{Z}])+/gu;

/** @param {string} text */
function escaped(text) {
  return Array.from(text, (character) => {
    const code = character.codePointAt(0) || 0;
    if (character === "\r") return "\\r";
    if (code <= 0xff) return "\\x" + hex(code, 2);
    return code <= 0xffff ? "\\u" + hex(code, 4) : "\\U" + hex(code, 8);
  }).join("");
}

/** @param {number} code @param {number} digits */
function hex(code, digits) {
  return code.toString(16).padStart(digits, "0");
}

/**
 * A text with escapes for characters that are invisible or would reorder it.
 * @param {string} text
 */
export function shown(text) {
  return text.replace(INVISIBLE, escaped);
}

/**
 * The same as nodes, with the escapes marked.
 * @param {string} text
 */
export function shownNodes(text) {
  const nodes = document.createDocumentFragment();
  let done = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    nodes.append(text.slice(done, match.index), el("span", { class: "escape" }, escaped(match[0])));
    done = (match.index || 0) + match[0].length;
  }
  nodes.append(text.slice(done));
  return nodes;
}

/** @param {string} text @param {number} limit */
export function shortened(text, limit) {
  return text.length > limit ? text.slice(0, limit - 1) + "…" : text;
}

/**
 * Text that cannot reorder its surroundings, shortened if it is very long.
 * @param {unknown} text
 * @param {string} [without] shown for an empty text
 */
export function isolated(text, without = "") {
  return el("bdi", {}, text ? shownNodes(shortened(String(text), LONGEST)) : without);
}

/** @param {string} model */
export function modelText(model) {
  return shown(shortened(model, 120)) || "no model";
}

/** @param {string} model */
export function modelName(model) {
  return el("bdi", {}, modelText(model));
}

/** The name of a metric, which may break at underscores. @param {string} metric */
export function metricName(metric) {
  const parts = shown(shortened(metric, 60)).split("_");
  return el("span", {}, ...parts.flatMap((part, i) => (i ? ["_", el("wbr"), part] : [part])));
}

/** @param {string} outcome */
export function markOf(outcome) {
  return el("span", { class: "mark", "aria-hidden": "true" }, MARKS[/** @type {keyof typeof MARKS} */ (outcome)]);
}

/**
 * A mark and a word, as colour alone is not accessible.
 * @param {string} outcome
 * @param {string} words
 */
export function outcomeText(outcome, words = outcome) {
  return el("span", { class: `tone-${outcome}` }, markOf(outcome), ` ${words}`);
}

/** Whether its failure does not fail the run; one under a variant has no part in the verdict. @param {any} row */
export function isTolerated(row) {
  return row.tolerated && !row.variant;
}

/** The word for a failure that a gate judges, or that is expected; empty for any other case. @param {any} row */
export function excuseOf(row) {
  return isTolerated(row) ? "tolerated" : row.counted ? "counted" : "";
}

/** The sign and colour of a case. @param {any} row */
export function toneOf(row) {
  return isTolerated(row) ? "tolerated" : row.outcome;
}

/** "failed", or "failed, tolerated". @param {any} row */
export function outcomeOf(row) {
  return [row.outcome, excuseOf(row)].filter(Boolean).join(", ");
}

/** @param {string} words */
export function capitalized(words) {
  return words[0].toUpperCase() + words.slice(1);
}

/** Words for screen readers only. @param {string} words */
export function spoken(words) {
  return el("span", { class: "spoken" }, words);
}

/** @param {unknown} iso */
export function moment(iso) {
  const text = momentText(iso);
  return text === UNKNOWN ? el("span", {}, text) : el("time", { datetime: String(iso), title: String(iso) }, text);
}

/** @param {unknown} git the state of a repository; null without one */
export function commitText(git) {
  const { commit, branch, dirty } = /** @type {{commit?: string, branch?: string, dirty?: boolean}} */ (git || {});
  return commit ? `${commit.slice(0, 10)}${branch ? ` on ${branch}` : ""}${dirty ? ", with uncommitted changes" : ""}` : "";
}

// ---- blocks ----

/** Terms and values; empty values are left out. @param {[string, Child][]} facts */
export function factList(facts) {
  const pairs = facts.filter(([, fact]) => fact).map(([term, fact]) => el("div", {}, el("dt", {}, term), el("dd", {}, fact)));
  return el("dl", { class: "facts" }, ...pairs);
}

/**
 * A part of a page, as a link target.
 * @param {string} id
 * @param {string} heading
 * @param {...Child} children
 */
export function section(id, heading, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, heading), ...children);
}

/** @param {Node | string} summary @param {boolean} isOpen @param {...Child} children */
export function fold(summary, isOpen, ...children) {
  return el("details", { open: isOpen ? "" : null }, el("summary", {}, summary), ...children);
}

/**
 * A wide table scrolls in its own box, which the keyboard can reach; the page never scrolls sideways.
 * @param {string} label
 * @param {HTMLElement} made
 */
export function scrolling(label, made) {
  return el("div", { class: "scrolling", tabindex: 0, role: "region", "aria-label": `${label}, table` }, made);
}

/**
 * A table; headings of number columns are aligned like the numbers.
 * @param {string[]} columns
 * @param {HTMLElement[]} rows
 * @param {string} label
 * @param {string} className
 */
export function table(columns, rows, label, className = "") {
  const heads = columns.map((each) => el("th", { scope: "col" }, each));
  [...(rows[0]?.children || [])].forEach((cell, i) => heads[i].classList.toggle("number", cell.classList.contains("number")));
  return scrolling(label, el("table", { class: className || null }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
}

/**
 * A table that becomes a list on narrow screens: each row a block.
 * @param {string[]} columns
 * @param {HTMLElement[]} rows
 * @param {string} label
 */
export function listTable(columns, rows, label) {
  const made = table(columns, rows, label, "list");
  // The style sheet turns rows into blocks, which would hide from screen readers that this is a table.
  made.firstElementChild?.setAttribute("role", "table");
  for (const row of made.querySelectorAll("tr")) row.setAttribute("role", "row");
  for (const head of made.querySelectorAll("thead th")) head.setAttribute("role", "columnheader");
  for (const row of rows) {
    [...row.children].forEach((cell, i) => {
      cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
      if (cell.tagName === "TD") /** @type {HTMLElement} */ (cell).dataset.label = columns[i];
    });
  }
  return made;
}

/**
 * A row of a table: the first cell names it.
 * @param {Child} name
 * @param {...(Child | HTMLElement)} cells table cells, or their content
 */
export function tableRow(name, ...cells) {
  const made = cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : el("td", {}, cell)));
  return el("tr", {}, el("th", { scope: "row" }, name), ...made);
}

/** @param {...Child} children */
export function numberCell(...children) {
  return el("td", { class: "number" }, ...children);
}
