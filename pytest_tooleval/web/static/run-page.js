// @ts-check
// A run: live while it goes on, and whole afterwards.

import { accept } from "./accept.js";
import { replaceHash, pushHash, runHash, suiteHash } from "./address.js";
import { call, query } from "./api.js";
import { announce, ask, errorBox, outputBox, pageHead } from "./controls.js";
import { LiveRun } from "./live.js";
import { button, el, isolated, link, moment } from "./page/dom.js";
import { exactJson } from "./page/json.js";
import { RunView } from "./page/view.js";

/** @import { Row } from "./page/cases.js" */

/** The options of pytest that the form for a run has. */
const SETTINGS = ["temperature", "trials", "tool-choice", "max-cost", "threshold", "cassette", "record", "gate"];

/** @param {import("./main.js").Visit} visit */
export async function show({ place, rest, params, isGone }) {
  // Of a run that it started the server knows more than the history.
  const state = (await call("GET", "/api/tool-eval")).find((/** @type {any} */ run) => run.id === rest);
  const document = state ? null : await call("GET", `/api/history/${encodeURIComponent(rest)}`);
  if (isGone()) return;
  const { root } = await call("GET", "/api/project");
  if (isGone()) return;
  const page = new RunPage(state ?? stateOf(document), root, place, params.toString(), isGone);
  if (state?.status === "running") page.watch();
  else await page.whole(document);
  return { leave: () => page.leave(), moved: (/** @type {URLSearchParams} */ now) => page.cases?.go(now.toString()) };
}

class RunPage {
  /** @param {any} state @param {string} root the folder of the project @param {HTMLElement} place @param {string} shown what the address says @param {() => boolean} isGone */
  constructor(state, root, place, shown, isGone) {
    this.state = state;
    this.root = root;
    this.shown = shown;
    this.isGone = isGone;
    /** @type {LiveRun | null} */
    this.live = null;
    /** @type {import("./page/case-view.js").CaseView | null} */
    this.cases = null;
    this.messages = el("div", {});
    this.actions = el("div", { class: "row" });
    this.body = el("div", { class: "run" });
    place.append(pageHead(el("span", {}, "Run ", el("small", {}, moment(state.started))), this.actions), this.messages, this.body);
  }

  leave() {
    this.live?.unwatch();
    this.cases?.remove();
  }

  /** What a view of cases needs. */
  around() {
    const own = runHash(this.state.id);
    const address = (/** @type {string} */ text) => own + (text && `?${text}`);
    const path = `/api/history/${encodeURIComponent(this.state.id)}/cases`;
    return {
      heading: "h2",
      load: (/** @type {Row} */ row) => call("GET", path + query({ nodeid: row.nodeid }), { read: exactJson }),
      write: (/** @type {string} */ text, /** @type {boolean} */ isPushed) => {
        this.shown = text;
        (isPushed ? pushHash : replaceHash)(address(text));
      },
      options: this.state.options,
      hrefOf: suiteHash,
      actions: (/** @type {Row} */ row, /** @type {number} */ trial) => this.actionsFor(row, trial),
      runHref: runHash,
      address,
    };
  }

  /** What can be done about a trial. @param {Row} row @param {number} number of the trial, from 0 */
  actionsFor(row, number) {
    const again = this.again();
    for (const name of ["file", "model", "case"]) again.delete(name);
    for (const [name, value] of [["file", row.file], ["model", row.model], ["case", row.case]]) if (value) again.append(name, value);
    const editor = `vscode://file/${[...this.root.split(/[\\/]/), ...row.file.split("/")].filter(Boolean).map(encodeURIComponent).join("/")}:${row.line || 1}`;
    const trial = row.trials[number];
    const take = async () => {
      const whole = await call("GET", `/api/history/${encodeURIComponent(this.state.id)}/cases${query({ nodeid: row.nodeid })}`, { read: exactJson });
      await accept(row, whole.trials[number]);
    };
    return [
      link(`#/run?${again}`, "Run this again", { class: "button" }),
      link(editor, "Open in VS Code", { class: "button" }),
      ...(trial && !trial.passed && !trial.error ? [button("Accept this answer …", () => void take())] : []),
    ];
  }

  watch() {
    this.live = new LiveRun(this.state, this.around(), this.shown, () => void this.ended(), this.isGone);
    this.cases = this.live.cases;
    this.actions.replaceChildren(button("Cancel", () => void this.cancel(), { class: "danger" }));
    this.body.replaceChildren(el("p", { class: "muted" }, "● running · ", isolated(this.state.models.join(", "))), ...this.live.nodes);
    this.live.watch();
  }

  async ended() {
    try {
      this.state = await call("GET", `/api/tool-eval/${encodeURIComponent(this.state.id)}`);
    } catch (error) {
      this.messages.replaceChildren(errorBox(error));
    }
    if (this.isGone()) return;
    announce(`The run is ${this.state.status}`);
    await this.whole();
  }

  /** @param {any} [document] if it has been read already */
  async whole(document) {
    const { state } = this;
    this.actions.replaceChildren(link(`#/run?${this.again()}`, "Run again", { class: "button" }), link(`/api/history/${encodeURIComponent(state.id)}/report`, "Download report", { class: "button", download: "" }), link(`#/compare${query({ new: state.id })}`, "Compare", { class: "button" }));
    const messages = [state.problem && errorBox(new Error(state.problem)), outputBox(state.output, state.status === "failed")];
    this.messages.replaceChildren(...messages.filter((each) => each));
    this.body.replaceChildren(...(this.live?.rows.size ? [this.live.cases.node] : []));
    // It has said why.
    if (state.status === "failed" && !state.done) return;
    try {
      document ??= await call("GET", `/api/history/${encodeURIComponent(state.id)}`);
      if (this.isGone()) return;
      this.cases?.remove();
      const view = new RunView(document, null, this.around(), this.shown);
      this.cases = view.cases;
      view.show(this.body);
    } catch (error) {
      if (!this.isGone()) this.messages.append(errorBox(error, "The results cannot be read"));
    }
  }

  /** What the form needs to do the same again: an empty setting, too, so that no kept one takes its place. */
  again() {
    const { files, models, cases, options } = this.state;
    const params = new URLSearchParams();
    for (const file of files) params.append("file", file);
    for (const model of models) params.append("model", model);
    for (const id of cases || []) params.append("case", id);
    for (const name of SETTINGS) params.set(name.replace("-", "_"), [options?.[name] ?? []].flat().join(" "));
    return params;
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
}

/**
 * A run of the history, as the server tells of its own.
 * @param {any} document
 */
function stateOf({ run, models, suites, cases }) {
  // A run that was cut short, as by `pytest -x`, has the cases it came to, not those that were chosen.
  const isChosen = run.partial && run.exitstatus === 0;
  return {
    id: run.id,
    started: run.started,
    options: run.options,
    models: models.map((/** @type {any} */ row) => row.model),
    files: [...new Set(suites.map((/** @type {any} */ row) => row.file))],
    cases: isChosen ? [...new Set(cases.map((/** @type {any} */ row) => row.case))] : null,
  };
}
