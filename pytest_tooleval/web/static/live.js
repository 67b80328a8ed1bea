// @ts-check
// A run while it goes on: its progress, and the cases as they come.

import { call, query } from "./api.js";
import { announce, errorBox } from "./controls.js";
import { CaseView } from "./page/case-view.js";
import { button, el } from "./page/dom.js";
import { countText, plural } from "./page/numbers.js";

/** @import { Surroundings } from "./page/case-view.js" */
/** @import { Row } from "./page/cases.js" */

const SPOKEN_EVERY = 10_000;
// In milliseconds: people see no more, and thousands of cases are put in order each time.
const DRAWN_EVERY = 200;

export class LiveRun {
  /**
   * @param {any} state
   * @param {Surroundings} around
   * @param {string} shown what the address says
   * @param {() => void} ended called once
   * @param {() => boolean} isGone
   */
  constructor(state, around, shown, ended, isGone) {
    this.state = state;
    this.ended = ended;
    this.isGone = isGone;
    this.isOver = false;
    this.total = state.total;
    this.answered = 0;
    /** By node id: an event that comes twice is the same row. @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {EventSource | null} */
    this.source = null;
    this.lastId = "";
    this.spokenAt = 0;
    this.timer = 0;
    this.onVisible = () => this.listen();
    this.cases = new CaseView(around, shown);
    this.bar = /** @type {HTMLProgressElement} */ (el("progress", { "aria-label": "Cases done" }));
    this.words = el("span", { class: "number" });
    this.connection = el("p", { class: "note", role: "status" });
    this.nodes = [el("section", { class: "card live", "aria-label": "Progress" }, this.words, this.bar), this.connection, this.cases.node];
  }

  /** Listen as long as the page is seen: a browser has only six connections to one server, for all its tabs. */
  watch() {
    document.addEventListener("visibilitychange", this.onVisible);
    this.draw();
    this.onVisible();
  }

  unwatch() {
    document.removeEventListener("visibilitychange", this.onVisible);
    clearTimeout(this.timer);
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
        this.timer ||= window.setTimeout(() => this.draw(), DRAWN_EVERY);
      });
    on("collected", ({ cases }) => (this.total = Object.values(cases).reduce((sum, count) => sum + count, 0)));
    on("case_done", ({ case: row }) => this.rows.set(row.nodeid, row));
    on("progress", ({ answered }) => (this.answered = answered));
    on("done", () => this.end());
    source.addEventListener("open", () => this.connection.replaceChildren());
    source.addEventListener("error", () => {
      if (this.isOver || this.isGone()) return;
      if (source.readyState === EventSource.CLOSED) void this.lost();
      else this.connection.textContent = "The connection was lost. Trying again …";
    });
  }

  draw() {
    this.timer = 0;
    this.bar.max = this.total || 1;
    this.bar.value = this.rows.size;
    const words = `${countText(this.rows.size)} of ${plural(this.total, "result")}`;
    // Cases are over in their order: one that takes long holds up those behind it.
    this.words.textContent = this.answered > this.rows.size ? `${words}, ${countText(this.answered)} answered` : words;
    this.cases.hold([...this.rows.values()], this.state.models);
    this.cases.draw();
    if (Date.now() - this.spokenAt > SPOKEN_EVERY) {
      this.spokenAt = Date.now();
      announce(words);
    }
  }

  end() {
    if (this.isOver) return;
    this.isOver = true;
    this.unwatch();
    this.ended();
  }

  /** The stream is closed for good: over in the meantime, or gone with its server. */
  async lost() {
    try {
      const state = await call("GET", `/api/tool-eval/${encodeURIComponent(this.state.id)}`);
      if (this.isGone()) return;
      if (state.status !== "running") this.end();
      else this.listen();
    } catch (error) {
      if (this.isGone()) return;
      this.connection.replaceChildren(errorBox(error, "The run can no longer be watched"), button("Try again", () => void this.lost()));
    }
  }
}
