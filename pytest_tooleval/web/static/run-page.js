// @ts-check
// A run: live while it is running, then its results.

import { runHash, suiteHash, writeHash } from "./address.js";
import { call, historyPath, query, runPath } from "./api.js";
import { announce, ask, errorBox, outputBox, pageHead } from "./controls.js";
import { LiveRun } from "./live.js";
import { button, el, isolated, link, moment } from "./page/dom.js";
import { exactJson } from "./page/json.js";
import { RunView } from "./page/view.js";

/** @import { Row } from "./page/cases.js" */

/** @param {import("./main.js").Visit} visit */
export async function show({ place, rest, params, isGone }) {
  // The server knows more than the history about runs that it started.
  const state = (await call("GET", "/api/runs")).find((/** @type {any} */ run) => run.id === rest);
  const document = state ? null : await call("GET", historyPath(rest));
  if (isGone()) return;
  const project = await call("GET", "/api/project");
  if (isGone()) return;
  const page = new RunPage(state ?? stateOf(document), project, place, params.toString(), isGone);
  if (state?.status === "running") page.watch();
  else await page.whole(document);
  return { leave: () => page.leave(), moved: (/** @type {URLSearchParams} */ now) => page.cases?.go(now.toString()) };
}

class RunPage {
  /** @param {any} state @param {{root: string, columns: any}} project @param {HTMLElement} place @param {string} shown the query of the address @param {() => boolean} isGone */
  constructor(state, project, place, shown, isGone) {
    this.state = state;
    this.project = project;
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

  /** For the view of the cases. */
  around() {
    const own = runHash(this.state.id);
    const address = (/** @type {string} */ text) => own + (text && `?${text}`);
    return {
      heading: "h2",
      load: (/** @type {Row} */ row) => this.load(row),
      write: (/** @type {string} */ text, /** @type {boolean} */ isPushed) => {
        this.shown = text;
        writeHash(address(text), isPushed);
      },
      options: this.state.options,
      columns: this.project.columns,
      hrefOf: (/** @type {string} */ file) => (file.endsWith(".py") ? "" : suiteHash(file)),
      actions: (/** @type {Row} */ row) => this.actionsFor(row),
      runHref: runHash,
      address,
    };
  }

  /** A case with its transcripts. @param {Row} row */
  load(row) {
    return call("GET", `${historyPath(this.state.id)}/cases${query({ nodeid: row.nodeid })}`, { read: exactJson });
  }

  /** The buttons for a case. @param {Row} row */
  actionsFor(row) {
    const again = this.again();
    for (const name of ["file", "model", "case"]) again.delete(name);
    for (const [name, value] of [["file", row.file], ["model", row.model], ["case", row.case]]) if (value) again.append(name, value);
    const editor = `vscode://file/${[...this.project.root.split(/[\\/]/), ...row.file.split("/")].filter(Boolean).map(encodeURIComponent).join("/")}:${row.line || 1}`;
    if (row.file.endsWith(".py")) return [link(editor, "Open in VS Code", { class: "button" }), el("small", { class: "muted" }, "A Python test: edit it in its file, and run it with pytest.")];
    return [
      link(`#/run?${again}`, "Run this case again", { class: "button" }),
      link(editor, "Open in VS Code", { class: "button" }),
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
      this.state = await call("GET", runPath(this.state.id));
    } catch (error) {
      this.messages.replaceChildren(errorBox(error));
    }
    if (this.isGone()) return;
    announce(`Run ${this.state.status}`);
    await this.whole();
  }

  /** @param {any} [document] if it has been read already */
  async whole(document) {
    const { state } = this;
    this.actions.replaceChildren(link(`#/run?${this.again()}`, "Run again", { class: "button" }), link(`${historyPath(state.id)}/report`, "Download report", { class: "button", download: "" }), link(`#/compare${query({ new: state.id })}`, "Compare", { class: "button" }));
    const messages = [state.problem && errorBox(new Error(state.problem)), outputBox(state.output, state.status === "failed")];
    this.messages.replaceChildren(...messages.filter((each) => each));
    this.body.replaceChildren(...(this.live?.rows.size ? [this.live.cases.node] : []));
    // The messages above say why.
    if (state.status === "failed" && !state.done) return;
    try {
      document ??= await call("GET", historyPath(state.id));
      if (this.isGone()) return;
      this.cases?.remove();
      const view = new RunView(document, [], this.around(), this.shown);
      this.cases = view.cases;
      view.show(this.body);
    } catch (error) {
      if (!this.isGone()) this.messages.append(errorBox(error, "Could not load the results"));
    }
  }

  /** The run form's query for the same run. */
  again() {
    const { files, models, cases, options } = this.state;
    const params = new URLSearchParams();
    for (const file of files) params.append("file", file);
    for (const model of models) params.append("model", model);
    for (const id of cases || []) params.append("case", id);
    for (const [name, value] of Object.entries(options)) if (name !== "model") params.set(name, [value].flat().join(" "));
    return params;
  }

  async cancel() {
    const answer = await ask("Cancel this run?", "Answers so far stay in the history.", [["cancel", "Cancel the run"], ["", "Keep running"]]);
    if (answer !== "cancel") return;
    try {
      await call("POST", `${runPath(this.state.id)}/cancel`);
    } catch (error) {
      this.messages.replaceChildren(errorBox(error, "Could not cancel the run"));
    }
  }
}

/**
 * A run of the history, in the form of the server's own runs.
 * @param {any} document
 */
function stateOf({ run, models, suites, cases }) {
  // A run that was cut short, as by `pytest -x`, does not know which cases were selected.
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
