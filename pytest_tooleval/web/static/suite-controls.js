// @ts-check
// One control per kind of field. Each writes its value as JSON text.

import { checkbox, field, input, newId, select, textArea } from "./controls.js";
import { read } from "./json-text.js";
import { button, el, shown, shownNodes } from "./page/dom.js";

/** @import { Field } from "./suite-fields.js" */

/**
 * `raw` is the JSON text of the value, undefined if it is not set. `write` sets a new one; undefined removes
 * it. `tools` returns the tool names to choose from, `options` are the choices of the format.
 * @typedef {{spec: Field, value: any, raw: string | undefined, tools: () => string[], options: string[],
 *   write: (raw: string | undefined) => void, broken: (control: HTMLElement, isBroken: boolean) => void}} Use
 */

const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/;

/**
 * A field of a form.
 * @param {Use} use
 * @returns {{node: HTMLElement, control: HTMLElement, slot: HTMLElement}}
 */
export function makeField(use) {
  const { spec, value } = use;
  const kind = fits(spec, value) ? spec.kind : "json";
  const made = MAKERS[kind](use);
  const options = { hint: spec.hint, wide: spec.wide };
  if (made.group) {
    const slot = el("div", { class: "slot", id: newId() });
    // The label of a flag stands beside its box.
    const shape = `field${spec.wide ? " wide" : ""}${kind === "flag" ? " bare" : ""}`;
    const node = el("fieldset", { class: shape }, el("legend", {}, spec.label), made.group, spec.hint && el("small", {}, spec.hint), slot);
    made.control.setAttribute("aria-describedby", slot.id);
    return { node, control: made.control, slot };
  }
  const node = field(spec.label, made.control, options);
  return { node, control: made.control, slot: /** @type {HTMLElement} */ (node.querySelector(".slot")) };
}

/**
 * Whether the control of a field can show a value. A JSON control can show any.
 * @param {Field} spec
 * @param {any} value
 */
function fits(spec, value) {
  if (value === undefined || spec.kind === "json" || spec.kind === "number") return true;
  const isText = typeof value === "string";
  const isNames = Array.isArray(value) && value.every((each) => typeof each === "string");
  switch (spec.kind) {
    case "flag":
      return typeof value === "boolean";
    case "reason":
      return isText || typeof value === "boolean";
    case "tools":
      return value === null || isText || isNames;
    case "words":
      return isNames && value.every((/** @type {string} */ each) => !each.includes(",") && each.trim() === each && each !== "");
    case "text":
      return isText && !/[\r\n]/.test(value);
    default:
      return isText;
  }
}

/** @type {Record<string, (use: Use) => {control: HTMLElement, group?: HTMLElement}>} */
const MAKERS = {
  text: (use) => textControl(use, input({ value: use.value ?? "", placeholder: use.spec.unset, spellcheck: "false" })),
  long: (use) => {
    const control = textArea({ rows: 2, placeholder: use.spec.unset });
    control.value = use.value ?? "";
    return textControl(use, control);
  },
  number: numberControl,
  choice: choiceControl,
  flag: flagControl,
  reason: reasonControl,
  json: jsonControl,
  words: wordsControl,
  tools: toolsControl,
};

/** @param {Use} use @param {HTMLInputElement | HTMLTextAreaElement} control */
function textControl(use, control) {
  control.addEventListener("input", () => {
    const isGiven = control.value !== "" || use.spec.required;
    use.write(isGiven ? JSON.stringify(control.value) : undefined);
  });
  return { control };
}

/** Anything but a number is written as text, and the loader reports it. @param {Use} use */
function numberControl(use) {
  const shownValue = typeof use.value === "string" ? use.value : use.raw ?? "";
  const control = input({ value: shownValue, inputmode: "decimal", placeholder: use.spec.unset });
  control.addEventListener("input", () => {
    const text = control.value.trim();
    use.write(text === "" ? undefined : NUMBER.test(text) ? text : JSON.stringify(text));
  });
  return { control };
}

