// @ts-check
// What the published schema says of the fields of a suite: which there are, their kinds, hints and choices.

import { capitalized } from "./page/dom.js";

/** @import { Path } from "./json-text.js" */
/**
 * @typedef {Record<string, any>} Schema
 * @typedef {"line" | "text" | "number" | "choice" | "flag" | "reason" | "words" | "tools" | "calls" | "arguments" | "mocks" | "json"} Kind
 * @typedef {{key: string, label: string, hint: string, kind: Kind, isRequired: boolean, isList: boolean, choices: unknown[], unset: unknown}} Field
 */

/** The fields that name tools, of which the schema only knows that they are texts. */
const NAMING_TOOLS = ["expected_tool", "tool", "new_tools", "live_tools", "valid_prerequisites", "forbidden_calls"];

/** A schema with those that it refers to. @param {Schema} root @param {any} schema @returns {Schema[]} */
export function whole(root, schema) {
  if (typeof schema !== "object" || schema === null) return [];
  const others = [root.$defs[nameOf(schema) ?? ""], ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [schema, ...others.flatMap((each) => whole(root, each))];
}

/** The name of the definition that a schema refers to. @param {any} schema @returns {string | undefined} */
function nameOf(schema) {
  return schema?.$ref?.split("/").at(-1);
}

/** The schemas of the value at a path. @param {Schema} root @param {Path} path @returns {Schema[]} */
export function schemasAt(root, path) {
  return path.reduce(
    (found, key) => found.flatMap((each) => whole(root, typeof key === "number" ? each.items : (each.properties?.[key] ?? each.additionalProperties))),
    whole(root, root),
  );
}

/** The keys of the object at a path, without those for editors and readers of the file. @param {Schema} root @param {Path} path */
export function keysAt(root, path) {
  return schemasAt(root, path).flatMap(({ properties }) => Object.keys(properties ?? {})).filter((key) => !key.startsWith("$"));
}

/** @param {Schema} root @param {Path} path @returns {Field} */
export function fieldAt(root, path) {
  const key = String(path.at(-1));
  const schemas = schemasAt(root, path);
  const [{ description = "", default: unset = null }] = schemas;
  return {
    key,
    label: capitalized(key).replaceAll("_", " "),
    hint: description,
    kind: kindOf(key, schemas),
    isRequired: !("default" in schemas[0]),
    isList: !schemas.some(({ type }) => type === "string"),
    choices: choicesOf(schemas),
    unset,
  };
}

/** The values to choose from, if there are no others. @param {Schema[]} schemas @returns {unknown[]} */
export function choicesOf(schemas) {
  const typed = schemas.filter((each) => each.enum || (each.type && each.type !== "null"));
  if (typed.length !== 1) return [];
  return typed[0].enum ?? (typed[0].type === "boolean" ? [true, false] : []);
}

/** @param {string} key @param {Schema[]} schemas @returns {Kind} */
function kindOf(key, schemas) {
  const types = new Set(schemas.map(({ type }) => type).filter((type) => type && type !== "null"));
  const is = (/** @type {string[]} */ ...wanted) => types.size > 0 && [...types].every((type) => wanted.includes(type));
  const text = schemas.find((each) => each.type === "string" && !("const" in each));
  const [item] = schemas.flatMap(({ items }) => items ?? []);
  const member = schemas.map(({ additionalProperties }) => nameOf(additionalProperties)).find(Boolean);
  if (NAMING_TOOLS.includes(key) && [item, ...(item?.anyOf ?? [])].some((each) => each?.type === "string") && !item.anyOf?.some(nameOf)) return "tools";
  // Where null is another value than false, a box would lose one of the two.
  if (is("boolean")) return schemas.some(({ type }) => type === "null") ? "choice" : "flag";
  if (choicesOf(schemas).length) return "choice";
  if (is("number", "integer")) return "number";
  if (types.has("boolean") && text) return "reason";
  // Names and patterns are short.
  if (text) return text.minLength || text.pattern?.startsWith("^") ? "line" : "text";
  if (is("array") && item?.type === "string") return "words";
  if (nameOf(item) === "ExpectedCall") return "calls";
  if (member === "MockResponse") return "mocks";
  return member === "ExpectedValue" && BESIDE[key] ? "arguments" : "json";
}

/** The fields of expected arguments, and those that name their tools. @type {Record<string, string>} */
const BESIDE = { expected_params: "expected_tool", params: "tool" };

/** @param {any} data @param {Path} path */
export function valueAt(data, path) {
  return path.reduce((/** @type {any} */ value, key) => value?.[key], data);
}

/** The kind of a tool: what holds its name and description. @param {any} tool @returns {"function" | "custom"} */
export function heldBy(tool) {
  return tool?.custom ? "custom" : "function";
}

/** A tool's function, by the name that cases use; the argument of a custom tool is a text. @param {any} tool @returns {any} */
function definitionOf(tool) {
  const own = tool?.[heldBy(tool)];
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
export function isToolName(path) {
  return NAMING_TOOLS.includes(String(typeof path.at(-1) === "number" ? path.at(-2) : path.at(-1)));
}

/**
 * The JSON Schemas of the tools whose expected arguments an object contains; null elsewhere.
 * @param {any} data
 * @param {Path} path of the object
 * @returns {Schema[] | null}
 */
export function parametersAt(data, path) {
  const beside = BESIDE[String(path.at(-1))];
  if (!beside) return null;
  const names = [valueAt(data, [...path.slice(0, -1), beside])].flat();
  return toolsAt(data, path).filter(({ name }) => names.includes(name)).map(({ parameters }) => parameters ?? {});
}

/** @param {Schema[]} schemas of objects @returns {Record<string, Schema>} */
export function propertiesOf(schemas) {
  return Object.assign({}, ...schemas.map(({ properties }) => properties ?? {}));
}
