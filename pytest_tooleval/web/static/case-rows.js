// @ts-check
// The cases of a run: filtered, some at a time, and added to while they arrive.

import { replaceHash, runHash } from "./address.js";
import { input, isolated, plural, select } from "./dom.js";

const CHUNK = 200;
const OUTCOMES = ["passed", "failed", "missed", "error", "skipped"];

export class CaseRows {
  /**
   * @param {string} id of the run
   * @param {URLSearchParams} params what is chosen, from the address
   * @param {(row: any) => void} open
   */
  constructor(id, params, open) {
    this.id = id;
    this.openRow = open;
    /** @type {any[]} */
    this.rows = [];
    /** @type {any[]} those that the filters let through */
    this.found = [];
    /** @type {Map<any, string>} */
    this.texts = new Map();
    this.query = params.get("q") || "";
    this.outcomes = new Set((params.get("outcome") || "").split(",").filter((each) => OUTCOMES.includes(each)));
    this.model = params.get("model") || "";
    this.case = params.get("case") || "";
    this.limit = CHUNK;
    this.drawn = 0;
    this.isStale = true;
    this.search = input({ type: "search", value: this.query, placeholder: "case, suite, tag, reason", spellcheck: "false" });
    this.search.addEventListener("input", () => this.filter({ query: this.search.value }));
    this.models = select([["", "all models"]]);
    this.models.addEventListener("change", () => this.filter({ model: this.models.value }));
    this.modelField = el("label", {}, "Model", this.models);
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Outcome" });
    this.status = el("p", { class: "status", role: "status" });
    this.body = el("tbody", {});
    this.more = el("div", { class: "row" });
    const head = ["Result", "Case", "Overall", "Tool", "Parameters", "Time"].map((each, i) => el("th", { scope: "col", class: i > 1 ? "number" : null }, each));
    this.table = el("table", { class: "case-rows" }, el("thead", {}, el("tr", {}, ...head)), this.body);
    const toolbar = el("form", { class: "toolbar", role: "search" }, el("label", { class: "query" }, "Search", this.search), this.modelField, this.chips);
    toolbar.addEventListener("submit", (event) => event.preventDefault());
    this.node = el("section", { "aria-label": "Cases" }, el("h2", {}, "Cases"), toolbar, this.status, el("div", { class: "scrolling" }, this.table), this.more);
    this.draw();
  }

  /** The rows that are found, in their order. */
  list() {
    return { found: this.found, all: this.rows };
  }

  /** @param {any} row @param {any} before the same row as it came earlier */
  add(row, before) {
    if (before) {
      this.rows[this.rows.indexOf(before)] = row;
      this.isStale = true;
      return;
    }
    this.rows.push(row);
    if (!this.isStale && this.matches(row)) this.found.push(row);
  }

  /** @param {any[]} rows */
  replace(rows) {
    this.rows = rows;
    this.texts.clear();
    this.isStale = true;
  }

  /** @param {{query?: string, model?: string}} changes */
  filter(changes) {
    if (changes.query !== undefined) this.query = changes.query;
    if (changes.model !== undefined) this.model = changes.model;
    this.limit = CHUNK;
    this.isStale = true;
    this.note();
    this.draw();
  }

  /** The case that is open, by its node id; "" for none. @param {string} nodeid */
  chosen(nodeid) {
    this.case = nodeid;
    this.note();
    for (const row of this.body.children) row.classList.toggle("open", /** @type {HTMLElement} */ (row).dataset.nodeid === nodeid && nodeid !== "");
  }

  note() {
    const pairs = { q: this.query, outcome: [...this.outcomes].join(","), model: this.model, case: this.case };
    const given = new URLSearchParams(Object.entries(pairs).filter(([, value]) => value)).toString();
    replaceHash(runHash(this.id) + (given && `?${given}`));
  }

  openFromAddress() {
    const row = this.case && this.rows.find((each) => each.nodeid === this.case);
    if (row) this.openRow(row);
  }

  /** @param {any} row */
  matches(row) {
    if (this.outcomes.size && !this.outcomes.has(row.outcome)) return false;
    if (this.model && row.model !== this.model) return false;
    if (!this.query) return true;
    let text = this.texts.get(row);
    if (text === undefined) {
      text = [row.case, row.suite, row.file, row.reason, ...row.tags].join("\n").toLowerCase();
      this.texts.set(row, text);
    }
    return this.query.toLowerCase().split(/\s+/).every((word) => /** @type {string} */ (text).includes(word));
  }

