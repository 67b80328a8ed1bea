// @ts-check
// A suite's text in CodeMirror: line numbers, problems in place, completion from the format's schema.

import { descriptionAt, optionsAt, placeAt } from "./json-completion.js";
import { difference, treeOf, unitOf } from "./json-text.js";
import { el, shown } from "./page/dom.js";
import * as cm from "./vendor/codemirror.js";

/** @import { Problem } from "./api.js" */
/** @import { Schema } from "./json-completion.js" */

const PANEL = { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--line)" };
const FIELD = { color: "var(--text)", background: "var(--page)", border: "1px solid var(--strong-line)", borderRadius: "4px", font: "inherit" };
const OUTLINE = { outline: "2px solid var(--accent)", outlineOffset: "-1px" };
const COLOURS = cm.EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--page)", border: "1px solid var(--strong-line)", borderRadius: "4px", fontSize: ".9rem" },
  "&.cm-focused": OUTLINE,
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.4", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { ...PANEL, color: "var(--muted)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--line)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--accent) 30%, transparent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)" },
  ".cm-searchMatch": { backgroundColor: "var(--warning-back)", outline: "1px solid var(--warning)" },
  ".cm-panels, .cm-tooltip": PANEL,
  ".cm-tooltip": { border: "1px solid var(--strong-line)", borderRadius: "4px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxWidth: "min(100%, 90vw)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--page)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionMatchedText": { fontWeight: "700", textDecoration: "none" },
  ".cm-tooltip-hover p": { maxWidth: "28rem", margin: "0", padding: ".2rem .5rem" },
  ".cm-completionInfo": { maxWidth: "24rem", whiteSpace: "normal" },
  ".cm-completionIcon": { display: "none" },
  ".cm-diagnostic": { borderLeftWidth: "4px" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--failed)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warning)" },
  ".cm-panel.cm-search": { fontSize: ".9rem" },
  ".cm-textfield, .cm-button": { ...FIELD, backgroundImage: "none" },
  ".cm-panel.cm-search [name=close], .cm-panel.cm-panel-lint [name=close]": { color: "var(--text)", cursor: "pointer" },
});
const WORDS = cm.HighlightStyle.define([
  { tag: cm.tags.propertyName, color: "var(--accent)" },
  { tag: cm.tags.string, color: "var(--passed)" },
  { tag: [cm.tags.number, cm.tags.bool, cm.tags.null], color: "var(--error)" },
]);

/**
 * In a shadow tree, where CodeMirror adds styles by script, which the page's policy allows, not by an element.
 */
