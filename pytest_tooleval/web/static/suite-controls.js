// @ts-check
// One control per kind of field. Each writes its value as JSON text.

import { checkbox, field, input, newId, select, textArea } from "./controls.js";
import { read } from "./json-text.js";
import { button, el, shown, shownNodes } from "./page/dom.js";

/** @import { Field, Kind } from "./suite-fields.js" */

/**
 * `raw` is the JSON text of the value, undefined if it is not set; `unset` is what holds then. `write` sets a new
 * one; undefined removes it. `tools` returns the tool names to choose from.
 * @typedef {{field: Pick<Field, "label" | "isRequired" | "isList" | "choices"> & { key?: string }, value: any, raw: string | undefined, unset: string,
 *   tools: () => string[], write: (raw: string | undefined) => void, broken: (control: HTMLElement, isBroken: boolean) => void}} Use
 */

const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/;
const NARROW = ["line", "number", "choice", "reason", "words"];

/**
 * A field of a form with its label, hint and slot for messages.
 * @param {Field} spec
 * @param {Omit<Use, "field">} use
 */
export function makeField(spec, use) {
  const kind = controlKind(spec.kind, use.value);
  const label = kind === "json" ? `${spec.label} (JSON)` : spec.label;
  const { control, group } = makeControl(kind, { ...use, field: spec });
  const wide = !NARROW.includes(kind);
  if (!group) return field(label, control, { hint: spec.hint, wide });
  const slot = el("div", { class: "slot", id: newId() });
  control.setAttribute("aria-describedby", slot.id);
  // The label of a flag stands beside its box.
  const shape = `field${wide ? " wide" : ""}${kind === "flag" ? " bare" : ""}`;
  return el("fieldset", { class: shape }, el("legend", {}, label), group, el("small", {}, spec.hint), slot);
}

/** The kind of control that can show a value. A JSON control can show any. @param {Kind} kind @param {any} value */
export function controlKind(kind, value) {
  const isText = typeof value === "string";
  const isNames = Array.isArray(value) && value.every((each) => typeof each === "string");
  /** @type {Partial<Record<Kind, boolean>>} */
  const fits = {
    number: true,
    choice: true,
    flag: typeof value === "boolean",
    reason: isText || typeof value === "boolean",
    tools: value === null || isText || isNames,
    words: isNames && value.every((/** @type {string} */ each) => !each.includes(",") && each.trim() === each && each !== ""),
    line: isText && !/[\r\n]/.test(value),
    text: isText,
  };
  return kind in fits && (value === undefined || fits[kind]) ? kind : "json";
}

/** @param {Kind} kind @param {Use} use @returns {{control: HTMLElement, group?: HTMLElement}} */
export function makeControl(kind, use) {
  switch (kind) {
    case "line":
      return textControl(use, input({ value: use.value ?? "", placeholder: use.unset, spellcheck: "false" }));
    case "text":
      return textControl(use, textArea({ rows: 2, placeholder: use.unset }));
    case "number":
      return numberControl(use);
    case "choice":
      return choiceControl(use);
    case "flag":
      return flagControl(use);
    case "reason":
      return reasonControl(use);
    case "words":
      return wordsControl(use);
    case "tools":
      return toolsControl(use);
    default:
      return jsonControl(use);
  }
}

/** @param {Use} use @param {HTMLInputElement | HTMLTextAreaElement} control */
function textControl(use, control) {
  control.value = use.value ?? "";
  control.addEventListener("input", () => {
    const isGiven = control.value !== "" || use.field.isRequired;
    use.write(isGiven ? JSON.stringify(control.value) : undefined);
  });
  return { control };
}

/** Anything but a number is written as text, and the loader reports it. @param {Use} use */
function numberControl(use) {
  const shownValue = typeof use.value === "string" ? use.value : use.raw ?? "";
  const control = input({ value: shownValue, inputmode: "decimal", placeholder: use.unset });
  control.addEventListener("input", () => {
    const text = control.value.trim();
    use.write(text === "" ? undefined : NUMBER.test(text) ? text : JSON.stringify(text));
  });
  return { control };
}

/** @param {Use} use */
function choiceControl(use) {
  const given = use.value === undefined ? [] : [use.value];
  const values = [...use.field.choices, ...given].map((each) => JSON.stringify(each));
  /** @type {[string, string][]} */
  const pairs = [...new Set(values)].map((raw) => [raw, String(JSON.parse(raw))]);
  const control = select([["", use.unset ? `– (${use.unset})` : "–"], ...pairs], given.length ? JSON.stringify(use.value) : "");
  control.addEventListener("change", () => use.write(control.value || undefined));
  return { control };
}

