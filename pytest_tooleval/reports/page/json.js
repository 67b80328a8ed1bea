// @ts-check
// JSON for reading, with every digit of its numbers.

const INLINE_JSON = 72;
const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs;

/**
 * JSON text, indented, with short lists and objects on one line. Invalid JSON is returned as it is.
 * @param {string} text
 */
export function prettyJson(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  const tokens = text.match(JSON_TOKEN) || [];
  const ends = bracketEnds(tokens);
  if (ends === null) return text;
  let result = "";
  let level = 0;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if ("{[".includes(token) && (ends[i] === i + 1 || isShort(tokens, i, ends[i]))) {
      result += inline(tokens.slice(i, ends[i] + 1));
      i = ends[i];
    } else if ("{[".includes(token)) result += token + newLine(++level);
    else if ("}]".includes(token)) result += newLine(--level) + token;
    else if (token === ",") result += token + newLine(level);
    else result += token === ":" ? ": " : token;
  }
  return result;
}

/**
 * For each opening bracket the position of its end; null if they nest too deep to indent.
 * @param {string[]} tokens
 */
function bracketEnds(tokens) {
  /** @type {Record<number, number>} */
  const ends = {};
  /** @type {number[]} */
  const open = [];
  for (let i = 0; i < tokens.length; i++) {
    if ("{[".includes(tokens[i])) open.push(i);
    else if ("}]".includes(tokens[i])) ends[/** @type {number} */ (open.pop())] = i;
    if (open.length > 100) return null;
  }
  return ends;
}

/** @param {string[]} tokens @param {number} start @param {number} end */
function isShort(tokens, start, end) {
  let length = 0;
  for (let i = start; i <= end && length <= INLINE_JSON; i++) length += tokens[i].length + 1;
  return length <= INLINE_JSON;
}

/** @param {string[]} tokens */
function inline(tokens) {
  return tokens.map((token) => (token === "," || token === ":" ? token + " " : token)).join("");
}

/** @param {number} level */
function newLine(level) {
  return "\n" + "  ".repeat(level);
}

/**
 * Like `JSON.parse`, but keeps integers that it would round, for JSON.stringify.
 * @param {string} text
 */
export function exactJson(text) {
  // A reviver takes ten times as long.
  if (!/(?<![.\d])\d{16}/.test(text)) return JSON.parse(text);
  const { rawJSON } = /** @type {{rawJSON?: (text: string) => unknown}} */ (/** @type {unknown} */ (JSON));
  const exact = (/** @type {string} */ _, /** @type {unknown} */ value, /** @type {{source: string} | undefined} */ context) => {
    const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value);
    return isRounded && rawJSON && context ? rawJSON(context.source) : value;
  };
  return JSON.parse(text, /** @type {(key: string, value: unknown) => unknown} */ (exact));
}
