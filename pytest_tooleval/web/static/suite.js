// @ts-check
// A suite: its text, which is the truth, the forms and the JSON view that change it, and its file.

import { go, suiteHash } from "./address.js";
import { ApiError, call, query, suitePath } from "./api.js";
import { conflictView } from "./conflict.js";
import { announce, ask, debounced, errorBox, pageHead, problemNodes } from "./controls.js";
import { newlineOf, read } from "./json-text.js";
import { SuiteForms } from "./suite-forms.js";
import { button, el, link, outcomeText, shown, shownNodes } from "./page/dom.js";
import { plural, scoreText } from "./page/numbers.js";

/** @import { Problem } from "./api.js" */

const VIEW_KEY = "tooleval-suite-view";
const VIEWS = ["form", "both", "json"];
const NARROW = "(max-width: 1099px)";
const LONG = 300_000;
const MOST_LISTED = 50;
const MOST_MUTATED = 500; // cases; more take the server too long

/** @param {import("./main.js").Visit} visit */
export async function show({ place, rest, isGone }) {
  // Large, and of no use to other pages.
  const [found, schema, { JsonEditor }] = await Promise.all([call("GET", suitePath(rest)), call("GET", "/api/schema"), import("./json-editor.js")]);
  if (isGone()) return;
  const editor = new Editor(rest, place, schema, JsonEditor);
  editor.load(found.text, found.etag, found.problems, found.warnings);
  return { isDirty: () => editor.isDirty, leave: () => editor.leave() };
}

