// @ts-check
// The matrix: a row per case, a column per model. Rows are drawn when they scroll into view.

import { belowOf } from "./cases.js";
import { button, el, excuseOf, isolated, markOf, modelText, outcomeOf, shortened, shown, toneOf } from "./dom.js";
import { UNKNOWN, isKnown, scoreText } from "./numbers.js";

/** @import { Case, Index, Row } from "./cases.js" */

const CHUNK = 40;

/**
 * What a cell shows: the score, or the outcome without one; a missed threshold or the passing trials.
 * @param {Row} row
 */
function cellTexts(row) {
  const { overall } = row.scores;
  const value = isKnown(overall) && row.answered > 0 ? scoreText(overall) : row.outcome;
  const below = shown(shortened(belowOf(row), 60));
  return { value, below, count: !below && row.trials.length > 1 && row.answered ? `${row.passes}/${row.answered}` : "" };
}

/** The same for screen readers. @param {Row} row */
export function cellWords(row) {
  const { value, below, count } = cellTexts(row);
  const more = below ? `, ${below}` : count ? ` ${count} trials passed` : "";
  return `${modelText(row.model)}: ${value === row.outcome ? outcomeOf(row) : `${outcomeOf(row)} ${value}`}${more}`;
}

export class Matrix {
  /**
   * @param {(sort: string) => void} sort
   * @param {(each: Case, model: number) => void} open
   */
  constructor(sort, open) {
    this.sort = sort;
    this.open = open;
    /** @type {Index} */
    this.index = { models: [], suites: [], variants: [], cases: [] };
    /** @type {Case[]} filtered and sorted */
    this.view = [];
    this.drawn = 0;
    /** The key of the open case. */
    this.marked = "";
    /** @type {number[]} indices of the shown models */
    this.columns = [];
    /** @type {Map<string, {rows: (Row | undefined)[], node: HTMLElement}>} by the key of the case */
    this.kept = new Map();
    this.head = el("thead");
    this.body = el("tbody");
    this.end = el("div", { class: "end" });
    this.table = el("table", { class: "matrix" }, this.head, this.body);
    this.node = el("div", { class: "scrolling tall", role: "region", "aria-label": "Cases by model; arrow keys move between the results" }, this.table, this.end);
    this.body.addEventListener("keydown", (event) => this.move(event));
    const watch = (/** @type {IntersectionObserverEntry[]} */ entries) => {
      if (entries.some((entry) => entry.isIntersecting)) this.drawMore();
    };
    new IntersectionObserver(watch, { root: this.node, rootMargin: "400px" }).observe(this.end);
  }

  /**
   * @param {Index} index
   * @param {Case[]} view
   * @param {number} model index of the chosen one, or -1
   * @param {string} sort
   */
  show(index, view, model, sort) {
    const isGrown = index !== this.index;
    const columns = model < 0 ? index.models.map((_, i) => i) : [model];
    if (columns.join() !== this.columns.join()) this.kept.clear();
    this.index = index;
    this.columns = columns;
    this.view = view;
    this.drawHead(sort);
    // Cases that arrive during a run must not move the reader.
    if (!isGrown) this.marked = "";
    const [drawn, top, focused] = isGrown ? [this.drawn, this.node.scrollTop, document.activeElement] : [0, 0, null];
    this.drawn = 0;
    this.body.replaceChildren();
    this.drawMore(Math.max(drawn, CHUNK));
    this.node.scrollTop = top;
    if (focused instanceof HTMLElement && this.body.contains(focused)) focused.focus({ preventScroll: true });
  }

  /** @param {string} sort */
  drawHead(sort) {
    const names = this.columns.map((i) => this.sortHeader(`model:${this.index.models[i].key}`, sort, modelText(this.index.models[i].label)));
    this.head.replaceChildren(el("tr", {}, this.sortHeader("name", sort, "Case"), ...names));
    const count = this.columns.length;
    this.table.style.setProperty("--models", String(count));
    this.table.style.setProperty("--column", count <= 3 ? "9.5rem" : count <= 6 ? "7.5rem" : "5.5rem");
  }

  /** @param {string} key @param {string} sort @param {string} label */
  sortHeader(key, sort, label) {
    const up = sort === key;
    const down = sort === `-${key}`;
    const made = button("", () => this.sort(up ? `-${key}` : down ? "failed" : key), { title: `Sort by ${label}` });
    made.append(el("bdi", {}, label), el("span", { class: "arrow", "aria-hidden": "true" }, up ? " ▲" : down ? " ▼" : ""));
    return el("th", { scope: "col", "aria-sort": up ? "ascending" : down ? "descending" : null }, made);
  }

