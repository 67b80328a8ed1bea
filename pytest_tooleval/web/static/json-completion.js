// @ts-check
// Completions for a suite's text, from the format's JSON Schema and the suite's own tools.

import { treeOf } from "./json-text.js";
import { shown } from "./page/dom.js";

/** @import { Path } from "./json-text.js" */
/** @import { Node } from "./vendor/codemirror.js" */
/**
 * @typedef {Record<string, any>} Schema
 * A place in the text: the path of the value, or of the object whose key it is, the token there, and the other
 * keys of that object.
 * @typedef {{path: Path, isKey: boolean, start: number, end: number, isText: boolean, keys: string[]}} Place
 * @typedef {{label: string, displayLabel: string, detail?: string, info?: string, type: string, raw: string, boost?: number}} Option
 */

const TOKENS = ["PropertyName", "String", "Number", "True", "False", "Null", "⚠"];
const HOLDERS = ["Object", "Array", "Property", "JsonText"];
/** The fields that name tools, of which the schema only knows that they are texts. */
const NAMING_TOOLS = ["expected_tool", "tool", "new_tools", "live_tools", "valid_prerequisites", "forbidden_calls"];
/** The fields of expected arguments, and those that name their tools. @type {Record<string, string>} */
const BESIDE = { expected_params: "expected_tool", params: "tool" };

/** The place of the cursor in a text that is being typed. @param {string} text @param {number} at @returns {Place} */
export function placeAt(text, at) {
  let node = treeOf(text).resolveInner(at, -1);
  const isWhole = node.to === at && /^".*"$/s.test(text.slice(node.from, node.to)) && node.to > node.from + 1;
  const isToken = TOKENS.includes(node.name) && !isWhole;
  const [start, end] = isToken ? [node.from, node.to] : [at, at];
  const isKey = isToken && node.name === "PropertyName";
  if ("}]".includes(node.name)) node = parentOf(node);
  if (isKey) node = parentOf(node);
  if (isKey || !HOLDERS.includes(node.name)) node = parentOf(node);
  /** @type {Path} */
  const path = [];
  for (let [holder, from] = [node, start]; holder.parent; [holder, from] = [holder.parent, holder.from]) {
    if (holder.name === "Property") path.unshift(keyOf(holder, text));
    else if (holder.name === "Array") path.unshift(childrenOf(holder).filter((each) => each.name === "," && each.to <= from).length);
  }
  const others = childrenOf(node).filter((each) => each.name === "Property" && !(each.from <= start && start < each.to));
  return { path, isKey: node.name === "Object", start, end, isText: isToken && text[start] === '"', keys: others.map((each) => keyOf(each, text)) };
}

/** @param {Node} node */
function parentOf(node) {
  return node.parent ?? node;
}

/** @param {Node} node */
function childrenOf(node) {
  const found = [];
  for (let child = node.firstChild; child; child = child.nextSibling) found.push(child);
  return found;
}

/** @param {Node} property @param {string} text */
function keyOf({ from, firstChild }, text) {
  return text.slice(from, firstChild?.to).replace(/^"|"$/g, "");
}

/** @param {Schema} schema */
function skeleton({ type, $ref, items }) {
  return type === "string" ? '""' : type === "array" || items ? "[]" : type === "object" || $ref ? "{}" : "";
}

/**
 * The options at a place. Keys that are already set are left out.
 * @param {Schema} root the format's schema
 * @param {any} data the suite when the text was last valid
 * @param {Place} place
 * @returns {Option[]}
 */
