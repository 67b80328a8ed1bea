// @ts-check
// The history of runs, of pytest and of this page.

import { runHash } from "./address.js";
import { call, historyPath, query } from "./api.js";
import { announce, ask, emptyState, errorBox, input, noRuns, pageHead } from "./controls.js";
import { columnCell } from "./page/columns.js";
import { button, capitalized, el, isolated, link, listTable, moment, outcomeText, shown } from "./page/dom.js";
import { UNKNOWN, countText, momentText, plural, secondsText } from "./page/numbers.js";

/** @import { Column } from "./page/columns.js" */

const STEP = 50;
const MOST = 1000;

/** @param {import("./main.js").Visit} visit */
export async function show({ place, isGone }) {
  const { columns } = await call("GET", "/api/project");
  if (isGone()) return;
  const page = new HistoryPage(place, columns["page runs"], isGone);
  await page.load();
}

class HistoryPage {
  /** @param {HTMLElement} place @param {Column[]} columns @param {() => boolean} isGone */
  constructor(place, columns, isGone) {
    this.columns = columns;
    this.isGone = isGone;
    this.limit = STEP;
    this.loads = 0;
    /** @type {any[]} newest first */
    this.runs = [];
    /** @type {string[]} ids */
    this.ticked = [];
    this.compare = link("#/compare", "Compare runs", { class: "button" });
    this.filters = ["suite", "model", "branch"].map((name) => {
      const control = input({ type: "search", placeholder: `any ${name}`, spellcheck: "false", name });
      control.addEventListener("change", () => void this.load());
      return control;
    });
    const labels = this.filters.map((control) => el("label", {}, capitalized(control.name), control));
    const form = el("form", { class: "toolbar", role: "search" }, ...labels, el("button", { type: "submit" }, "Filter"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.load();
    });
    this.messages = el("div", {});
    this.list = el("div", {});
    this.more = el("div", { class: "row" });
    place.append(pageHead("History", this.compare), form, this.messages, this.list, this.more);
    this.showCompare();
  }

  async load() {
    const filters = Object.fromEntries(this.filters.map((control) => [control.name, control.value.trim()]));
    this.loads += 1;
    const loads = this.loads;
    try {
      const runs = await call("GET", "/api/history" + query({ ...filters, limit: this.limit }));
      if (this.isGone() || loads !== this.loads) return;
      this.messages.replaceChildren();
      this.draw(runs, Object.values(filters).some(Boolean));
    } catch (error) {
      if (!this.isGone()) this.messages.replaceChildren(errorBox(error, "Could not load the history"));
    }
  }

  /** @param {any[]} runs @param {boolean} isFiltered */
  draw(runs, isFiltered) {
    this.runs = runs;
    this.ticked = this.ticked.filter((id) => runs.some((run) => run.id === id));
    this.showCompare();
    if (runs.length === 0) {
      this.list.replaceChildren(isFiltered ? emptyState("No runs match. Enter full names.") : noRuns());
      this.more.replaceChildren();
      return;
    }
    this.list.replaceChildren(listTable(["Compare", "Started", "Suites", "Models", ...this.columns.map(({ heading }) => capitalized(heading)), "Result", "Commit", "Delete"], wholeFirst(runs).map((run) => this.row(run)), "Runs"));
    const isMore = runs.length === this.limit && this.limit < MOST;
    const more = button("Show older runs", () => {
      this.limit = Math.min(MOST, this.limit * 2);
      void this.load();
    });
    this.more.replaceChildren(...(isMore ? [more] : []));
  }

  /** @param {any} run */
  row(run) {
    const tick = input({ type: "checkbox", "aria-label": `Compare the run of ${momentText(run.started)}` });
    tick.checked = this.ticked.includes(run.id);
    tick.addEventListener("change", () => {
      this.ticked = this.ticked.filter((id) => id !== run.id);
      if (tick.checked) this.ticked.push(run.id);
      this.showCompare();
    });
    const counts = [countsText(run), run.failed && plural(run.failed, "failed", "failed"), run.counted && `${countText(run.counted)} counted`, run.tolerated && `${countText(run.tolerated)} tolerated`].filter(Boolean).join(", ");
    const gates = run.gates_failed > 0 && plural(run.gates_failed, "gate failed", "gates failed");
    const under = [counts, gates].filter(Boolean).join(" · ");
    const commit = run.git ? [el("code", {}, shown(run.git.commit.slice(0, 8))), el("small", { class: "under" }, isolated(run.git.branch || ""), run.git.dirty ? ", uncommitted changes" : "")] : [UNKNOWN];
    const remove = button("Delete", () => void this.remove(run), { "aria-label": `Delete the run of ${momentText(run.started)}` });
    return el(
      "tr",
      {},
      el("td", {}, tick),
      el("th", { scope: "row", class: "when" }, link(runHash(run.id), moment(run.started)), ...run.tags.map((/** @type {string} */ tag) => el("span", { class: "tag" }, "@", shown(tag))), el("small", { class: "under" }, shown(run.id)), el("small", { class: "under" }, secondsText(run.duration_s))),
      el("td", {}, isolated(fewOf(run.suites))),
      el("td", {}, isolated(fewOf(run.models))),
      ...this.columns.map((column) => columnCell(run, column)),
      el("td", {}, outcomeText(run.outcome, run.verdict), ...(run.is_partial && !run.ending ? [" ", el("span", { class: "tag" }, "partial")] : []), el("small", { class: "under" }, under)),
      el("td", {}, ...commit),
      el("td", {}, remove),
    );
  }

  showCompare() {
    const ready = this.ticked.length === 2;
    const [now, old] = this.runs.map((run) => run.id).filter((id) => this.ticked.includes(id));
    this.compare.setAttribute("href", ready ? `#/compare${query({ old, new: now })}` : "#/compare");
    this.compare.textContent = ready ? "Compare selected" : "Compare runs";
  }

  /** @param {any} run */
  async remove(run) {
    const answer = await ask("Delete this run?", `This deletes the run of ${momentText(run.started)} with ${plural(run.cases, "case")} from the history.`, [["delete", "Delete the run"], ["", "Cancel"]]);
    if (answer !== "delete") return;
    try {
      await call("DELETE", historyPath(run.id));
      announce("Deleted");
      await this.load();
    } catch (error) {
      this.messages.replaceChildren(errorBox(error, "Could not delete the run"));
    }
  }
}

/** Running runs and the newest whole one, then the others. @param {any[]} runs newest first */
export function wholeFirst(runs) {
  const whole = runs.find((run) => !run.is_partial && run.status !== "running");
  const isFirst = (/** @type {any} */ run) => run === whole || run.status === "running";
  return [...runs.filter(isFirst), ...runs.filter((run) => !isFirst(run))];
}

/** @param {string[]} names */
function fewOf(names) {
  return names.length ? names.slice(0, 4).join(", ") + (names.length > 4 ? " …" : "") : UNKNOWN;
}

/** How many of the cases that ran passed. @param {any} run */
export function countsText({ cases, skipped, passed, errors }) {
  if (errors) return `${countText(passed)} passed, ${plural(errors, "error")}`;
  if (cases > skipped) return `${countText(passed)}/${countText(cases - skipped)} passed`;
  return skipped ? `${countText(skipped)} skipped` : "no results";
}
