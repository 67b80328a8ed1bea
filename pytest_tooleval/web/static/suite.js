// @ts-check
// The suite editor: the suite's text, its problems, and its cases.

import { suiteHash } from "./address.js";
import { ApiError, call, query, suitePath } from "./api.js";
import { announce, ask, debounced, errorBox, pageHead, problemNodes } from "./controls.js";
import { JsonEditor } from "./json-editor.js";
import { find, insertItem, newlineOf, read, setRaw, unitOf } from "./json-text.js";
import { lineDifference } from "./page/difference.js";
import { toolsAt } from "./json-completion.js";
import { NEW_TOOL, newCase } from "./create.js";
import { caseList } from "./suite-cases.js";
import { button, el, link, outcomeText, shown, shownNodes } from "./page/dom.js";
import { plural } from "./page/numbers.js";

/** @import { Problem } from "./api.js" */
/** @import { Path } from "./json-text.js" */
/** @import { Case } from "./suite-cases.js" */

const START = "https://pytest-tooleval.github.io/pytest-tooleval/latest/get-started/forty/";
const LONG = 300_000;
const MOST_LISTED = 50;

/** @param {import("./main.js").Visit} visit */
export async function show({ place, rest, isGone }) {
  const [found, schema] = await Promise.all([call("GET", suitePath(rest)), call("GET", "/api/schema")]);
  if (isGone()) return;
  const editor = new Editor(rest, place, schema);
  editor.load(found.text, found.etag, found);
  return { isDirty: () => editor.isDirty, leave: () => editor.leave() };
}

/** @typedef {{problems: Problem[], warnings: Problem[], cases: Case[]}} Found */

