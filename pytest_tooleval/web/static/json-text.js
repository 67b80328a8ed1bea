// @ts-check
// Changes single values in JSON text. All other characters stay as they are, such as the user's formatting,
// and integers that JavaScript would round.
//
// The functions need valid JSON; check it with `read`.

/**
 * @typedef {(string | number)[]} Path
 * @typedef {{key: string | number, keyStart: number, start: number, end: number}} Member
 */

const SPACE = /[ \t\r\n]*/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const SCALAR = /[^\s,\]}]+/y;
const STRING_OR_BRACKET = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/g;

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

/** @param {RegExp} sticky @param {string} text @param {number} at */
function after(sticky, text, at) {
  sticky.lastIndex = at;
  return sticky.test(text) ? sticky.lastIndex : at;
}

/** Where the value that begins at `at` ends. @param {string} text @param {number} at */
function valueEnd(text, at) {
  if (text[at] === '"') return after(STRING, text, at);
  if (text[at] !== "{" && text[at] !== "[") return after(SCALAR, text, at);
  STRING_OR_BRACKET.lastIndex = at;
  let depth = 0;
  for (;;) {
    const found = STRING_OR_BRACKET.exec(text);
    if (found === null) return text.length;
    if (found[0] === "{" || found[0] === "[") depth += 1;
    else if (found[0] === "}" || found[0] === "]") depth -= 1;
    if (depth === 0) return STRING_OR_BRACKET.lastIndex;
  }
}

/**
 * The members of the object or list that begins at `at`; none for a scalar.
 * @param {string} text
 * @param {number} at
 * @returns {Member[]}
 */
function membersAt(text, at) {
  if (text[at] !== "{" && text[at] !== "[") return [];
  const isObject = text[at] === "{";
  /** @type {Member[]} */
  const found = [];
  let start = after(SPACE, text, at + 1);
  if (text[start] === "}" || text[start] === "]") return found;
  for (;;) {
    const keyStart = start;
    /** @type {string | number} */
    let key = found.length;
    if (isObject) {
      const keyEnd = valueEnd(text, start);
      key = JSON.parse(text.slice(start, keyEnd));
      start = after(SPACE, text, after(SPACE, text, keyEnd) + 1);
    }
    const end = valueEnd(text, start);
    found.push({ key, keyStart, start, end });
    const comma = after(SPACE, text, end);
    if (text[comma] !== ",") return found;
    start = after(SPACE, text, comma + 1);
  }
}

/**
 * The last member with a key, as in JSON.parse.
 * @param {Member[]} members
 * @param {string | number} key
 */
function memberOf(members, key) {
  return members.filter((member) => member.key === key).pop();
}

/**
 * The position of a value in the text; null if it is not set.
 * @param {string} text
 * @param {Path} path
 * @returns {{start: number, end: number} | null}
 */
export function find(text, path) {
  let start = after(SPACE, text, 0);
  let end = valueEnd(text, start);
  for (const key of path) {
    const member = memberOf(membersAt(text, start), key);
    if (member === undefined) return null;
    ({ start, end } = member);
  }
  return { start, end };
}

/**
 * The text of a value without the indentation of its place; undefined if it is not set.
 * @param {string} text
 * @param {Path} path
 */
export function rawOf(text, path) {
  const place = find(text, path);
  if (place === null) return undefined;
  const indent = indentAt(text, place.start);
  return text.slice(place.start, place.end).replace(/\r?\n([ \t]*)/g, (_, spaces) =>
    "\n" + (spaces.startsWith(indent) ? spaces.slice(indent.length) : ""),
  );
}

/** The indentation of a line. @param {string} text @param {number} at */
function indentAt(text, at) {
  const line = text.lastIndexOf("\n", at - 1) + 1;
  const found = /^[ \t]*/.exec(text.slice(line, at));
  return found ? found[0] : "";
}

