// @ts-check
// Completions for a suite's text, from the format's JSON Schema and the suite's own tools. The text is being
// typed and may be invalid JSON, so the place is found from the text before it.

import { shown } from "./page/dom.js";

/** @import { Path } from "./json-text.js" */
/**
 * A place in the text: the path of the value, or of the object whose key it is, and the token there.
 * @typedef {{path: Path, isKey: boolean, start: number, end: number, isText: boolean, keys: string[]}} Place
 * @typedef {Record<string, any>} Schema
 * @typedef {{label: string, displayLabel: string, detail?: string, info?: string, type: string, raw: string, boost?: number}} Option
 */

const TOKEN = /"(?:[^"\\\n]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g;
const TOOL = /(?:^|\.)(?:expected_tool|tool|(?:new_tools|live_tools|valid_prerequisites|forbidden_calls|expected_tool|tool)\.\d+)$/;

/** @param {string} text @param {number} at @returns {Place} */
export function placeAt(text, at) {
  /** @type {{isObject: boolean, key: string | number, isKey: boolean, keys: string[]}[]} */
  const stack = [];
  /** @type {Place | null} */
  let place = null;
  let depth = 0;
  const note = (/** @type {number} */ start, /** @type {number} */ end, /** @type {boolean} */ isText) => {
    const top = stack.at(-1);
    const isKey = Boolean(top?.isKey);
    depth = stack.length;
    place = { path: (isKey ? stack.slice(0, -1) : stack).map(({ key }) => key), isKey, start, end, isText, keys: top?.keys ?? [] };
  };
  for (const { 0: token, index: start } of text.matchAll(TOKEN)) {
    const end = start + token.length;
    const isText = token[0] === '"';
    const isSign = "{}[],:".includes(token);
    const isWhole = isText && token.length > 1 && token.endsWith('"');
    const isHere = !place && start < at && (at < end || (at === end && !isSign && !isWhole));
    if (isHere) note(start, end, isText);
    else if (!place && start >= at) note(at, at, false);
    const top = stack.at(-1);
    if (token === "{") stack.push({ isObject: true, key: "", isKey: true, keys: [] });
    else if (token === "[") stack.push({ isObject: false, key: 0, isKey: false, keys: [] });
    else if (token === "}" || token === "]") stack.pop();
    else if (token === ":" && top) top.isKey = false;
    else if (token === "," && top) {
      if (top.isObject) top.isKey = true;
      else top.key = Number(top.key) + 1;
    } else if (isText && top?.isKey) {
      top.key = token.replace(/^"|"$/g, "");
      // The key being typed does not count.
      if (!isHere) top.keys.push(top.key);
    }
    if (place && stack.length < depth) break;
  }
  if (!place) note(at, at, false);
  return /** @type {Place} */ (/** @type {unknown} */ (place));
}

/** A schema with those that it refers to. @param {Schema} root @param {any} schema @returns {Schema[]} */
function whole(root, schema) {
  if (typeof schema !== "object" || schema === null) return [];
  const others = [schema.$ref && root.$defs[schema.$ref.split("/").at(-1)], ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [schema, ...others.flatMap((each) => whole(root, each))];
}

/** The schemas of the value at a path. @param {Schema} root @param {Path} path @returns {Schema[]} */
export function schemasAt(root, path) {
  return path.reduce(
    (found, key) => found.flatMap((each) => whole(root, typeof key === "number" ? each.items : (each.properties?.[key] ?? each.additionalProperties))),
    whole(root, root),
  );
}

/** @param {any} data @param {Path} path */
export function valueAt(data, path) {
  return path.reduce((/** @type {any} */ value, key) => value?.[key], data);
}

/** The functions of the tools that a place can name. @param {any} data @param {Path} path @returns {any[]} */
export function toolsAt(data, path) {
  const own = path[0] === "test_cases" ? valueAt(data, [...path.slice(0, 2), "tools"]) : undefined;
  const tools = Array.isArray(own) ? own : data?.tools;
  return (Array.isArray(tools) ? tools : []).map((tool) => tool?.function).filter((tool) => typeof tool?.name === "string");
}

/** The parameters of the tools whose expected arguments an object contains; null elsewhere. @param {any} data @param {Path} path of the object @returns {Schema | null} */
function parametersAt(data, path) {
  const beside = { expected_params: "expected_tool", params: "tool" }[String(path.at(-1))];
  if (!beside) return null;
  const names = [valueAt(data, [...path.slice(0, -1), beside])].flat();
  return Object.assign({}, ...toolsAt(data, path).filter(({ name }) => names.includes(name)).map(({ parameters }) => parameters?.properties ?? {}));
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
    for (const [label, schema] of Object.entries(parametersAt(data, path) ?? {})) name(label, schema, [schema.type ?? ""].flat().join(", "), 2);
    if (path.at(-1) === "mock_responses") for (const tool of toolsAt(data, path)) name(tool.name, { description: tool.description }, "tool");
    for (const each of schemasAt(root, path)) {
      for (const [label, schema] of Object.entries(each.properties ?? {})) name(label, schema, each.required?.includes(label) ? "required" : "", each.required?.includes(label) ? 1 : 0);
    }
  } else {
    if (TOOL.test(path.join("."))) for (const tool of toolsAt(data, path)) value(tool.name, tool.description, "function");
    const parameter = parametersAt(data, path.slice(0, -1))?.[String(path.at(-1))];
    for (const each of [...whole(root, parameter), ...schemasAt(root, path)]) {
      for (const choice of each.enum ?? []) value(choice, each.description);
      if ("const" in each) value(each.const, each.description);
      if (each.type === "boolean") for (const choice of [true, false]) value(choice, each.description);
      if (each.type === "null") value(null, each.description);
    }
  }
  return [...found.values()];
}
