// @ts-check
// A run: live while it goes on, and its details, then and afterwards.

import { ApiError, call, query } from "./api.js";
import { CasePanel } from "./case-panel.js";
import { CaseRows } from "./case-rows.js";
import { announce, ask, durationText, errorBox, isolated, link, moment, pageHead, perFrame, plural } from "./dom.js";
import { comparisonSection } from "./comparison.js";
import { ENDS, gatesTable, summaryTables } from "./summary.js";

/** @type {Record<string, string>} */
const WORDS = {
  running: "● running",
  finished: "Finished",
  ...ENDS,
};
const SPOKEN_EVERY = 10_000;

/** @param {import("./main.js").Visit} visit */
export async function show({ place, rest, params, isGone }) {
  const state = await call("GET", `/api/tool-eval/${encodeURIComponent(rest)}`);
  if (isGone()) return;
  const page = new RunPage(state, place, params, isGone);
  if (state.status === "running") page.watch();
  else await page.loadDocument();
  return { leave: () => page.leave() };
}

class RunPage {
  /** @param {any} state @param {HTMLElement} place @param {URLSearchParams} params @param {() => boolean} isGone */
  constructor(state, place, params, isGone) {
    this.state = state;
    this.isGone = isGone;
    this.isOver = state.status !== "running";
    /** Rows by node id: an event that comes twice is the same row. @type {Map<string, any>} */
    this.rows = new Map();
    this.counts = zeroCounts();
    this.done = 0;
    this.total = state.total;
    /** @type {EventSource | null} */
    this.source = null;
    this.lastId = "";
    this.onVisible = () => this.listen();
    this.spokenAt = 0;
    this.changed = perFrame(() => this.drawLive());
    this.bar = /** @type {HTMLProgressElement} */ (el("progress", { max: state.total || 1, value: 0, "aria-label": "Cases done" }));
    this.words = el("span", { class: "number" });
    this.tally = el("ul", { class: "tally" });
    this.connection = el("p", { class: "note", role: "status" });
    this.live = el("section", { class: "card live", "aria-label": "Progress" }, el("div", { class: "row between" }, this.words, this.tally), this.bar);
    this.messages = el("div", {});
    this.actions = el("div", { class: "row" });
    this.about = el("p", { class: "muted" });
    this.status = el("span", {});
    this.results = el("div", {});
    this.panel = new CasePanel(state.id, () => this.cases.list(), (nodeid) => this.cases.chosen(nodeid));
    this.cases = new CaseRows(state.id, params, (row) => this.panel.show(row));
    place.append(
      pageHead(el("span", {}, "Run ", el("small", {}, moment(state.started))), this.actions),
      el("p", {}, this.status, " ", this.about),
      this.messages,
      this.live,
      this.connection,
      this.results,
      this.cases.node,
      this.panel.node,
    );
    this.live.hidden = this.isOver;
    this.head();
  }

  leave() {
    this.unwatch();
    this.panel.close(false);
  }

  head() {
    const { state } = this;
    const words = WORDS[state.status] || state.status;
    const mark = ["running", "finished"].includes(state.status) ? words : outcomeText("error", words);
    this.status.replaceChildren(mark, ...(this.isOver ? tallyOf(state.counts).flatMap((each) => [" · ", each]) : []));
    const options = Object.entries(state.options || {})
      .filter(([name]) => !/model$/.test(name))
      .map(([name, value]) => `${name.replace(/^--tooleval-/, "")} ${typeof value === "string" ? value : JSON.stringify(value)}`);
    this.about.replaceChildren(
      isolated(state.models.join(", ")),
      " · ",
      isolated(state.files.length ? state.files.slice(0, 5).join(", ") + (state.files.length > 5 ? " …" : "") : "–"),
      ...options.flatMap((each) => [" · ", isolated(each)]),
      ...(this.isOver ? [" · ", durationText(state.duration_s)] : []),
    );
    const actions = this.isOver
      ? [link(`#/run?${again(state)}`, "Run again", { class: "button" }), link(`#/compare${query({ new: state.id })}`, "Compare", { class: "button" })]
      : [button("Cancel", () => void this.cancel(), { class: "danger" })];
    this.actions.replaceChildren(...actions);
    this.messages.replaceChildren(...(state.problem ? [errorBox(new Error(state.problem))] : []));
  }

  // ---- while it goes on ----

  /** Listen as long as the page is seen: a browser has only six connections to one server, for all its tabs. */
  watch() {
    document.addEventListener("visibilitychange", this.onVisible);
    this.drawLive();
    this.onVisible();
  }

  unwatch() {
    document.removeEventListener("visibilitychange", this.onVisible);
    this.source?.close();
  }