class Editor {
  /** @param {string} file @param {HTMLElement} place @param {import("./json-completion.js").Schema} schema of the format */
  constructor(file, place, schema) {
    this.file = file;
    this.place = place;
    this.etag = "";
    this.text = "";
    this.savedText = "";
    /** @type {any} */
    this.data = undefined;
    /** The data when the text was last valid. @type {any} */
    this.known = undefined;
    /** @type {Problem[]} */
    this.problems = [];
    /** @type {Problem[]} */
    this.warnings = [];
    this.checks = 0;
    this.isSaving = false;
    this.title = el("bdi", {});
    this.state = el("span", { class: "state", role: "status" });
    this.saveButton = button("Save", () => void this.save(), { class: "main", title: "Save (Ctrl+S)" });
    this.runLink = link(`#/run${query({ file })}`, "Run", { class: "button" });
    this.messages = el("div", {});
    this.findings = el("div", { class: "findings" });
    this.json = new JsonEditor("The suite as JSON", { schema, data: () => this.known, typed: () => this.typedJson() });
    this.cases = el("nav", { class: "case-list", "aria-label": "Cases", hidden: "" });
    this.checking = debounced(() => void this.check(), () => (this.text.length > LONG ? 1500 : 350));
    this.adding = [
      button("Add a case", () => this.add("test_cases", newCase(toolsAt(this.data, [])[0]?.name ?? null), ["prompt"])),
      button("Add a tool", () => this.add("tools", NEW_TOOL, ["function", "name"])),
    ];
    const help = link(START, "What to write: start with these forty", { target: "_blank", rel: "noreferrer" });
    this.onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void this.save();
    };
    document.addEventListener("keydown", this.onKey);
    place.append(
      pageHead(this.title, this.saveButton, this.runLink, button("Delete", () => void this.remove())),
      el("p", { class: "muted" }, el("bdi", {}, shownNodes(file)), " · ", this.state),
      this.messages,
      this.findings,
      el("div", { class: "row" }, ...this.adding, help),
      el("div", { class: "columns" }, this.cases, this.json.node),
    );
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
    this.json.remove();
    this.checking.stop();
  }

  get isDirty() {
    return this.text !== this.savedText;
  }

  /**
   * @param {string | null} text
   * @param {string} etag
   * @param {Found} found
   */
  load(text, etag, found) {
    this.etag = etag;
    this.text = this.savedText = text ?? "";
    // The editor only knows \n.
    this.json.load(this.text.replace(/\r\n?/g, "\n"), text === null);
    this.parse();
    this.found(found);
  }

  parse() {
    const { data } = read(this.text);
    this.data = typeof data === "object" && data !== null && !Array.isArray(data) ? data : undefined;
    this.known = this.data ?? this.known;
  }

  typedJson() {
    const { text } = this.json;
    this.text = newlineOf(this.savedText) === "\r\n" ? text.replace(/\n/g, "\r\n") : text;
    this.parse();
    this.checking.start();
    this.showState();
  }

  showState() {
    const words = this.isSaving ? "saving…" : this.isDirty ? "unsaved changes" : "saved";
    if (this.state.textContent !== words) this.state.textContent = words;
    this.state.classList.toggle("note", this.isDirty);
    const name = this.data && typeof this.data.name === "string" ? this.data.name : "";
    const title = shown(name).trim() ? name : this.file;
    this.title.replaceChildren(shownNodes(title));
    document.title = `${shown(title)} · tooleval`;
    const hasCases = Array.isArray(this.data?.test_cases) && this.data.test_cases.length > 0;
    this.runLink.hidden = !hasCases;
    for (const each of this.adding) each.toggleAttribute("disabled", this.data === undefined);
  }

  /**
   * Add an item to the text, and select what to replace in it.
   * @param {"tools" | "test_cases"} key
   * @param {object} item
   * @param {string[]} first the field to fill in
   */
  add(key, item, first) {
    const { text } = this.json;
    const items = this.data[key];
    const spell = (/** @type {unknown} */ value) => JSON.stringify(value, null, unitOf(text));
    const count = Array.isArray(items) ? items.length : 0;
    this.json.change(Array.isArray(items) ? insertItem(text, [key], count, spell(item)) : setRaw(text, [key], spell([item]), key === "tools" ? 1 : Infinity));
    this.goToPath([key, count, ...first]);
  }

  /** Select what a path of the text has between its quotes or brackets. @param {Path} path */
  goToPath(path) {
    const node = this.data && find(this.json.text, path);
    if (node) this.json.select(node.from + 1, typeof path.at(-1) === "number" ? node.from + 1 : node.to - 1);
  }

  /** Ask the loader for problems of the current text. */
  async check() {
    this.checks += 1;
    const asked = this.checks;
    try {
      const found = await call("POST", suitePath(this.file, "/check"), { body: { text: this.text } });
      if (asked !== this.checks) return;
      this.found(found);
    } catch (error) {
      if (asked === this.checks) this.findings.replaceChildren(errorBox(error, "Could not check the suite"));
    }
  }

  /** @param {Found} found in the current text */
  found({ problems, warnings, cases }) {
    this.problems = problems;
    this.warnings = warnings;
    // A text with problems has no cases; those of the last one without help to find the place.
    if (!problems.length) this.cases.replaceChildren(caseList(this.file, cases, (place) => this.goToPath(["test_cases", place])));
    this.cases.hidden = !this.cases.querySelector("li");
    this.showFindings();
  }

  showFindings() {
    this.json.mark(this.problems, this.warnings);
    const parts = [];
    if (this.problems.length) {
      parts.push(this.list("failed", `${plural(this.problems.length, "problem")}; fix ${this.problems.length === 1 ? "it" : "them"} to save the suite`, this.problems, true));
    }
    if (this.warnings.length) parts.push(this.list("warning", plural(this.warnings.length, "warning"), this.warnings, false));
    const words = this.problems.length ? plural(this.problems.length, "problem") : "";
    if (this.findings.dataset.words !== words) announce(words || "no problems");
    this.findings.dataset.words = words;
    this.findings.replaceChildren(...parts);
    this.showState();
  }

  /**
   * @param {string} outcome
   * @param {string} words
   * @param {Problem[]} problems
   * @param {boolean} isOpen
   */
  list(outcome, words, problems, isOpen) {
    const items = problems.slice(0, MOST_LISTED).map((problem) => {
      const jump = button("", () => this.json.goTo(problem.line, problem.column), { class: "jump" });
      jump.append(problemNodes(problem));
      return el("li", {}, jump);
    });
    const more = problems.length > MOST_LISTED && el("li", {}, `and ${problems.length - MOST_LISTED} more`);
    const summary = el("summary", {}, outcomeText(outcome, words));
    return el("details", { class: `alert of-${outcome}`, open: isOpen ? "" : null }, summary, el("ul", { class: "problem-list" }, ...items, more));
  }

  save() {
    return this.put(this.etag);
  }

  /** @param {string} etag of the text to replace */
  put(etag) {
    return this.write((text) => call("PUT", suitePath(this.file), { body: { text }, etag }));
  }

  /** @param {(text: string) => Promise<any>} request */
  async write(request) {
    if (this.isSaving) return;
    const sent = this.text;
    this.isSaving = true;
    this.showState();
    try {
      const written = await request(sent);
      this.etag = written.etag;
      this.savedText = sent;
      this.clearMessages();
      this.warnings = written.warnings;
      if (this.text === sent) this.problems = [];
      this.showFindings();
      announce("Saved");
    } catch (error) {
      this.notSaved(error);
    }
    this.isSaving = false;
    this.showState();
  }

  /** Remove the messages, and keep the focus on the page if one of their buttons has it. */
  clearMessages() {
    if (this.messages.contains(document.activeElement)) this.saveButton.focus();
    this.messages.replaceChildren();
  }

  /** @param {unknown} error */
  notSaved(error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 409 && typeof error.body.etag === "string") {
      this.conflict(error.body.etag, error.body.text);
      return;
    }
    if (error.status === 404) {
      const create = (/** @type {string} */ text) => call("POST", "/api/suites", { body: { file: this.file, text } });
      const again = button("Create the file again", () => void this.write(create));
      this.messages.replaceChildren(errorBox(error, "Not saved, the file was deleted"), again);
      return;
    }
    if (error.status === 422) {
      this.problems = error.problems;
      this.showFindings();
      this.messages.replaceChildren(el("p", { class: "alert", role: "alert" }, outcomeText("failed", "Not saved: the suite has problems.")));
      return;
    }
    this.messages.replaceChildren(errorBox(error, "Not saved"));
  }

  /**
   * The file has changed on disk: show both versions, and let the user choose.
   * @param {string} etag
   * @param {string | null} theirs null if it is not text
   */
  conflict(etag, theirs) {
    const choose = (/** @type {string} */ label, action = () => {}) =>
      button(label, () => {
        this.clearMessages();
        action();
      });
    const take = choose("Discard my changes", () => {
      this.load(theirs, etag, { problems: [], warnings: [], cases: [] });
      void this.check();
    });
    take.toggleAttribute("disabled", theirs === null);
    const text = "Another program or page changed this file after you opened it. Choose which version to keep. ";
    const signs = "Lines with − are only on disk, lines with + only in your version.";
    const view = el(
      "section",
      { class: "alert conflict", role: "alert", tabindex: -1, "aria-labelledby": "conflict-title" },
      el("h2", { id: "conflict-title" }, outcomeText("failed", "Not saved: the file has changed on disk")),
      el("p", {}, text, signs),
      theirs === null ? el("p", {}, "The file on disk is not UTF-8 text.") : lineDifference(theirs, this.text, "On disk (−) and mine (+)"),
      el("div", { class: "row" }, choose("Overwrite with my version", () => void this.put(etag)), take, choose("Keep editing")),
    );
    this.messages.replaceChildren(view);
    view.focus();
  }

  async remove() {
    const answer = await ask("Delete this suite?", `This deletes the file ${this.file}. Its runs stay in the history.`, [
      ["delete", "Delete the file"],
      ["", "Cancel"],
    ]);
    if (answer !== "delete") return;
    try {
      await call("DELETE", suitePath(this.file), { etag: this.etag });
      this.savedText = this.text;
      location.hash = "#/suites";
    } catch (error) {
      if (error instanceof ApiError && error.status === 409 && typeof error.body.etag === "string") {
        this.messages.replaceChildren(errorBox(new Error("the file has changed on disk; reload it first"), "Not deleted"), link(suiteHash(this.file), "Reload"));
        this.etag = error.body.etag;
      } else this.messages.replaceChildren(errorBox(error, "Not deleted"));
    }
  }
}
