// @ts-check
// A row for each parameter of a tool: how its value is compared, and with what.

import { newId, select } from "./controls.js";
import { pathText, rawOf, read } from "./json-text.js";
import { controlKind, makeControl } from "./suite-controls.js";
import { choicesOf } from "./suite-fields.js";
import { el, shown, shownNodes } from "./page/dom.js";
import { prettyJson } from "./page/json.js";

/** @import { Path } from "./json-text.js" */
/** @import { Schema } from "./suite-fields.js" */
/**
 * The object at `path`, and how its members are written; undefined removes one. `properties` are the JSON
 * Schemas of its possible members. Without `matchers`, values are taken literally.
 * @typedef {{path: Path, text: () => string, value: () => any, properties: () => Record<string, any>, required: () => string[],
 *   write: (name: string, raw: string | undefined) => void, broken: (control: HTMLElement, isBroken: boolean) => void,
 *   matchers: Matchers | null}} Use
 * @typedef {Record<string, {title: string, schema: any}>} Matchers the title in the menu, and the schema of the operand
 */

const NONE = "–";
const EQUAL = "=";

/** The matchers of the format. @param {Schema} schema @returns {Matchers} */
export function matchersOf(schema) {
  const pairs = schema.$defs.Matcher.oneOf.map((/** @type {any} */ { title, properties }) => {
    const [[key, operand]] = Object.entries(properties);
    return [key, { title, schema: operand }];
  });
  return Object.fromEntries(pairs);
}

/** @param {Use} use */
export function paramRows(use) {
  const node = el("div", { class: "params" });
  const draw = () => {
    const value = use.value();
    const given = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
    const names = [...new Set([...Object.keys(use.properties()), ...Object.keys(given)])];
    node.replaceChildren(...names.map((name) => row(use, name, given[name])));
    if (!names.length) node.append(el("p", { class: "muted" }, "No parameters."));
  };
  draw();
  return { node, draw };
}

/** @param {Use} use @param {string} name @param {any} value undefined if not set */
function row(use, name, value) {
  const { path } = use;
  const schema = use.properties()[name] ?? {};
  const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
  const { matchers } = use;
  const isMatcher = matchers !== null && keys.length === 1 && Object.hasOwn(matchers, keys[0]);
  let kind = value === undefined ? NONE : isMatcher ? keys[0] : EQUAL;
  let raw = (value === undefined ? undefined : rawOf(use.text(), [...path, name, ...(isMatcher ? [kind] : [])])) ?? "";
  const id = newId();
  /** @type {[string, string][]} */
  const choices = matchers ? [[NONE, "not checked"], [EQUAL, "equals"], ...Object.entries(matchers).map(([key, { title }]) => /** @type {[string, string]} */ ([key, title]))] : [[NONE, "no mock"], [EQUAL, "returns"]];
  const menu = select(choices, kind);
  menu.setAttribute("aria-label", `${shown(name)}: comparison`);
  const place = el("div", {});
  const write = () => use.write(name, kind === NONE ? undefined : kind === EQUAL ? raw : `{${JSON.stringify(kind)}: ${raw}}`);
  /** Draws the control of the value, if there is one. */
  const fill = () => {
    place.replaceChildren();
    const operand = matchers?.[kind]?.schema ?? {};
    if (kind === NONE || operand.const !== undefined) return null;
    const isText = operand.type === "string" || kind === "$contains" || (schema.type === "string" && (kind === EQUAL || isAnything(operand)));
    const control = valueControl(kind === EQUAL || isAnything(operand) ? schema : operand, isText, raw, use.broken, (text) => {
      raw = text;
      write();
    });
    control.id = id;
    place.append(control);
    // An empty text is a value.
    if (raw === "" && control instanceof HTMLInputElement) raw = '""';
    return control;
  };
  menu.addEventListener("change", () => {
    const fixed = matchers?.[menu.value]?.schema.const;
    if (fixed !== undefined) raw = JSON.stringify(fixed);
    else if (matchers?.[kind]?.schema.const !== undefined) raw = "";
    // A single value becomes a list of one if the matcher needs a list; an empty text was not typed.
    if (matchers?.[menu.value]?.schema.type === "array" && raw === '""') raw = "";
    else if (matchers?.[menu.value]?.schema.type === "array" && raw && !raw.trim().startsWith("[")) raw = `[${raw}]`;
    kind = menu.value;
    const control = fill();
    const isMissing = control !== null && raw === "";
    use.broken(control ?? menu, isMissing);
    if (!isMissing) write();
  });
  fill();
  const about = [schema.type, use.required().includes(name) ? "required" : ""].flat().filter(Boolean).join(", ");
  const label = el("label", { for: kind === NONE ? null : id }, el("code", {}, shownNodes(name)), about && el("small", {}, ` ${shown(about)}`));
  return el("div", { class: "param", "data-path": pathText([...path, name]) }, label, menu, place, el("div", { class: "slot" }));
}

/** Whether an operand is a value of the parameter's type. @param {any} schema */
function isAnything(schema) {
  return schema === true || typeof schema.$ref === "string";
}

/**
 * @param {any} schema
 * @param {boolean} isText
 * @param {string} raw JSON text; "" for none
 * @param {(control: HTMLElement, isBroken: boolean) => void} broken
 * @param {(raw: string) => void} written
 */
function valueControl(schema, isText, raw, broken, written) {
  const { data: value } = raw ? read(raw) : { data: undefined };
  const choices = choicesOf([schema]);
  const isChoice = choices.some((each) => raw === "" || JSON.stringify(each) === JSON.stringify(value));
  const kind = isChoice ? "choice" : isText ? controlKind("line", value) : "json";
  const { control } = makeControl(kind, {
    field: { label: "", isRequired: true, isList: false, choices },
    value,
    raw: prettyJson(raw),
    unset: kind === "json" ? "JSON" : "",
    tools: () => [],
    broken,
    write: (text) => {
      broken(control, text === undefined);
      if (text !== undefined) written(text);
    },
  });
  return control;
}