  /** All events from the first, or those not seen yet: also after a reload nothing is missing, and nothing is there twice. */
  listen() {
    this.source?.close();
    if (document.hidden) return;
    const source = new EventSource(`/api/tool-eval/${encodeURIComponent(this.state.id)}/events${query({ after: this.lastId })}`);
    this.source = source;
    const on = (/** @type {string} */ name, /** @type {(data: any) => void} */ handle) =>
      source.addEventListener(name, (event) => {
        const { data, lastEventId } = /** @type {MessageEvent} */ (event);
        this.lastId = lastEventId;
        handle(JSON.parse(data));
        this.changed();
      });
    on("result", (row) => this.add(row));
    on("progress", (data) => {
      this.total = data.total;
    });
    on("done", (data) => {
      source.close();
      void this.ended(data);
    });
    source.addEventListener("open", () => this.connection.replaceChildren());
    source.addEventListener("error", () => {
      if (this.isOver || this.isGone()) return;
      if (source.readyState === EventSource.CLOSED) void this.lost();
      else this.connection.textContent = "The connection was lost. Trying again …";
    });
  }

  /** @param {any} row */
  add(row) {
    const before = this.rows.get(row.nodeid);
    if (before) this.counts[countOf(before)] -= 1;
    this.rows.set(row.nodeid, row);
    this.counts[countOf(row)] += 1;
    this.done = this.rows.size;
    this.cases.add(row, before);
  }

  drawLive() {
    this.bar.max = this.total || 1;
    this.bar.value = this.done;
    const words = `${countText(this.done)} of ${plural(this.total, "case")}`;
    this.words.textContent = words;
    this.tally.replaceChildren(...tallyOf(this.counts).map((each) => el("li", {}, each)));
    this.cases.draw();
    if (!this.isOver && Date.now() - this.spokenAt > SPOKEN_EVERY) {
      this.spokenAt = Date.now();
      announce(words);
    }
  }

  /** The stream is closed for good: over in the meantime, or gone with its server. */
  async lost() {
    try {
      const state = await call("GET", `/api/tool-eval/${encodeURIComponent(this.state.id)}`);
      if (this.isGone()) return;
      if (state.status !== "running") await this.ended(state);
      else this.listen();
    } catch (error) {
      if (this.isGone()) return;
      this.connection.replaceChildren(errorBox(error, "The run can no longer be watched"), button("Try again", () => void this.lost()));
    }
  }

  /** @param {{status: string, problem?: string | null}} end */
  async ended(end) {
    this.isOver = true;
    this.unwatch();
    announce(`The run is ${end.status}`);
    this.connection.replaceChildren();
    try {
      this.state = await call("GET", `/api/tool-eval/${encodeURIComponent(this.state.id)}`);
    } catch {
      this.state = { ...this.state, status: end.status, problem: end.problem };
    }
    if (this.isGone()) return;
    this.live.hidden = true;
    this.head();
    await this.loadDocument();
  }

  async cancel() {
    const answer = await ask("Cancel this run?", "What has been answered so far stays in the history.", [["cancel", "Cancel the run"], ["", "Let it go on"]]);
    if (answer !== "cancel") return;
    try {
      await call("POST", `/api/tool-eval/${encodeURIComponent(this.state.id)}/cancel`);
    } catch (error) {
      this.messages.replaceChildren(errorBox(error, "Not cancelled"));
    }
  }

  // ---- afterwards ----

  async loadDocument() {
    try {
      const document = await call("GET", `/api/history/${encodeURIComponent(this.state.id)}`);
      if (this.isGone()) return;
      this.cases.replace(document.cases);
      this.results.replaceChildren(...resultsOf(document));
    } catch (error) {
      if (this.isGone()) return;
      const isMissing = error instanceof ApiError && error.status === 404 && this.rows.size > 0;
      if (!isMissing) this.results.replaceChildren(errorBox(error, "The results cannot be read"));
      else if (this.state.summary) this.results.replaceChildren(...summaryTables(this.state.summary, []));
    }
    this.cases.draw();
    this.cases.openFromAddress();
  }
}

/** @param {any} document */
function resultsOf(document) {
  const git = document.run.git;
  const commit = git && el("p", { class: "muted" }, "git: ", isolated(git.branch || "detached"), " at ", el("code", {}, shown(git.commit.slice(0, 10))), git.dirty ? ", with changes that are not committed" : "");
  return [
    ...summaryTables(document.models, document.suites),
    document.gates.length > 0 && gatesTable(document.gates),
    document.baseline && comparisonSection(document.baseline),
    commit,
  ].filter((node) => node);
}

/** What the form needs to do the same again: an empty setting, too, so that no kept one takes its place. @param {any} state */
function again(state) {
  const params = new URLSearchParams();
  for (const file of state.files) params.append("file", file);
  for (const model of state.models) params.append("model", model);
  for (const id of state.cases || []) params.append("case", id);
  for (const [name, key] of [["temperature", "temperature"], ["trials", "trials"], ["tool-choice", "tool_choice"]]) {
    params.set(key, String(state.options?.[name] ?? ""));
  }
  return params;
}

/** How many of each outcome there are, in words. @param {Record<string, number>} counts */
function tallyOf(counts) {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.map(([name, count]) => (name === "errors" ? outcomeText("error", `${countText(count)} without an answer`) : outcomeText(name, `${countText(count)} ${name}`)));
}

/** @returns {Record<string, number>} */
function zeroCounts() {
  return { passed: 0, failed: 0, missed: 0, errors: 0, skipped: 0 };
}

/** @param {any} row */
function countOf(row) {
  return row.outcome === "error" ? "errors" : row.outcome;
}

