// @ts-check
// The cases of a run: filters, the matrix, and the panel for one case.

import { chosenCases, indexOf, readState, underVariant, writeState } from "./cases.js";
import { el, outcomeText, section } from "./dom.js";
import { Matrix } from "./matrix.js";
import { UNKNOWN, countText } from "./numbers.js";
import { Panel } from "./panel.js";
import { Toolbar } from "./toolbar.js";

/** @import { Row, State } from "./cases.js" */
/** @import { Column } from "./columns.js" */
/** @import { Load } from "./panel.js" */
/**
 * How a view loads a case, and writes its state to the address: as a query, such as `q=paris&case=...`.
 * `options` are those of the run, `columns` those of trials and replies, `hrefOf` gives the editor's address for a suite file, and `actions`
 * the buttons for a trial.
 * @typedef {{load: Load, write: (query: string, isPushed: boolean) => void, options: Record<string, unknown>, columns: Record<string, Column[]>,
 *   hrefOf?: (file: string) => string, actions?: (row: Row) => HTMLElement[]}} Surroundings
 */

function legendNode() {
  const signs = [["passed", "passed"], ["failed", "failed"], ["tolerated", "failed or no answer, tolerated"], ["error", "no answer"], ["skipped", "skipped"]];
  const items = signs.map(([outcome, words]) => el("li", {}, outcomeText(outcome, words)));
  return el("ul", { class: "legend", "aria-label": "Legend" }, ...items, el("li", {}, `${UNKNOWN} not run`));
}

export class CaseView {
  /** @param {Surroundings} around @param {string} query of the address */
  constructor(around, query) {
    this.around = around;
    this.state = readState(query);
    this.index = indexOf([]);
    this.isWaiting = false;
    this.toolbar = new Toolbar((changes) => this.change(changes));
    this.matrix = new Matrix(
      (sort) => this.change({ sort }),
      (each, model) => this.change({ open: each.key, on: this.index.models[model].key, trial: 0 }, true),
    );
    this.panel = new Panel(around, (changes) => this.change(changes));
    this.status = el("p", { class: "status", role: "status" });
    this.node = section("cases", "Cases", this.toolbar.node, this.status, this.matrix.node, legendNode());
    this.onPrint = () => this.matrix.drawMore(this.matrix.view.length);
    window.addEventListener("beforeprint", this.onPrint);
  }

  remove() {
    window.removeEventListener("beforeprint", this.onPrint);
    this.panel.remove();
  }

  /** @param {Row[]} rows @param {string[]} models in the order of their columns */
  hold(rows, models) {
    this.index = indexOf(rows, models);
    this.toolbar.offer(this.index);
  }

  /** @param {string} query of the new address */
  go(query) {
    this.state = readState(query);
    this.draw();
  }

  /** @param {Partial<State>} changes @param {boolean} isPushed whether Back should undo it */
  change(changes, isPushed = false) {
    const { open } = this.state;
    const { model } = this.panel;
    this.state = { ...this.state, ...changes };
    this.around.write(writeState(this.state), isPushed);
    if (Object.keys(changes).every((key) => ["open", "on", "trial"].includes(key))) this.drawPanel();
    else this.drawSoon();
    if (open && !this.state.open) this.matrix.focusCell(open, model);
  }

  /** At most once per frame, for fast typing. */
  drawSoon() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  draw() {
    const { index, state } = this;
    const view = chosenCases(index, state);
    const model = index.models.findIndex(({ key }) => key === state.model);
    this.matrix.show(index, view, model, state.sort);
    const cases = underVariant(index, state);
    this.toolbar.show(state, cases);
    const all = countText(cases.length);
    this.status.textContent = view.length || !cases.length ? `${countText(view.length)} of ${all} cases` : `No cases match; ${all} are hidden.`;
    this.drawPanel();
  }

  drawPanel() {
    this.panel.show(this.index, this.matrix.view, this.state);
    this.matrix.markOpen(this.state.open);
  }
}