/** @param {Use} use */
function flagControl(use) {
  const made = checkbox(use.field.label, use.value === true, (checked) => use.write(checked ? "true" : undefined));
  return { control: made.box, group: made.node };
}

/** Yes, with an optional reason. @param {Use} use */
function reasonControl(use) {
  const what = use.field.key === "world" ? "module:Class" : "reason";
  const reason = input({ value: typeof use.value === "string" ? use.value : "", placeholder: what, "aria-label": `${use.field.label}: ${what}` });
  const made = checkbox("yes", Boolean(use.value), () => write());
  const write = () => {
    reason.disabled = !made.box.checked;
    use.write(made.box.checked ? JSON.stringify(reason.value || true) : undefined);
  };
  reason.disabled = !made.box.checked;
  reason.addEventListener("input", write);
  return { control: made.box, group: el("div", { class: "row" }, made.node, reason) };
}

/** Invalid JSON is not written, and marks the control as broken. @param {Use} use */
function jsonControl(use) {
  const control = textArea({ class: "code", spellcheck: "false", placeholder: use.unset });
  control.value = use.raw ?? "";
  control.rows = Math.min(14, Math.max(1, control.value.split("\n").length));
  control.addEventListener("input", () => {
    const text = control.value;
    const isBroken = text.trim() !== "" && read(text).error !== "";
    use.broken(control, isBroken);
    if (!isBroken) use.write(text.trim() === "" ? undefined : text);
  });
  return { control };
}

/** @param {Use} use */
function wordsControl(use) {
  const control = input({ value: (use.value || []).join(", "), placeholder: "separated by commas" });
  control.addEventListener("input", () => {
    const words = control.value.split(",").map((each) => each.trim()).filter(Boolean);
    use.write(words.length ? JSON.stringify(words) : undefined);
  });
  return { control };
}

const NO_CALL = "(no call)";

/**
 * Tool names: the chosen ones as buttons that remove them, a list to add one, and an input for a name that
 * the suite does not define, such as a tool of a live server.
 * @param {Use} use
 */
function toolsControl(use) {
  const { label, isList } = use.field;
  // null: that no call is right, too.
  /** @type {(string | null)[]} */
  let chosen = use.value === undefined || use.value === null ? [] : [use.value].flat();
  const chips = el("span", { class: "chips" });
  const control = select([["", ""]]);
  const other = input({ placeholder: "another tool", "aria-label": `${label}: another tool`, spellcheck: "false", size: 14 });
  const drawOptions = () => {
    const left = use.tools().filter((name) => !chosen.includes(name));
    const options = left.map((name) => el("option", { value: name }, shown(name)));
    const any = isList || chosen.length ? [] : [el("option", { value: "*" }, "* (any tool)")];
    if (use.field.key === "expected_tool" && chosen.length && !chosen.includes(null)) any.push(el("option", { value: NO_CALL }, NO_CALL));
    const words = left.length || any.length ? (chosen.length ? "add another…" : "choose a tool…") : "no other tools";
    control.replaceChildren(el("option", { value: "" }, words), ...options, ...any);
  };
  const draw = () => {
    chips.replaceChildren(
      ...chosen.map((name, i) => {
        const made = button("", () => pick(chosen.filter((_, at) => at !== i)), { class: "chip", "aria-label": `Remove ${shown(name ?? NO_CALL)}` });
        made.append(el("code", {}, name === "*" && !isList ? "* (any tool)" : shownNodes(name ?? NO_CALL)), " ×");
        return made;
      }),
    );
    drawOptions();
  };
  /** @param {(string | null)[]} names */
  const pick = (names) => {
    chosen = names;
    draw();
    control.focus();
    if (isList) use.write(names.length ? JSON.stringify(names) : undefined);
    else use.write(JSON.stringify(names.length === 1 ? names[0] : names));
  };
  control.setAttribute("aria-label", label);
  control.classList.add("tool-choice");
  // Sent by the forms when the tools may have changed.
  control.addEventListener("tools", drawOptions);
  control.addEventListener("change", () => control.value && pick([...chosen, control.value === NO_CALL ? null : control.value]));
  other.addEventListener("change", () => {
    const name = other.value.trim();
    other.value = "";
    if (name && !chosen.includes(name)) pick([...chosen, name]);
  });
  draw();
  return { control, group: el("div", { class: "row" }, chips, control, other) };
}