  drawMore(count = CHUNK) {
    const next = this.view.slice(this.drawn, this.drawn + count);
    this.body.append(...next.map((each) => this.row(each)));
    this.drawn += next.length;
    this.end.hidden = this.drawn >= this.view.length;
    if (!this.body.querySelector('.cell button[tabindex="0"]')) this.makeReachable(this.body.querySelector(".cell button"));
  }

  /** @param {Case} each */
  row(each) {
    const kept = this.kept.get(each.key);
    if (kept && kept.rows.length === each.rows.length && kept.rows.every((row, i) => row === each.rows[i])) return kept.node;
    const { first, rows } = each;
    const suite = this.index.suites.length > 1 ? this.index.suites[each.suite].label : "";
    const variant = first.variant && `under ${shortened(first.variant, 60)}`;
    const about = [variant, suite, first.prompt_text].filter(Boolean).join(" · ");
    const only = this.columns.length === 1 ? rows[this.columns[0]] : undefined;
    const node = el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("bdi", { class: "id" }, shown(shortened(first.case, 200)) || "(no name)"),
        el("span", { class: "about", dir: "auto" }, shown(about.slice(0, 200))),
        only && only.outcome !== "passed" && only.reason && el("span", { class: "why-not" }, isolated(only.reason)),
      ),
      ...this.columns.map((model) => this.cell(each, model)),
    );
    node.addEventListener("click", (event) => {
      const isCell = event.target instanceof Element && event.target.closest("button");
      if (!isCell && getSelection()?.isCollapsed) this.open(each, this.worst(rows));
    });
    this.kept.set(each.key, { rows, node });
    return node;
  }

  /** The first shown model that did not pass, else the first that ran. @param {(Row | undefined)[]} rows */
  worst(rows) {
    const run = this.columns.filter((model) => rows[model]);
    return run.find((model) => rows[model]?.outcome !== "passed") ?? run[0];
  }

  /** @param {Case} each @param {number} model */
  cell(each, model) {
    const row = each.rows[model];
    if (!row) return el("td", { class: "cell" }, el("span", { class: "none", title: "not run" }, UNKNOWN));
    const { value, below, count } = cellTexts(row);
    const made = button("", () => this.open(each, model), {
      class: `outcome-${toneOf(row)}`,
      tabindex: -1,
      "aria-label": cellWords(row),
      title: shown(shortened(row.reason, 1000)) || null,
    });
    made.append(markOf(toneOf(row)), el("span", { class: "value" }, value), " ", count && el("small", {}, count), below && el("small", { class: "below" }, below), excuseOf(row) && el("small", { class: "tolerated" }, excuseOf(row)));
    return el("td", { class: "cell" }, made);
  }

  /** Tab reaches one cell; arrow keys move from there. @param {Element | null | undefined} cell */
  makeReachable(cell) {
    for (const other of this.body.querySelectorAll('.cell button[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    cell?.setAttribute("tabindex", "0");
  }

  /** @param {KeyboardEvent} event */
  move(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    const cell = event.target instanceof Element ? event.target.closest("td") : null;
    if (!step || !cell || !cell.parentElement) return;
    event.preventDefault();
    const row = [...this.body.children].indexOf(cell.parentElement) + step[0];
    if (row >= this.drawn) this.drawMore();
    this.focus(this.body.children[row]?.children[cell.cellIndex + step[1]]);
  }

  /** @param {Element | undefined} cell */
  focus(cell) {
    const found = cell?.querySelector("button");
    if (!found) return;
    this.makeReachable(found);
    found.focus();
  }

  /** Mark the row of the open case, and scroll it into view once. @param {string} key */
  markOpen(key) {
    for (const row of this.body.querySelectorAll("tr.open")) row.classList.remove("open");
    const isMarked = key === this.marked;
    this.marked = key;
    const at = this.view.findIndex((each) => each.key === key);
    if (at < 0) return;
    if (at >= this.drawn && !isMarked) this.drawMore(at + CHUNK - this.drawn);
    const row = this.row(this.view[at]);
    row.classList.add("open");
    if (isMarked) return;
    const top = row.offsetTop - this.head.offsetHeight;
    const bottom = row.offsetTop + row.offsetHeight - this.node.clientHeight;
    if (this.node.scrollTop > top) this.node.scrollTop = top;
    if (this.node.scrollTop < bottom) this.node.scrollTop = bottom;
  }

  /** @param {string} key @param {number} model */
  focusCell(key, model) {
    const row = this.kept.get(key)?.node;
    if (row?.isConnected) this.focus(row.children[this.columns.indexOf(model) + 1]);
  }
}
