// @ts-check
// A case of a run whole: its trials with scores, comparisons and the conversation.

import { suiteHash } from "./address.js";
import { call, query } from "./api.js";
import { errorBox, isolated, link } from "./dom.js";

const WIDE = "(min-width: 1100px)";

export class CasePanel {
  /**
   * @param {string} id of the run
   * @param {() => {found: any[], all: any[]}} rows
   * @param {(nodeid: string) => void} chosen told which case is open
   */
  constructor(id, rows, chosen) {
    this.id = id;
    this.rows = rows;
    this.chosen = chosen;
    /** @type {any} */
    this.row = null;
    this.asked = 0;
    this.node = el("aside", { class: "panel", "aria-labelledby": "panel-title", hidden: "" });
    this.onKey = (/** @type {KeyboardEvent} */ event) => this.key(event);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.node.hidden || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape") this.close(true);
    else if (!typing && event.key === "j") this.step(1);
    else if (!typing && event.key === "k") this.step(-1);
  }

  /** @param {boolean} isAsked by the person, not by a change of the page */
  close(isAsked) {
    document.removeEventListener("keydown", this.onKey);
    const nodeid = this.row?.nodeid;
    this.row = null;
    this.asked += 1;
    this.node.hidden = true;
    document.body.classList.remove("with-panel");
    this.keepBehind(false);
    if (!isAsked) return;
    this.chosen("");
    const row = [...document.querySelectorAll(".case-rows tr")].find((each) => /** @type {HTMLElement} */ (each).dataset.nodeid === nodeid);
    row?.querySelector("button")?.focus();
  }

  /** @param {number} by */
  step(by) {
    const { found } = this.rows();
    const next = found[found.findIndex((row) => row.nodeid === this.row.nodeid) + by];
    if (next) void this.show(next);
  }

  /** @param {any} row without its transcripts, which are fetched */
  async show(row) {
    const opened = this.node.hidden;
    if (opened) document.addEventListener("keydown", this.onKey);
    this.row = row;
    this.asked += 1;
    const asked = this.asked;
    this.chosen(row.nodeid);
    this.node.hidden = false;
    document.body.classList.add("with-panel");
    this.keepBehind(!window.matchMedia(WIDE).matches);
    const head = this.head(row);
    this.node.replaceChildren(...head, el("p", { class: "muted" }, "Loading …"));
    this.node.scrollTop = 0;
    if (opened) this.node.querySelector("h2")?.focus({ preventScroll: true });
    try {
      const whole = await call("GET", `/api/history/${encodeURIComponent(this.id)}/cases${query({ nodeid: row.nodeid })}`);
      if (asked === this.asked) this.fill(whole, firstOfInterest(whole.trials));
    } catch (error) {
      if (asked === this.asked) this.node.replaceChildren(...head, errorBox(error, "The case cannot be shown"));
    }
  }

  /** On a narrow screen the panel covers the page, which then must not be reached by the keyboard. @param {boolean} covered */
  keepBehind(covered) {
    for (const part of document.querySelectorAll("body > header, .page > :not(.panel)")) part.toggleAttribute("inert", covered);
  }

  /** @param {any} row */
  head(row) {
    const { found, all } = this.rows();
    const at = found.findIndex((each) => each.nodeid === row.nodeid);
    const previous = button("‹ Previous", () => this.step(-1), { title: "Previous case (k)" });
    const next = button("Next ›", () => this.step(1), { title: "Next case (j)" });
    previous.toggleAttribute("disabled", at <= 0);
    next.toggleAttribute("disabled", at < 0 || at === found.length - 1);
    const close = button("Close", () => this.close(true), { title: "Close (Escape)", class: "close" });
    const others = all.filter((each) => each.case === row.case && each.file === row.file && each.suite === row.suite);
    const tabs = others.map((each) => {
      const tab = button("", () => void this.show(each), { "aria-pressed": String(each.nodeid === row.nodeid) });
      tab.append(outcomeText(each.outcome, scoreText(each.scores.overall)), " ", isolated(each.model || "no model named"));
      return tab;
    });
    const file = row.file ? link(suiteHash(row.file), isolated(row.line ? `${row.file}:${row.line}` : row.file)) : null;
    return [
      el("div", { class: "row" }, previous, next, close),
      el("h2", { id: "panel-title", tabindex: -1 }, isolated(row.case || "(no name)")),
      el("p", { class: "muted" }, isolated(row.suite), file && " · ", file),
      el("div", { class: "tabs", role: "group", "aria-label": "Model" }, ...tabs),
    ];
  }

  /** @param {any} row whole @param {number} number of the trial, from 1 */
  fill(row, number) {
    const trial = row.trials[number - 1];
    const rules = [
      row.trials.length > 1 && row.pass_rule && `passes by ${row.pass_rule}`,
      row.weight !== undefined && row.weight !== 1 && `weight ${row.weight}`,
      row.tool_choice && `tool_choice ${row.tool_choice}`,
    ].filter(Boolean);
    const tags = row.tags.map((/** @type {string} */ tag) => el("span", { class: "tag" }, shown(tag)));
    this.node.replaceChildren(
      ...this.head(this.row),
      el("p", { class: "reason" }, outcomeText(row.outcome), row.reason ? ": " : "", shownNodes(row.reason)),
      el("p", { class: "rules muted" }, ...tags, shown(rules.join(" · "))),
      ...(row.trials.length > 1 ? [this.trialTabs(row, number)] : []),
      trial ? renderTrial(trial, row.thresholds) : el("p", { class: "muted" }, "The case was not asked."),
    );
    if (!this.node.contains(document.activeElement)) this.node.querySelector("h2")?.focus({ preventScroll: true });
  }

  /** @param {any} row @param {number} number */
  trialTabs(row, number) {
    const tabs = row.trials.map((/** @type {any} */ trial, /** @type {number} */ i) => {
      const outcome = trial.error ? "error" : trial.passed ? "passed" : "failed";
      const choose = () => {
        this.fill(row, i + 1);
        /** @type {HTMLElement | null} */ (this.node.querySelector(`.trials button:nth-of-type(${i + 1})`))?.focus();
      };
      const tab = button("", choose, { "aria-pressed": String(i + 1 === number), "aria-label": `Trial ${i + 1}, ${outcome}` });
      tab.append(outcomeText(outcome, String(i + 1)));
      return tab;
    });
    return el("div", { class: "tabs trials", role: "group", "aria-label": "Trial" }, "Trial ", ...tabs);
  }
}

/** The first trial that did not pass, from 1; the first of all when every one passed. @param {any[]} trials */
function firstOfInterest(trials) {
  return trials.findIndex((trial) => !trial.passed) + 1 || 1;
}
