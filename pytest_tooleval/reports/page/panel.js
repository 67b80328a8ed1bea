// @ts-check
// The panel for a case: its trials on a model, or all models side by side.

import { caseUnder } from "./cases.js";
import { difference } from "./difference.js";
import { button, el, isolated, link, modelName, outcomeOf, outcomeText, shown, shortened, shownNodes, table, tableRow, toneOf } from "./dom.js";
import { cellWords } from "./matrix.js";
import { scoreText } from "./numbers.js";
import { comparedPieces, shortTrial, trialNodes } from "./trial.js";

/** @import { Case, Index, Row, State } from "./cases.js" */
/** @import { Piece } from "./difference.js" */
/** @import { Surroundings } from "./case-view.js" */
/** @import { WholeTrial } from "./trial.js" */
/** @typedef {{what: string, old: string, new: string}} Change */
/** @typedef {Omit<Row, "trials"> & {trials: WholeTrial[], offered: string[], changes: Change[]}} WholeRow */
/** @typedef {(row: Row) => Promise<WholeRow>} Load fetches the trials of a row with their transcripts */

const WIDE = "(min-width: 1100px)";
/** The address's name for all models at once. */
const ALL = "@all";
/** The options that change what is asked and how it is judged. */
const ASKED_BY = ["temperature", "tool-choice", "trials", "pass", "threshold", "judge", "user", "cassette", "record"];