/** @param {Use} use */
function choiceControl(use) {
  const { options } = use;
  const known = use.value === undefined || options.includes(use.value);
  /** @type {[string, string][]} */
  const pairs = [["", use.spec.unset ? `– (${use.spec.unset})` : "–"], ...options.map((each) => /** @type {[string, string]} */ ([each, each]))];
  if (!known) pairs.push([use.value, use.value]);
  const control = select(pairs, use.value ?? "");
  control.addEventListener("change", () => use.write(control.value === "" ? undefined : JSON.stringify(control.value)));
  return { control };
}

/** @param {Use} use */
function flagControl(use) {
  const made = checkbox(use.spec.label, use.value === true, (checked) => use.write(checked ? "true" : undefined));
  return { control: made.box, group: made.node };
}

/** Yes, with an optional reason. @param {Use} use */
function reasonControl(use) {
  const reason = input({ value: typeof use.value === "string" ? use.value : "", placeholder: "reason", "aria-label": `${use.spec.label}: reason` });
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
  const control = textArea({ class: "code", spellcheck: "false", placeholder: use.spec.unset });
  control.value = use.raw ?? "";
  control.rows = Math.min(14, Math.max(2, control.value.split("\n").length));
  control.addEventListener("input", () => {
    const text = control.value;
    if (text.trim() === "") {
      use.broken(control, false);
      use.write(use.spec.required ? "null" : undefined);
      return;
    }
    const { error } = read(text);
    use.broken(control, error !== "");
    if (!error) use.write(text);
  });
  return { control };
}

/** @param {Use} use */
function wordsControl(use) {
  const control = input({ value: (use.value || []).join(", "), placeholder: use.spec.unset });
  control.addEventListener("input", () => {
    const words = control.value.split(",").map((each) => each.trim()).filter(Boolean);
    use.write(words.length ? JSON.stringify(words) : undefined);
  });
  return { control };
}

/**
 * Tool names: the chosen ones as buttons that remove them, a list to add one, and an input for a name that
 * the suite does not define, such as a tool of a live server.
 * @param {Use} use
 */
function toolsControl(use) {
  const isList = use.spec.key !== "expected_tool" && use.spec.key !== "tool";
  /** @type {string[]} */
  let chosen = use.value === undefined || use.value === null ? [] : [use.value].flat();
  const chips = el("span", { class: "chips" });
  const control = select([["", ""]]);
  const other = input({ placeholder: "another tool", "aria-label": `${use.spec.label}: another tool`, spellcheck: "false", size: 14 });
  const drawOptions = () => {
    const left = use.tools().filter((name) => !chosen.includes(name));
    const options = left.map((name) => el("option", { value: name }, shown(name)));
    const any = isList || chosen.length ? [] : [el("option", { value: "*" }, "* (any tool)")];
    const words = left.length || any.length ? (chosen.length ? "add another…" : "choose a tool…") : "no other tools";
    control.replaceChildren(el("option", { value: "" }, words), ...options, ...any);
  };
  const draw = () => {
    chips.replaceChildren(
      ...chosen.map((name, i) => {
        const made = button("", () => pick(chosen.filter((_, at) => at !== i)), { class: "chip", "aria-label": `Remove ${shown(name)}` });
        made.append(el("code", {}, name === "*" ? "* (any tool)" : shownNodes(name)), " ×");
        return made;
      }),
    );
    drawOptions();
  };
  /** @param {string[]} names */
  const pick = (names) => {
    chosen = names;
    draw();
    control.focus();
    if (isList) use.write(names.length ? JSON.stringify(names) : undefined);
    else use.write(JSON.stringify(names.length === 1 ? names[0] : names));
  };
  control.setAttribute("aria-label", use.spec.label);
  control.classList.add("tool-choice");
  // Sent by the forms when the tools may have changed.
  control.addEventListener("tools", drawOptions);
  control.addEventListener("change", () => control.value && pick([...chosen, control.value]));
  other.addEventListener("change", () => {
    const name = other.value.trim();
    other.value = "";
    if (name && !chosen.includes(name)) pick([...chosen, name]);
  });
  draw();
  return { control, group: el("div", { class: "row" }, chips, control, other) };
}
