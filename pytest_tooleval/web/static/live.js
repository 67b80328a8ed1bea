// @ts-check
// A running run: its progress, and cases as they finish.

import { call, query, runPath } from "./api.js";
import { announce, errorBox } from "./controls.js";
import { CaseView } from "./page/case-view.js";
import { button, el } from "./page/dom.js";
import { countText, plural } from "./page/numbers.js";

/** @import { Surroundings } from "./page/case-view.js" */
/** @import { Row } from "./page/cases.js" */

const SPOKEN_EVERY = 10_000;
// In milliseconds; each time all cases are sorted again.
const DRAWN_EVERY = 200;

export class LiveRun {
  /**
   * @param {any} state
   * @param {Surroundings} around
   * @param {string} shown the query of the address
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
    /** By node id, as an event may come twice. @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {EventSource | null} */
    this.source = null;
    this.lastId = "";
    this.spokenAt = 0;
    this.timer = 0;
    this.onVisible = () => this.listen();
    this.cases = new CaseView(around, shown);
    this.bar = /** @type {HTMLProgressElement} */ (el("progress", { "aria-label": "Completed cases" }));
    this.words = el("span", { class: "number" });
    this.connection = el("p", { class: "note", role: "status" });
    this.nodes = [el("section", { class: "card live", "aria-label": "Progress" }, this.words, this.bar), this.connection, this.cases.node];
  }

  /** Listen while the page is visible: a browser has only six connections to a server, for all its tabs. */
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

  /** Listen to all events, or only those after the last one seen. */
  listen() {
    this.source?.close();
    if (document.hidden) return;
    const source = new EventSource(`${runPath(this.state.id)}/events${query({ after: this.lastId })}`);
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
      else this.connection.textContent = "Connection lost. Reconnecting…";
    });
  }

  draw() {
    this.timer = 0;
    this.bar.max = this.total || 1;
    this.bar.value = this.rows.size;
    const words = `${countText(this.rows.size)} of ${plural(this.total, "case")}`;
    // Cases finish in order, so a slow one holds up those after it.
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

  /** The stream is closed: the run has ended, or the server is gone. */
  async lost() {
    try {
      const state = await call("GET", runPath(this.state.id));
      if (this.isGone()) return;
      if (state.status !== "running") this.end();
      else this.listen();
    } catch (error) {
      if (this.isGone()) return;
      this.connection.replaceChildren(errorBox(error, "Lost the connection to the run"), button("Try again", () => void this.lost()));
    }
  }
}