class Editor {
  /** @param {string} file @param {HTMLElement} place @param {import("./json-completion.js").Schema} schema of the format @param {typeof import("./json-editor.js").JsonEditor} JsonEditor */
  constructor(file, place, schema, JsonEditor) {
    this.file = file;
    this.place = place;
    this.etag = "";
    this.text = "";
    this.savedText = "";
    /** @type {any} */
    this.data = undefined;
    /** As it was when it last could be read. @type {any} */
    this.known = undefined;
    this.syntax = "";
    /** @type {Problem[]} */
    this.problems = [];
    /** @type {Problem[]} */
    this.warnings = [];
    this.checks = 0;
    this.mutations = 0;
    this.isSaving = false;
    this.title = el("bdi", {});
    this.state = el("span", { class: "state", role: "status" });
    this.saveButton = button("Save", () => void this.save(), { class: "main", title: "Save (Ctrl+S)" });
    this.runLink = link(`#/run${query({ file })}`, "Run", { class: "button" });
    this.messages = el("div", {});
    this.findings = el("div", { class: "findings" });
    this.mutation = el("div", { class: "findings" });
    this.json = new JsonEditor("The suite as JSON", { schema, data: () => this.known, typed: () => this.typedJson() });
    this.formsPlace = el("div", { class: "forms" });
    this.jsonPlace = el("div", { class: "json-view" }, el("h2", {}, "JSON"), this.json.node);
    this.forms = new SuiteForms(this, schema, this.formsPlace);
    const wait = () => (this.text.length > LONG ? 900 : 250);
    this.checking = debounced(() => void this.check(), () => (this.text.length > LONG ? 1500 : 350));
    this.showingJson = debounced(() => this.showJson(), wait);
    this.showingForms = debounced(() => this.showForms(), wait);
    this.views = VIEWS.map((view) => button(view === "json" ? "JSON" : view === "form" ? "Form" : "Both", () => this.view(view), { "data-view": view }));
    this.columns = el("div", { class: "columns" }, this.formsPlace, this.jsonPlace);
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
      this.mutation,
      el("div", { class: "tabs", role: "group", "aria-label": "View" }, ...this.views),
      this.columns,
    );
    let kept = localStorage.getItem(VIEW_KEY) || "both";
    if (!VIEWS.includes(kept)) kept = "both";
    this.view(kept === "both" && window.matchMedia(NARROW).matches ? "form" : kept, false);
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
    this.json.remove();
    this.checking.stop();
    this.showingJson.stop();
    this.showingForms.stop();
  }

  get isDirty() {
    return this.text !== this.savedText || this.forms.hasBroken();
  }

  /**
   * @param {string | null} text
   * @param {string} etag
   * @param {Problem[]} problems
   * @param {Problem[]} warnings
   */
  load(text, etag, problems, warnings) {
    this.etag = etag;
    this.text = this.savedText = text ?? "";
    this.json.load(this.shownText, text === null);
    this.problems = problems;
    this.warnings = warnings;
    this.parse();
    this.showForms();
    this.showFindings();
    void this.mutate();
    if (this.data === undefined) this.view("json", false);
  }

  parse() {
    const { data, error } = read(this.text);
    const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
    this.data = isObject ? data : undefined;
    this.known = this.data ?? this.known;
    this.syntax = isObject ? "" : error || "The text is not an object.";
  }

  /**
   * The text after a change in a form.
   * @param {string} text
   */
  change(text) {
    if (text === this.text) {
      this.showState();
      return;
    }
    this.text = text;
    this.parse();
    this.showingJson.start();
    this.changed();
  }

  typedJson() {
    const { text } = this.json;
    this.text = newlineOf(this.savedText) === "\r\n" ? text.replace(/\n/g, "\r\n") : text;
    this.parse();
    this.showingJson.stop();
    this.showingForms.start();
    this.changed();
  }

  changed() {
    this.checking.start();
    this.showState();
  }

  showState() {
    const words = this.isSaving ? "saving …" : this.isDirty ? "unsaved changes" : "saved";
    if (this.state.textContent !== words) this.state.textContent = words;
    this.state.classList.toggle("note", this.isDirty);
    const name = this.data && typeof this.data.name === "string" ? this.data.name : "";
    const title = shown(name).trim() ? name : this.file;
    this.title.replaceChildren(shownNodes(title));
    document.title = `${shown(title)} · tooleval`;
    const hasCases = Array.isArray(this.data?.test_cases) && this.data.test_cases.length > 0;
    this.runLink.hidden = !hasCases;
  }

  /** The editor knows only \n. */
  get shownText() {
    return this.text.replace(/\r\n?/g, "\n");
  }

  showJson() {
    this.json.show(this.shownText);
  }

  showForms() {
    this.forms.draw();
    this.showState();
  }

  /** @param {string} view @param {boolean} keep */
  view(view, keep = true) {
    this.columns.dataset.view = view;
    for (const each of this.views) each.setAttribute("aria-pressed", String(each.dataset.view === view));
    if (keep) localStorage.setItem(VIEW_KEY, view);
  }

  /** Ask the loader what it thinks of the text as it stands. */
  async check() {
    this.checks += 1;
    const asked = this.checks;
    try {
      const found = await call("POST", `${suitePath(this.file)}/check`, { body: { text: this.text } });
      if (asked !== this.checks) return;
      this.problems = found.problems;
      this.warnings = found.warnings;
      this.showFindings();
    } catch (error) {
      if (asked === this.checks) this.findings.replaceChildren(errorBox(error, "The suite could not be checked"));
    }
  }

  showFindings() {
    this.forms.showProblems(this.problems, this.warnings);
    this.json.mark(this.problems, this.warnings);
    const parts = [];
    if (this.problems.length) {
      parts.push(this.list("failed", `${plural(this.problems.length, "problem")}, to be mended before the suite can be saved`, this.problems, true));
    }
    if (this.warnings.length) parts.push(this.list("warning", plural(this.warnings.length, "warning"), this.warnings, false));
    const words = this.problems.length ? plural(this.problems.length, "problem") : "";
    if (this.findings.dataset.words !== words) announce(words || "no problems");
    this.findings.dataset.words = words;
    this.findings.replaceChildren(...parts);
    this.showState();
  }

  /** The mutation score of the file: would it notice a wrong answer? A file with problems has none. */
  async mutate() {
    this.mutations += 1;
    const asked = this.mutations;
    this.mutation.replaceChildren();
    const cases = this.data?.test_cases?.length ?? 0;
    // The tools of a server are not known here.
    if (this.problems.length || this.data?.tools_from || cases === 0 || cases > MOST_MUTATED) return;
    const found = await call("GET", `${suitePath(this.file)}/mutation`).catch(() => null);
    if (asked !== this.mutations) return;
    const score = found && found.score !== null ? `Mutation score ${scoreText(found.score)}` : "No mutation score";
    const passing = found && found.survivors ? `: ${found.survivors} of ${plural(found.mutants, "wrong answer")} would pass` : "";
    if (!found || (found.score === null && !found.gaps.length)) return;
    if (found.gaps.length) this.mutation.replaceChildren(this.list("warning", score + passing, found.gaps, false));
    else this.mutation.replaceChildren(el("p", {}, outcomeText("passed", `${score}: all ${plural(found.mutants, "wrong answer")} would be noticed`)));
  }

  /**
   * @param {string} outcome
   * @param {string} words
   * @param {Problem[]} problems
   * @param {boolean} isOpen
   */
  list(outcome, words, problems, isOpen) {
    const items = problems.slice(0, MOST_LISTED).map((problem) => {
      const jump = button("", () => this.goTo(problem), { class: "jump" });
      jump.append(problemNodes(problem));
      return el("li", {}, jump);
    });
    const more = problems.length > MOST_LISTED && el("li", {}, `and ${problems.length - MOST_LISTED} more`);
    const summary = el("summary", {}, outcomeText(outcome, words));
    return el("details", { class: `alert of-${outcome}`, open: isOpen ? "" : null }, summary, el("ul", { class: "problem-list" }, ...items, more));
  }

  /** To the field that a problem is about, else to its place in the text. @param {Problem} problem */
  goTo(problem) {
    if (this.columns.dataset.view !== "json" && this.forms.focusField(problem.field)) return;
    if (this.columns.dataset.view === "form") this.view("json", false);
    this.showJson();
    this.json.goTo(problem.line, problem.column);
  }

  async save() {
    if (this.isSaving) return;
    if (this.forms.focusBroken()) {
      this.messages.replaceChildren(errorBox(new Error("a field of the form holds no JSON"), "Not saved"));
      return;
    }
    await this.put(this.etag);
  }

  /** @param {string} etag of the text that is to be replaced */
  async put(etag) {
    const sent = this.text;
    this.isSaving = true;
    this.showState();
    try {
      const written = await call("PUT", suitePath(this.file), { body: { text: sent }, etag });
      this.etag = written.etag;
      this.savedText = sent;
      this.messages.replaceChildren();
      this.warnings = written.warnings;
      if (this.text === sent) this.problems = [];
      this.showFindings();
      void this.mutate();
      announce("Saved");
    } catch (error) {
      this.notSaved(error);
    }
    this.isSaving = false;
    this.showState();
  }

  /** @param {unknown} error */
  notSaved(error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 409 && typeof error.body.etag === "string") {
      this.conflict(error.body.etag, error.body.text);
      return;
    }
    if (error.status === 404) {
      const again = button("Make the file again", () => void this.makeAgain());
      this.messages.replaceChildren(errorBox(error, "Not saved, the file is gone"), again);
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

  async makeAgain() {
    if (this.isSaving) return;
    const sent = this.text;
    this.isSaving = true;
    this.showState();
    try {
      const made = await call("POST", "/api/suites", { body: { file: this.file, text: sent } });
      this.etag = made.etag;
      this.savedText = sent;
      this.messages.replaceChildren();
      announce("Saved");
    } catch (error) {
      this.messages.replaceChildren(errorBox(error, "Not saved"));
    }
    this.isSaving = false;
    this.showState();
  }

  /**
   * Somebody else wrote the file: show both, and let the person choose.
   * @param {string} etag
   * @param {string | null} theirs
   */
  conflict(etag, theirs) {
    const close = () => this.messages.replaceChildren();
    const view = conflictView(this.text, theirs, {
      mine: () => {
        close();
        void this.put(etag);
      },
      theirs: () => {
        close();
        this.load(theirs, etag, [], []);
        void this.check();
      },
      later: close,
    });
    this.messages.replaceChildren(view);
    view.focus();
  }

  async remove() {
    const answer = await ask("Delete this suite?", `The file ${this.file} will be deleted. Runs of it stay in the history.`, [
      ["delete", "Delete the file"],
      ["", "Keep it"],
    ]);
    if (answer !== "delete") return;
    try {
      await call("DELETE", suitePath(this.file), { etag: this.etag });
      this.savedText = this.text;
      this.forms.forgetBroken();
      go("#/suites");
    } catch (error) {
      if (error instanceof ApiError && error.status === 409 && typeof error.body.etag === "string") {
        this.messages.replaceChildren(errorBox(new Error("somebody else has changed the file; look at it again first"), "Not deleted"), link(suiteHash(this.file), "Load it again"));
        this.etag = error.body.etag;
      } else this.messages.replaceChildren(errorBox(error, "Not deleted"));
    }
  }
}