/** One level of the text's indentation. @param {string} text */
function unitOf(text) {
  const found = /^\s*\{[ \t]*\r?\n([ \t]+)"/.exec(text);
  return found ? found[1] : "  ";
}

/** @param {string} text */
export function newlineOf(text) {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/**
 * JSON for a value, in the style of this text, without outer indentation.
 * @param {string} text
 * @param {unknown} value
 */
export function spell(text, value) {
  return JSON.stringify(value, null, unitOf(text));
}

/** @param {string} text @param {string} raw @param {string} indent */
function indented(text, raw, indent) {
  return raw.trim().replace(/\r?\n/g, newlineOf(text) + indent);
}

/** @param {string} text @param {number} start @param {number} end @param {string} raw */
function splice(text, start, end, raw) {
  return text.slice(0, start) + raw + text.slice(end);
}

/**
 * The text with another value at a path. A new key is added in the place that `order` gives, else at the end.
 * @param {string} text
 * @param {Path} path whose parents exist
 * @param {string} raw JSON text
 * @param {string[]} order
 */
export function setRaw(text, path, raw, order = []) {
  const place = find(text, path);
  if (place !== null) return splice(text, place.start, place.end, indented(text, raw, indentAt(text, place.start)));
  const parent = find(text, path.slice(0, -1));
  if (parent === null) return text;
  const key = path[path.length - 1];
  return insertMember(text, parent, placeOf(key, membersAt(text, parent.start), order), typeof key === "string" ? `${JSON.stringify(key)}: ` : "", raw);
}

/**
 * After the last of the keys that precede it in `order`, else before those that follow.
 * @param {string | number} key
 * @param {Member[]} members
 * @param {string[]} order
 */
function placeOf(key, members, order) {
  const keys = members.map((member) => String(member.key));
  const rank = order.indexOf(String(key));
  const before = order.slice(0, Math.max(0, rank)).filter((each) => keys.includes(each)).pop();
  if (before !== undefined) return keys.lastIndexOf(before) + 1;
  const after = rank < 0 ? -1 : keys.findIndex((each) => order.indexOf(each) > rank);
  return after < 0 ? Infinity : after;
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
 * @param {{start: number, end: number}} parent
 * @param {number} index
 * @param {string} key with its colon
 * @param {string} raw
 */
function insertMember(text, parent, index, key, raw) {
  const members = membersAt(text, parent.start);
  const newline = newlineOf(text);
  if (members.length === 0) {
    const outer = indentAt(text, parent.start);
    const inner = outer + unitOf(text);
    const open = text[parent.start];
    const whole = open + newline + inner + key + indented(text, raw, inner) + newline + outer + (open === "{" ? "}" : "]");
    return splice(text, parent.start, parent.end, whole);
  }
  const first = members[0].keyStart;
  const isTall = text.slice(parent.start, first).includes("\n");
  const indent = indentAt(text, first);
  const made = key + indented(text, raw, indent);
  const gap = isTall ? newline + indent : " ";
  if (index < members.length) return splice(text, members[index].keyStart, members[index].keyStart, made + "," + gap);
  const end = members[members.length - 1].end;
  return splice(text, end, end, "," + gap + made);
}

/**
 * The text without a key or an item.
 * @param {string} text
 * @param {Path} path
 */
export function removeAt(text, path) {
  const parent = find(text, path.slice(0, -1));
  if (parent === null) return text;
  const members = membersAt(text, parent.start);
  const member = memberOf(members, path[path.length - 1]);
  if (member === undefined) return text;
  const at = members.indexOf(member);
  if (members.length === 1) return splice(text, parent.start + 1, parent.end - 1, "");
  if (at > 0) return splice(text, members[at - 1].end, member.end, "");
  return splice(text, member.keyStart, members[1].keyStart, "");
}

/**
 * The text with an item of a list moved; the text between items stays.
 * @param {string} text
 * @param {Path} path of the list
 * @param {number} from
 * @param {number} to
 */
export function moveItem(text, path, from, to) {
  const list = find(text, path);
  if (list === null) return text;
  const members = membersAt(text, list.start);
  const items = members.map((member) => text.slice(member.start, member.end));
  items.splice(to, 0, ...items.splice(from, 1));
  let result = text.slice(0, members[0].start);
  members.forEach((member, i) => {
    const next = i + 1 < members.length ? members[i + 1].start : text.length;
    result += items[i] + text.slice(member.end, next);
  });
  return result;
}

/**
 * A path as in the loader's messages.
 * @param {Path} path
 */
export function pathText(path) {
  return path.reduce((/** @type {string} */ text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text ? `${text}.${part}` : part;
  }, "");
}

/**
 * The offset of a line and column, both from 1. Columns count characters, not UTF-16 units.
 * @param {string} text
 * @param {number} line
 * @param {number} column
 */
export function offsetOf(text, line, column) {
  let start = 0;
  for (let i = 1; i < line; i++) {
    const end = text.indexOf("\n", start);
    if (end < 0) break;
    start = end + 1;
  }
  const end = text.indexOf("\n", start);
  const characters = Array.from(text.slice(start, end < 0 ? undefined : end));
  return start + characters.slice(0, column - 1).join("").length;
}
