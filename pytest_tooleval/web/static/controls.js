// @ts-check
// Building blocks beyond those of the report: headings, fields, messages, dialogs.

import { button, el, link, outcomeText, shown, shownNodes } from "./page/dom.js";

/** @import { Problem } from "./api.js" */

let serial = 0;

export function newId() {
  serial += 1;
  return `id-${serial}`;
}

/**
 * The head of a page: its heading, which gets the focus, and buttons.
 * @param {Node | string} title
 * @param {...(Node | string | null)} actions
 */
export function pageHead(title, ...actions) {
  const heading = el("h1", { tabindex: -1 }, title);
  return el("div", { class: "page-head" }, heading, el("div", { class: "row" }, ...actions));
}

/** For screen readers. @param {string} text */
export function announce(text) {
  const place = document.getElementById("spoken");
  if (place) place.textContent = shown(text);
}

/**
 * An error message with its problems.
 * @param {unknown} error
 * @param {string} [what] failed
 */
export function errorBox(error, what = "") {
  const message = error instanceof Error ? error.message : String(error);
  const problems = /** @type {Problem[]} */ ((error && /** @type {any} */ (error).problems) || []);
  const rest = problems.filter((problem) => !message.includes(problem.message) || problems.length > 1);
  return el(
    "div",
    { class: "alert", role: "alert" },
    el("p", {}, outcomeText("failed", what ? `${what}: ` : ""), shownNodes(missing(error) || message)),
    rest.length > 0 && problemList(rest),
    outputBox(/** @type {any} */ (error)?.body?.output, true),
  );
}

/**
 * The output of pytest, if any.
 * @param {string} [text] safe to show
 * @param {boolean} [isOpen]
 */
export function outputBox(text, isOpen = false) {
  if (!text) return null;
  const written = el("pre", { tabindex: 0 }, text);
  const box = el("details", { class: "output", open: isOpen ? "" : null }, el("summary", {}, "pytest output"), written);
  // Errors are at the end.
  box.addEventListener("toggle", () => written.scrollTo(0, written.scrollHeight));
  return box;
}

/**
 * A "not found" error without what only matters to scripts: the field, and the names that runs have there.
 * "" for other errors.
 * @param {any} error
 */
function missing(error) {
  const problem = error?.status === 404 && error.problems?.[0];
  if (!problem) return "";
  const text = problem.message.replace(/; expected latest, .*$/s, "");
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** @param {Problem[]} problems */
function problemList(problems) {
  return el("ul", { class: "problem-list" }, ...problems.map((problem) => el("li", {}, problemNodes(problem))));
}

/** @param {Problem} problem */
export function problemNodes(problem) {
  const nodes = document.createDocumentFragment();
  if (problem.line > 1 || problem.column > 1) nodes.append(el("small", {}, `line ${problem.line}, column ${problem.column} `));
  if (problem.field) nodes.append(el("code", {}, shownNodes(problem.field)), ": ");
  nodes.append(shownNodes(problem.message));
  return nodes;
}

/**
 * A control with a label and a hint.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {{hint?: string, wide?: boolean}} [options]
 */
export function field(label, control, { hint = "", wide = false } = {}) {
  const id = control.id || newId();
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  const labelled = el("label", { for: id }, label);
  return el(
    "div",
    { class: wide ? "field wide" : "field" },
    labelled,
    control,
    hint && el("small", { id: `${id}-hint` }, hint),
  );
}

/**
 * @param {Record<string, string | number | null | undefined>} attributes
 * @returns {HTMLInputElement}
 */
export function input(attributes = {}) {
  return /** @type {HTMLInputElement} */ (el("input", { type: "text", autocomplete: "off", ...attributes }));
}

/**
 * @param {Record<string, string | number | null | undefined>} attributes
 * @returns {HTMLTextAreaElement}
 */
export function textArea(attributes = {}) {
  return /** @type {HTMLTextAreaElement} */ (el("textarea", { rows: 2, ...attributes }));
}

/**
 * @param {[string, string][]} options pairs of value and text
 * @param {string} value
 * @returns {HTMLSelectElement}
 */
export function select(options, value = "") {
  const made = options.map(([each, text]) => el("option", { value: each }, shown(text)));
  const control = /** @type {HTMLSelectElement} */ (el("select", {}, ...made));
  control.value = value;
  return control;
}

/**
 * A checkbox with a label.
 * @param {Node | string} label
 * @param {boolean} checked
 * @param {(checked: boolean) => void} [action]
 */
export function checkbox(label, checked, action) {
  const box = input({ type: "checkbox" });
  box.checked = checked;
  if (action) box.addEventListener("change", () => action(box.checked));
  return { box, node: el("label", { class: "check" }, box, el("span", {}, label)) };
}

/**
 * A dialog for what cannot be undone. Resolves to the value of the button, "" if closed.
 * @param {string} title
 * @param {string} text
 * @param {[string, string][]} choices pairs of value and label; the last is the safe one
 * @returns {Promise<string>}
 */
export function ask(title, text, choices) {
  const id = newId();
  const dialog = /** @type {HTMLDialogElement} */ (el("dialog", { "aria-labelledby": id }));
  const buttons = choices.map(([value, label]) => button(label, () => dialog.close(value)));
  dialog.append(el("h2", { id }, shownNodes(title)), el("p", {}, shownNodes(text)), el("div", { class: "row end-row" }, ...buttons));
  document.body.append(dialog);
  dialog.showModal();
  buttons[buttons.length - 1].focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

/**
 * @param {string} text
 * @param {...Node} actions
 */
export function emptyState(text, ...actions) {
  return el("div", { class: "empty" }, el("p", {}, text), el("div", { class: "row" }, ...actions));
}

export function noRuns() {
  return emptyState("No runs yet. Run a suite here, or with pytest in this folder.", link("#/run", "Run a suite", { class: "button main" }));
}

/**
 * Runs a function once, some time after the last call.
 * @param {() => void} action
 * @param {() => number} wait in milliseconds
 */
export function debounced(action, wait) {
  let timer = 0;
  const start = () => {
    clearTimeout(timer);
    timer = window.setTimeout(action, wait());
  };
  return { start, stop: () => clearTimeout(timer) };
}