export class Panel {
  /**
   * @param {Surroundings} around
   * @param {(changes: Partial<State>) => void} change
   */
  constructor(around, change) {
    this.around = around;
    this.change = change;
    /** Identifies what is shown; empty for nothing. */
    this.shown = "";
    /** @type {Case | undefined} */
    this.case = undefined;
    /** @type {Row | undefined} */
    this.row = undefined;
    this.model = -1;
    /** @type {Case[]} filtered and sorted */
    this.view = [];
    /** The loaded rows of the open case. @type {Map<Row, Promise<WholeRow>>} */
    this.opened = new Map();
    this.node = el("div", { class: "panel", "aria-labelledby": "panel-title", hidden: "" });
    this.onKey = (/** @type {KeyboardEvent} */ event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
    this.wide = window.matchMedia(WIDE);
    this.onWidth = () => this.cover(Boolean(this.case));
    this.wide.addEventListener("change", this.onWidth);
    document.body.append(this.node);
  }

  remove() {
    document.removeEventListener("keydown", this.onKey);
    this.wide.removeEventListener("change", this.onWidth);
    this.cover(false);
    this.node.remove();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.case || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape") this.close();
    else if (!isTyping && event.key === "j") this.step(1);
    else if (!isTyping && event.key === "k") this.step(-1);
  }

  close() {
    this.change({ open: "", on: "", trial: 0 });
  }

  /** The position of the case in the view. */
  at() {
    return this.view.findIndex((each) => each.key === this.case?.key);
  }

  /** @param {number} by */
  step(by) {
    const next = this.view[this.at() + by];
    if (next) this.change({ open: next.key, trial: 0 });
  }

  /**
   * @param {Index} index
   * @param {Case[]} view
   * @param {State} state
   */
  show(index, view, state) {
    this.view = view;
    const found = state.open ? index.cases.find((each) => each.key === state.open) : undefined;
    const isAll = state.on === ALL && (found?.rows.filter(Boolean).length ?? 0) > 1;
    const asked = index.models.findIndex(({ key }) => key === state.on);
    const model = found ? (asked >= 0 && found.rows[asked] ? asked : found.rows.findIndex(Boolean)) : -1;
    const row = found?.rows[model];
    const wanted = found ? [state.open, isAll ? ALL : model, state.trial].join("\n") : "";
    if (wanted === this.shown && row === this.row && (!isAll || found === this.case)) return;
    const isNew = this.case?.key !== found?.key;
    this.shown = wanted;
    this.case = found;
    this.row = row;
    this.model = isAll ? -1 : model;
    this.node.classList.toggle("wide", isAll);
    this.cover(Boolean(found));
    if (!found || !row) return;
    if (isNew) this.opened.clear();
    if (isAll) this.fillAll(index, found, row, isNew);
    else void this.fill(index, found, row, state.trial, isNew);
  }

  /** On a narrow screen the panel covers the page, which the keyboard must not reach then. @param {boolean} isOpen */
  cover(isOpen) {
    this.node.hidden = !isOpen;
    document.body.classList.toggle("with-panel", isOpen);
    const isCovered = isOpen && !this.wide.matches;
    this.node.setAttribute("role", isCovered ? "dialog" : "complementary");
    if (isCovered) this.node.setAttribute("aria-modal", "true");
    else this.node.removeAttribute("aria-modal");
    for (const part of document.body.children) if (part !== this.node && part.tagName !== "DIALOG") part.toggleAttribute("inert", isCovered);
  }

  /**
   * @param {Index} index
   * @param {Case} found
   * @param {Row} row
   * @param {number} number of the trial, from 1; 0 for the first that did not pass, else the first
   * @param {boolean} isNew
   */
  async fill(index, found, row, number, isNew) {
    const { shown: wanted } = this;
    const chosen = number || row.trials.findIndex((trial) => !trial.passed) + 1 || 1;
    const body = el("div", {}, el("p", { class: "muted" }, row.trials.length ? "Loading…" : "This case was not run."));
    const actions = el("div", { class: "row actions" }, copyButton(commandFor(row, this.around.options)), ...(this.around.actions?.(row) ?? []));
    this.replace(isNew, ...this.headNodes(row), this.modelTabs(index, found), ...aboutNodes(row), actions, ...(row.trials.length > 1 ? [this.trialTabs(row, chosen)] : []), body);
    if (!row.trials.length) return;
    const nodes = await this.whole(row, (whole) => [
      row.variant ? this.variantNodes(index, whole, row) : null,
      trialNodes(whole.trials[chosen - 1] || whole.trials[0], whole, this.around.columns),
    ]);
    if (this.shown === wanted && this.row === row) body.replaceChildren(...nodes);
  }

  /** What a variant changed, and the answers without and with it. @param {Index} index @param {WholeRow} whole @param {Row} row */
  variantNodes(index, whole, row) {
    const other = caseUnder(index, row, row.against);
    const before = other?.rows.find((each) => each?.model === row.model);
    const unchanged = row.against || "Unchanged";
    const open = () => this.change({ open: other?.key ?? "", trial: 0, variant: row.against });
    const columns = before ? [this.beside(before, button(unchanged, open, { class: "jump" })), this.beside(row, isolated(row.variant))] : [];
    return el(
      "section",
      {},
      columns.length > 0 && el("div", { class: "side-by-side", tabindex: 0, role: "region", "aria-label": "Answers without and with the variant" }, ...columns),
      el("h3", {}, "What the variant changed"),
      changesTable(whole.changes, unchanged),
    );
  }

  /** A column with the first trial of a row that did not pass. @param {Row} row @param {Node} title */
  beside(row, title) {
    const body = el("div", {}, row.trials.length ? "Loading…" : "");
    const first = Math.max(0, row.trials.findIndex((trial) => !trial.passed));
    const fill = async () => body.replaceChildren(...(await this.whole(row, (whole) => shortTrial(whole.trials[first], `${row.model} ${row.variant}`))));
    if (row.trials.length) void fill();
    return el("section", { class: "beside" }, el("h3", {}, title), el("p", {}, ...reasonNodes(row)), body);
  }

  /** All models side by side, each with its first trial that did not pass. @param {Index} index @param {Case} found @param {Row} row @param {boolean} isNew */
  fillAll(index, found, row, isNew) {
    const columns = found.rows.map((each, i) => {
      if (!each) return null;
      const title = button("", () => this.change({ on: index.models[i].key, trial: 0 }), { class: "jump" });
      title.append(modelName(each.model));
      return this.beside(each, title);
    });
    const asked = el("p", { class: "text", dir: "auto" }, shownNodes(row.prompt_text));
    this.replace(isNew, ...this.headNodes(row), this.modelTabs(index, found), asked, el("div", { class: "side-by-side", tabindex: 0, role: "region", "aria-label": "Models side by side" }, ...columns.filter((each) => each !== null)));
  }

  /** Replaces the content, and keeps the focus. @param {boolean} isNew @param {...HTMLElement} nodes */
  replace(isNew, ...nodes) {
    const focused = this.node.contains(document.activeElement) ? document.activeElement?.getAttribute("data-tab") : null;
    this.node.replaceChildren(...nodes);
    if (isNew) {
      this.node.scrollTop = 0;
      this.node.querySelector("h2")?.focus({ preventScroll: true });
    } else if (focused) /** @type {HTMLElement | null} */ (this.node.querySelector(`[data-tab="${focused}"]`))?.focus({ preventScroll: true });
  }

  /** Nodes for a row with its transcripts, or an error message. @param {Row} row @param {(whole: WholeRow) => (Node | string | null | false)[]} make */
  async whole(row, make) {
    const loading = this.opened.get(row) ?? this.around.load(row);
    this.opened.set(row, loading);
    try {
      const nodes = make(await loading);
      return nodes.filter((each) => each !== null && each !== false);
    } catch (error) {
      this.opened.delete(row);
      return [el("p", { class: "note", role: "alert" }, "Could not load the case: ", shown(String(/** @type {Error} */ (error).message)))];
    }
  }

  /** @param {Row} row */
  headNodes(row) {
    const at = this.at();
    const previous = button("‹ Previous", () => this.step(-1), { title: "Previous case (k)" });
    const next = button("Next ›", () => this.step(1), { title: "Next case (j)" });
    previous.toggleAttribute("disabled", at <= 0);
    next.toggleAttribute("disabled", at < 0 || at === this.view.length - 1);
    const close = button("Close", () => this.close(), { title: "Close (Escape)", class: "close" });
    const place = row.file && isolated(row.line ? `${row.file}:${row.line}` : row.file);
    const href = this.around.hrefOf?.(row.file);
    const where = place && href ? link(href, place) : place;
    return [
      el("div", { class: "row" }, previous, next, close),
      el("h2", { id: "panel-title", tabindex: -1 }, isolated(row.case, "(no name)")),
      el("p", { class: "muted" }, row.variant && el("span", {}, "under ", isolated(row.variant), " · "), isolated(row.suite), where && " · ", where),
    ];
  }

  /** @param {Index} index @param {Case} found */
  modelTabs(index, found) {
    const tabs = found.rows.map((row, i) => {
      if (!row) return null;
      const choose = () => this.change({ on: index.models[i].key, trial: 0 });
      const made = button("", choose, { "aria-pressed": String(i === this.model), "data-tab": `model-${i}`, title: cellWords(row) });
      made.append(outcomeText(toneOf(row), scoreText(row.scores.overall)), " ", modelName(row.model));
      return made;
    });
    const all = button("Side by side", () => this.change({ on: ALL, trial: 0 }), { "aria-pressed": String(this.model < 0), "data-tab": "model-all" });
    return el("div", { class: "tabs", role: "group", "aria-label": "Model" }, ...tabs, tabs.filter(Boolean).length > 1 && all);
  }

  /** @param {Row} row @param {number} chosen */
  trialTabs(row, chosen) {
    const tabs = row.trials.map((trial, i) => {
      const outcome = trial.error ? "error" : trial.passed ? "passed" : "failed";
      const choose = () => this.change({ trial: i + 1 });
      const made = button("", choose, { "aria-pressed": String(i + 1 === chosen), "data-tab": `trial-${i}`, "aria-label": `Trial ${i + 1}, ${outcome}` });
      made.append(outcomeText(outcome, String(i + 1)));
      return made;
    });
    return el("div", { class: "tabs trials", role: "group", "aria-label": "Trial" }, "Trial ", ...tabs);
  }
}

/** @param {Row} row */
function reasonNodes(row) {
  return [outcomeText(toneOf(row), outcomeOf(row)), row.reason ? ": " : "", shownNodes(row.reason)];
}

/**
 * The command that runs a case again.
 * @param {Row} row
 * @param {Record<string, unknown>} options of the run
 */
function commandFor(row, options) {
  const quoted = (/** @type {string} */ text) => (/^[\w./:=@,-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`);
  const names = row.variant ? [...ASKED_BY, "variant"] : ASKED_BY;
  const given = names.flatMap((name) => [options[name] ?? []].flat().map((value) => `--tooleval-${name}=${value}`));
  return ["pytest", row.nodeid, ...(row.model ? [`--tooleval-model=${row.model}`] : []), ...given].map(quoted).join(" ");
}

/** Copies a command, or shows it if copying is not allowed. @param {string} command */
function copyButton(command) {
  const made = button("Copy pytest command", async () => {
    try {
      await navigator.clipboard.writeText(command);
      made.textContent = "Copied";
    } catch {
      made.replaceWith(el("code", {}, shown(command)));
    }
  }, { title: shown(command) });
  return made;
}

/** @param {Row} row */
function aboutNodes(row) {
  const rules = [
    row.trials.length > 1 && `pass rule: ${row.pass_rule}`,
    row.weight !== 1 && `weight: ${row.weight}`,
    row.tool_choice && `tool_choice: ${row.tool_choice}`,
  ].filter(Boolean);
  const tags = row.tags.map((tag) => el("span", { class: "tag" }, shown(shortened(tag, 200))));
  return [
    el("p", { class: "reason" }, ...reasonNodes(row)),
    el("p", { class: "rules muted" }, ...tags, shown(rules.join(" · "))),
  ];
}

/** @param {Change[]} changes @param {string} unchanged the heading of the other arm */
function changesTable(changes, unchanged) {
  if (!changes.length) return el("p", { class: "muted" }, "The request is unchanged.");
  const rows = changes.map(({ what, old, new: now }) => {
    const [before, after] = difference(old, now) ?? [old, now].map((text) => [{ text, same: true }]);
    return tableRow(isolated(what), changedCell("minus", before), changedCell("plus", after));
  });
  return table(["What", unchanged, "Variant"], rows, "What the variant changed", "changes");
}

/** @param {string} kind @param {Piece[]} pieces */
function changedCell(kind, pieces) {
  return el("td", { class: kind }, el("div", { class: "code text", dir: "auto" }, ...comparedPieces(pieces)));
}