  draw() {
    if (this.isStale) {
      this.found = this.rows.filter((row) => this.matches(row));
      this.body.replaceChildren();
      this.drawn = 0;
      this.isStale = false;
    }
    const end = Math.min(this.limit, this.found.length);
    if (this.drawn < end) {
      this.body.append(...this.found.slice(this.drawn, end).map((row) => this.row(row)));
      this.drawn = end;
    }
    this.drawFilters();
    const all = countText(this.rows.length);
    const words = this.found.length === this.rows.length ? plural(this.rows.length, "case") : `${countText(this.found.length)} of ${all} cases`;
    const shownWords = end < this.found.length ? `${words}, the first ${countText(end)} shown` : words;
    if (this.status.textContent !== shownWords) this.status.textContent = shownWords;
    const left = this.found.length - end;
    if (left <= 0) this.more.replaceChildren();
    else if (!this.more.firstChild) this.more.replaceChildren(button("Show more", () => this.showMore()));
  }

  showMore() {
    const before = this.drawn;
    this.limit += CHUNK;
    this.draw();
    /** @type {HTMLElement | null} */ (this.body.children[before]?.querySelector("button"))?.focus();
  }

  drawFilters() {
    /** @type {Record<string, number>} */
    const counts = {};
    const models = new Set();
    for (const row of this.rows) {
      counts[row.outcome] = (counts[row.outcome] || 0) + 1;
      models.add(row.model);
    }
    if (models.size !== this.models.options.length - 1) {
      const options = [...models].map((model) => el("option", { value: model }, shown(model) || "no model named"));
      this.models.replaceChildren(el("option", { value: "" }, "all models"), ...options);
      this.models.value = this.model;
    }
    this.modelField.hidden = models.size < 2;
    for (const outcome of OUTCOMES) {
      let chip = /** @type {HTMLElement | null} */ (this.chips.querySelector(`[data-outcome="${outcome}"]`));
      if (!counts[outcome]) {
        chip?.remove();
        continue;
      }
      if (!chip) {
        chip = button("", () => this.toggle(outcome), { class: "chip", "data-outcome": outcome });
        chip.append(outcomeText(outcome), " ", el("span", { class: "number" }));
        const next = [...this.chips.children].find((each) => OUTCOMES.indexOf(/** @type {HTMLElement} */ (each).dataset.outcome || "") > OUTCOMES.indexOf(outcome));
        this.chips.insertBefore(chip, next || null);
      }
      chip.setAttribute("aria-pressed", String(this.outcomes.has(outcome)));
      /** @type {Element} */ (chip.lastElementChild).textContent = countText(counts[outcome]);
    }
  }

  /** @param {string} outcome */
  toggle(outcome) {
    if (!this.outcomes.delete(outcome)) this.outcomes.add(outcome);
    this.filter({});
  }

  /** @param {any} row */
  row(row) {
    const open = button("", () => this.openRow(row), { class: "open-case" });
    open.append(isolated(row.case || "(no name)"));
    const trials = row.trials.length > 1 ? el("small", {}, ` ${row.passes}/${row.scored}`) : null;
    const where = el("small", { class: "under" }, isolated(row.suite), " · ", isolated(row.model || "no model named"));
    const reason = row.reason && row.outcome !== "passed" && el("span", { class: "why-not" }, isolated(row.reason));
    const made = el(
      "tr",
      { "data-nodeid": row.nodeid, class: row.nodeid === this.case ? "open" : null },
      el("td", { class: "result" }, outcomeText(row.outcome), trials),
      el("th", { scope: "row" }, open, where, reason),
      el("td", { class: "number strong" }, scoreText(row.scores.overall)),
      el("td", { class: "number" }, scoreText(row.scores.tool_selection)),
      el("td", { class: "number" }, scoreText(row.scores.parameter_accuracy)),
      el("td", { class: "number" }, secondsText(meanLatency(row.trials))),
    );
    return made;
  }
}

/** @param {any[]} trials */
function meanLatency(trials) {
  const known = trials.map((trial) => trial.latency_s).filter(isKnown);
  return known.length ? known.reduce((sum, each) => sum + each, 0) / known.length : null;
}