export class JsonEditor {
  /**
   * @param {string} label
   * @param {{schema: Schema, data: () => any, typed: () => void}} around the format's schema, the suite when the text was last valid, and called when the user changes the text
   */
  constructor(label, around) {
    this.around = around;
    this.host = el("div", { class: "json-editor" });
    this.node = el("div", { class: "json-place" }, this.host, el("small", {}, "Ctrl+Space lists what you can write here, with its meaning. Escape, then Tab, to leave the editor."));
    const root = this.host.attachShadow({ mode: "open" });
    this.view = new cm.EditorView({ parent: root, root });
    this.extensions = [
      cm.lineNumbers(),
      cm.lintGutter(),
      cm.highlightSpecialChars(),
      cm.history(),
      cm.drawSelection(),
      cm.highlightActiveLine(),
      cm.highlightActiveLineGutter(),
      cm.bracketMatching(),
      cm.closeBrackets(),
      cm.search({ top: true }),
      cm.json(),
      cm.syntaxHighlighting(WORDS),
      cm.autocompletion({ override: [(/** @type {any} */ context) => this.complete(context)], icons: false }),
      cm.hoverTooltip((/** @type {unknown} */ _view, /** @type {number} */ at) => this.describe(at)),
      cm.keymap.of([...cm.closeBracketsKeymap, ...cm.defaultKeymap, ...cm.searchKeymap, ...cm.historyKeymap, ...cm.completionKeymap, ...cm.lintKeymap, cm.indentWithTab]),
      cm.EditorView.contentAttributes.of({ "aria-label": `${label}. Press Escape, then Tab, to leave the editor.`, spellcheck: "false", tabindex: "0" }),
      cm.EditorView.updateListener.of(({ docChanged, transactions }) => {
        if (docChanged && transactions.some((each) => ["input", "delete", "move", "undo", "redo"].some((name) => each.isUserEvent(name)))) around.typed();
      }),
      COLOURS,
    ];
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** Load a text, without undo history. @param {string} text @param {boolean} isReadOnly */
  load(text, isReadOnly) {
    const fixed = isReadOnly ? [cm.EditorState.readOnly.of(true), cm.EditorView.editable.of(false)] : [];
    this.view.setState(cm.EditorState.create({ doc: text, extensions: [...this.extensions, cm.indentUnit.of(unitOf(text)), ...fixed] }));
  }

  /** Change the text as if the user had typed it. @param {string} text */
  change(text) {
    const { from, toOld, toNew } = difference(this.text, text);
    this.view.dispatch({ changes: { from, to: toOld, insert: text.slice(from, toNew) }, userEvent: "input.insert" });
  }

  /** @param {Problem[]} problems @param {Problem[]} warnings */
  mark(problems, warnings) {
    const { state } = this.view;
    const tree = treeOf(this.text);
    const found = [...problems.map((each) => /** @type {const} */ ([each, "error"])), ...warnings.map((each) => /** @type {const} */ ([each, "warning"]))];
    const marks = found.map(([{ line, column, field, message }, severity]) => {
      const from = this.offsetOf(line, column);
      const token = tree.resolveInner(from, 1);
      const to = token.from === from ? token.to : Math.min(from + 1, this.text.length);
      return { from, to, severity, message: shown(field ? `${field}: ${message}` : message) };
    });
    this.view.dispatch(cm.setDiagnostics(state, marks.sort((a, b) => a.from - b.from)));
  }

  /** @param {number} line @param {number} column both from 1, in characters, not UTF-16 units */
  offsetOf(line, column) {
    const { doc } = this.view.state;
    const { from, text } = doc.line(Math.min(line, doc.lines));
    return from + Array.from(text).slice(0, column - 1).join("").length;
  }

  /** @param {number} line @param {number} column both from 1 */
  goTo(line, column) {
    this.select(this.offsetOf(line, column));
  }

  /** @param {number} from @param {number} to */
  select(from, to = from) {
    this.view.dispatch({ selection: { anchor: from, head: to }, effects: cm.EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }

  /** What the key under the mouse is for. @param {number} at */
  describe(at) {
    const found = descriptionAt(this.around.schema, this.around.data(), this.text, at);
    return found && { pos: found.from, end: found.to, create: () => ({ dom: el("div", {}, el("p", {}, found.info)) }) };
  }

  /** @param {{pos: number, explicit: boolean}} context */
  complete({ pos, explicit }) {
    const place = placeAt(this.text, pos);
    if (!explicit && place.start === place.end) return null;
    const all = optionsAt(this.around.schema, this.around.data(), place);
    const options = all
      .filter(({ raw }) => !place.isText || place.isKey || raw.startsWith('"'))
      .map(({ raw, ...option }) => ({ ...option, apply: (/** @type {unknown} */ _view, /** @type {unknown} */ _option, /** @type {unknown} */ _from, /** @type {number} */ to) => this.put(raw, to) }));
    return options.length ? { from: place.start + (place.isText ? 1 : 0), options, validFor: /^[^"\n]*$/ } : null;
  }

  /** Replace what was typed by the chosen option. @param {string} raw @param {number} at the cursor */
  put(raw, at) {
    const { start, end, isKey } = placeAt(this.text, at);
    const rest = this.text.slice(end);
    const hasColon = /^\s*:/.test(rest);
    const chosen = isKey && hasColon ? raw.slice(0, raw.indexOf('":') + 1) : raw;
    const isOpen = /(?:""|\[\]|\{\})$/.test(chosen) && isKey && !hasColon;
    const comma = isKey && !hasColon && /^\s*"/.test(rest) ? "," : "";
    this.view.dispatch({ changes: { from: start, to: end, insert: chosen + comma }, selection: { anchor: start + chosen.length - (isOpen ? 1 : 0) }, userEvent: "input.complete" });
    if (isKey && !hasColon) cm.startCompletion(this.view);
  }

  remove() {
    this.view.destroy();
  }
}
