// @ts-check
// Changes single values in JSON text. All other characters stay as they are, such as the user's formatting,
// and integers that JavaScript would round.
//
// The functions need valid JSON; check it with `read`.

import { TreeFragment, jsonLanguage } from "./vendor/codemirror.js";

/** @import { Node } from "./vendor/codemirror.js" */
/**
 * A member of an object, from its key, or an item of a list.
 * @typedef {(string | number)[]} Path
 * @typedef {{key: string | number, from: number, value: Node}} Member
 */

/**
 * The data of a JSON text, or the error.
 * @param {string} text
 * @returns {{data: any, error: string}}
 */
export function read(text) {
  try {
    return { data: JSON.parse(text), error: "" };
  } catch (error) {
    return { data: undefined, error: /** @type {Error} */ (error).message };
  }
}

let parsed = { text: "", tree: jsonLanguage.parser.parse("") };

/** The tree of a text. Only what differs from the last text is parsed. @param {string} text */
export function treeOf(text) {
  if (text === parsed.text) return parsed.tree;
  const { from, toOld, toNew } = difference(parsed.text, text);
  const unchanged = TreeFragment.applyChanges(TreeFragment.addTree(parsed.tree), [{ fromA: from, toA: toOld, fromB: from, toB: toNew }]);
  parsed = { text, tree: jsonLanguage.parser.parse(text, unchanged) };
  return parsed.tree;
}

/** The only part in which two texts differ. @param {string} old @param {string} text */
export function difference(old, text) {
  const most = Math.min(old.length, text.length);
  let from = 0;
  while (from < most && old[from] === text[from]) from += 1;
  let same = 0;
  while (same < most - from && old[old.length - 1 - same] === text[text.length - 1 - same]) same += 1;
  return { from, toOld: old.length - same, toNew: text.length - same };
}

/**
 * The members of an object or a list; none for a scalar.
 * @param {string} text
 * @param {Node} node
 */
function membersOf(text, node) {
  /** @type {Member[]} */
  const found = [];
  for (let child = node.firstChild; child; child = child.nextSibling) {
    const { name, from, firstChild, lastChild } = child;
    if (name === "Property" && firstChild && lastChild) found.push({ key: JSON.parse(text.slice(from, firstChild.to)), from, value: lastChild });
    else if (!"[{,}]".includes(name)) found.push({ key: found.length, from, value: child });
  }
  return found;
}

/**
 * The last member with a key, as in JSON.parse.
 * @param {Member[]} members
 * @param {string | number} key
 */
function memberOf(members, key) {
  return members.findLast((member) => member.key === key);
}

/**
 * The value at a path; null if it is not set.
 * @param {string} text
 * @param {Path} path
 */
export function find(text, path) {
  return path.reduce((/** @type {Node | null} */ node, key) => (node && memberOf(membersOf(text, node), key)?.value) ?? null, treeOf(text).topNode.firstChild);
}

/** The indentation of a line. @param {string} text @param {number} at */
function indentAt(text, at) {
  const line = text.lastIndexOf("\n", at - 1) + 1;
  const found = /^[ \t]*/.exec(text.slice(line, at));
  return found ? found[0] : "";
}

/** One level of the text's indentation. @param {string} text */
export function unitOf(text) {
  const found = /^\s*\{[ \t]*\r?\n([ \t]+)"/.exec(text);
  return found ? found[1] : "  ";
}

/** @param {string} text */
export function newlineOf(text) {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** @param {string} text @param {string} raw @param {string} indent */
function indented(text, raw, indent) {
  return raw.trim().replace(/\r?\n/g, newlineOf(text) + indent);
}

/** @param {string} text @param {number} from @param {number} to @param {string} raw */
function splice(text, from, to, raw) {
  return text.slice(0, from) + raw + text.slice(to);
}

/**
 * The text with another value at a path. A new key is added at `index`, else at the end.
 * @param {string} text
 * @param {Path} path whose parents exist
 * @param {string} raw JSON text
 * @param {number} index
 */
export function setRaw(text, path, raw, index = Infinity) {
  const place = find(text, path);
  if (place !== null) return splice(text, place.from, place.to, indented(text, raw, indentAt(text, place.from)));
  const parent = find(text, path.slice(0, -1));
  if (parent === null) return text;
  const key = path[path.length - 1];
  return insertMember(text, parent, index, typeof key === "string" ? `${JSON.stringify(key)}: ` : "", raw);
}

/**
 * The text with one more item in a list.
 * @param {string} text
 * @param {Path} path of the list
 * @param {number} index
 * @param {string} raw
 */
export function insertItem(text, path, index, raw) {
  const list = find(text, path);
  return list === null ? text : insertMember(text, list, index, "", raw);
}

/**
 * @param {string} text
 * @param {Node} parent
 * @param {number} index
 * @param {string} key with its colon
 * @param {string} raw
 */
function insertMember(text, parent, index, key, raw) {
  const members = membersOf(text, parent);
  const newline = newlineOf(text);
  const last = members.at(-1);
  if (last === undefined) {
    const outer = indentAt(text, parent.from);
    const inner = outer + unitOf(text);
    return splice(text, parent.from + 1, parent.to - 1, newline + inner + key + indented(text, raw, inner) + newline + outer);
  }
  const first = members[0].from;
  const indent = indentAt(text, first);
  const gap = text.slice(parent.from, first).includes("\n") ? newline + indent : " ";
  const made = key + indented(text, raw, indent);
  if (index < members.length) return splice(text, members[index].from, members[index].from, made + "," + gap);
  return splice(text, last.value.to, last.value.to, "," + gap + made);
}