export function optionsAt(root, data, { path, isKey, keys }) {
  /** @type {Map<string, Option>} */
  const found = new Map();
  const add = (/** @type {Option} */ option) => found.has(option.label) || found.set(option.label, option);
  const name = (/** @type {string} */ label, /** @type {any} */ schema, /** @type {string} */ detail, boost = 0) => {
    if (schema === false || keys.includes(label)) return;
    const kinds = whole(root, schema);
    const info = kinds.find(({ description }) => typeof description === "string")?.description;
    const end = kinds.map(skeleton).find(Boolean) ?? "";
    add({ label, displayLabel: shown(label), detail, info: info && shown(info), type: "property", raw: `${JSON.stringify(label)}: ${end}`, boost });
  };
  const value = (/** @type {any} */ given, /** @type {string} */ info, type = "enum") =>
    add({ label: String(given), displayLabel: shown(String(given)), info: info && shown(info), type, raw: JSON.stringify(given) });
  if (isKey) {
    for (const [label, schema] of Object.entries(propertiesOf(parametersAt(data, path)))) name(label, schema, [schema.type ?? ""].flat().join(", "), 2);
    if (path.at(-1) === "mock_responses") for (const tool of toolsAt(data, path)) name(tool.name, { description: tool.description }, "tool");
    for (const each of schemasAt(root, path)) {
      for (const [label, schema] of Object.entries(each.properties ?? {})) {
        const isRequired = each.required?.includes(label);
        name(label, schema, isRequired ? "required" : "", isRequired ? 1 : -["everyday", "agents", "advanced"].indexOf(/** @type {any} */ (schema)["x-tier"] ?? "everyday"));
      }
    }
  } else {
    if (isToolName(path)) for (const tool of toolsAt(data, path)) value(tool.name, tool.description, "function");
    const parameter = propertiesOf(parametersAt(data, path.slice(0, -1)))[String(path.at(-1))];
    for (const each of [...whole(root, parameter), ...schemasAt(root, path)]) {
      for (const choice of each.enum ?? []) value(choice, each.description);
      if ("const" in each) value(each.const, each.description);
      if (each.type === "boolean") for (const choice of [true, false]) value(choice, each.description);
      if (each.type === "null") value(null, each.description);
    }
  }
  return [...found.values()];
}

/**
 * The key at a place in the text, and what the format says of it.
 * @param {Schema} root the format's schema
 * @param {any} data the suite when the text was last valid
 * @param {string} text
 * @param {number} at
 */
export function descriptionAt(root, data, text, at) {
  const { name, from, to } = treeOf(text).resolveInner(at, 1);
  if (name !== "PropertyName") return null;
  const key = `${text.slice(from, to)}:`;
  const info = optionsAt(root, data, placeAt(text, from + 1)).find(({ raw }) => raw.startsWith(key))?.info;
  return info ? { from, to, info } : null;
}

/** A schema with those that it refers to. @param {Schema} root @param {any} schema @returns {Schema[]} */
function whole(root, schema) {
  if (typeof schema !== "object" || schema === null) return [];
  const others = [root.$defs[schema.$ref?.split("/").at(-1)], ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [schema, ...others.flatMap((each) => whole(root, each))];
}

/** The schemas of the value at a path. @param {Schema} root @param {Path} path @returns {Schema[]} */
function schemasAt(root, path) {
  return path.reduce(
    (found, key) => found.flatMap((each) => whole(root, typeof key === "number" ? each.items : (each.properties?.[key] ?? each.additionalProperties))),
    whole(root, root),
  );
}

/** @param {any} data @param {Path} path */
function valueAt(data, path) {
  return path.reduce((/** @type {any} */ value, key) => value?.[key], data);
}

/** A tool's function, by the name that cases use; the argument of a custom tool is a text. @param {any} tool @returns {any} */
function definitionOf(tool) {
  const own = tool?.custom ?? tool?.function;
  const name = tool?.namespace ? `${tool.namespace}.${own?.name}` : own?.name;
  const parameters = tool?.custom ? { type: "object", properties: { input: { type: "string" } }, required: ["input"] } : own?.parameters;
  return typeof own?.name === "string" ? { ...own, name, parameters } : null;
}

/** The functions of the tools that a place can name. @param {any} data @param {Path} path @returns {any[]} */
export function toolsAt(data, path) {
  const own = path[0] === "test_cases" ? valueAt(data, [...path.slice(0, 2), "tools"]) : undefined;
  const tools = Array.isArray(own) ? own : data?.tools;
  return (Array.isArray(tools) ? tools : []).map(definitionOf).filter(Boolean);
}

/** Whether the value at a path names a tool. @param {Path} path */
function isToolName(path) {
  return NAMING_TOOLS.includes(String(typeof path.at(-1) === "number" ? path.at(-2) : path.at(-1)));
}

/**
 * The JSON Schemas of the tools whose expected arguments an object contains.
 * @param {any} data
 * @param {Path} path of the object
 * @returns {Schema[]}
 */
function parametersAt(data, path) {
  const beside = BESIDE[String(path.at(-1))];
  const names = beside ? [valueAt(data, [...path.slice(0, -1), beside])].flat() : [];
  return toolsAt(data, path).filter(({ name }) => names.includes(name)).map(({ parameters }) => parameters ?? {});
}

/** @param {Schema[]} schemas of objects @returns {Record<string, Schema>} */
function propertiesOf(schemas) {
  return Object.assign({}, ...schemas.map(({ properties }) => properties ?? {}));
}
