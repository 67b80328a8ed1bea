// @ts-check
// A row for each parameter of a tool: how its value is compared, and with what.

import { input, newId, select, textArea } from "./controls.js";
import { pathText, rawOf, read } from "./json-text.js";
import { el, shown, shownNodes } from "./page/dom.js";
import { prettyJson } from "./page/json.js";

/** @import { Path } from "./json-text.js" */
/**
 * The object at `path`, and how a member of it is written; undefined takes it away. `properties` are the
 * JSON Schemas of the members that there may be. Without `isMatched` a value stands for itself.
 * @typedef {{path: Path, text: () => string, value: () => any, properties: () => Record<string, any>, required: () => string[],
 *   write: (name: string, raw: string | undefined) => void, broken: (control: HTMLElement, isBroken: boolean) => void,
 *   isMatched: boolean}} Use
 */

const NONE = "–";
const EQUAL = "=";
/** Matchers by what the menu calls them; docs/suite-format.md has all. @type {[string, string][]} */
const MATCHERS = [
  [NONE, "not checked"],
  [EQUAL, "equals"],
  ["$exact", "is exactly"],
  ["$any_of", "is one of (list)"],
  ["$optional", "may be absent, else equals"],
  ["$contains", "contains"],
  ["$regex", "matches the pattern"],
  ["$approx", "is about"],
  ["$gte", "is at least"],
  ["$lte", "is at most"],
  ["$date", "is the date"],
  ["$len", "has the length"],
  ["$not", "is not"],
  ["$unordered", "has the items, in any order (list)"],
];

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

/** @param {Use} use @param {string} name @param {any} value undefined where there is none */
function row(use, name, value) {
  const { path } = use;
  const schema = use.properties()[name] ?? {};
  const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
  const isMatcher = use.isMatched && keys.length === 1 && MATCHERS.some(([key]) => key === keys[0]);
  let kind = value === undefined ? NONE : isMatcher ? keys[0] : EQUAL;
  let raw = (value === undefined ? undefined : rawOf(use.text(), [...path, name, ...(isMatcher ? [kind] : [])])) ?? "";
  const id = newId();
  const menu = select(use.isMatched ? MATCHERS : [[NONE, "no answer"], [EQUAL, "answers"]], kind);
  menu.setAttribute("aria-label", `${shown(name)}: how it is compared`);
  const place = el("div", {});
  const write = () => use.write(name, kind === NONE || raw === "" ? undefined : kind === EQUAL ? raw : `{${JSON.stringify(kind)}: ${raw}}`);
  const fill = () => {
    const isText = (schema.type === "string" && ![NONE, "$any_of", "$len", "$unordered"].includes(kind)) || ["$contains", "$regex", "$date"].includes(kind);
    const control = valueControl(schema, isText, raw, (text, isBroken) => {
      use.broken(control, isBroken);
      if (isBroken) return;
      raw = text;
      write();
    });
    control.id = id;
    place.replaceChildren(...(kind === NONE ? [] : [control]));
  };
  menu.addEventListener("change", () => {
    // A text goes on as a text, a list of one as a list.
    if (menu.value === "$any_of" && raw && !raw.trim().startsWith("[")) raw = `[${raw}]`;
    kind = menu.value;
    fill();
    write();
  });
  fill();
  const about = [schema.type, use.required().includes(name) ? "required" : ""].flat().filter(Boolean).join(", ");
  const label = el("label", { for: kind === NONE ? null : id }, el("code", {}, shownNodes(name)), about && el("small", {}, ` ${shown(about)}`));
  return el("div", { class: "param", "data-path": pathText([...path, name]) }, label, menu, place, el("div", { class: "slot" }));
}

/**
 * @param {any} schema
 * @param {boolean} isText
 * @param {string} raw JSON text; "" for none
 * @param {(raw: string, isBroken: boolean) => void} written
 * @returns {HTMLElement}
 */
function valueControl(schema, isText, raw, written) {
  const { data, error } = raw ? read(raw) : { data: undefined, error: "" };
  const choices = schema.type === "boolean" ? [true, false] : Array.isArray(schema.enum) ? schema.enum : [];
  const isChoice = choices.length > 0 && (raw === "" || choices.some((/** @type {unknown} */ each) => JSON.stringify(each) === JSON.stringify(data)));
  if (isChoice) {
    const made = select([["", "…"], ...choices.map((/** @type {unknown} */ each) => /** @type {[string, string]} */ ([JSON.stringify(each), String(each)]))], raw ? JSON.stringify(data) : "");
    made.addEventListener("change", () => written(made.value, false));
    return made;
  }
  if (isText && !error && (raw === "" || typeof data === "string") && !/[\r\n]/.test(data ?? "")) {
    const made = input({ value: data ?? "", spellcheck: "false" });
    made.addEventListener("input", () => written(JSON.stringify(made.value), false));
    return made;
  }
  const made = textArea({ class: "code", rows: 1, spellcheck: "false", placeholder: "JSON" });
  made.value = prettyJson(raw);
  made.rows = Math.min(8, made.value.split("\n").length);
  made.addEventListener("input", () => {
    const text = made.value.trim();
    written(text, text !== "" && read(text).error !== "");
  });
  return made;
}
