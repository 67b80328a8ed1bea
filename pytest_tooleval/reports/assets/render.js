// @ts-check
"use strict";
// What a trial looks like: plain data of the result document in, DOM nodes out. Every text in it is
// hostile, so nodes are made by createElement and textContent alone.

/**
 * @typedef {{what: string, expected: string, actual: string, value: number, reason: string}} Check
 * @typedef {{value: number | null, explanation: string, checks: Check[]}} Score
 * @typedef {{name: string, arguments?: object | null, raw_arguments?: string | null}} Call
 * @typedef {{role: string, content?: unknown, reasoning_content?: string,
 *   tool_calls?: {function?: {name?: string, arguments?: unknown, raw_arguments?: string}}[]}} Message
 * @typedef {{message: Message, calls: Call[], format?: string, finish_reason?: string | null,
 *   no_answer?: {category: string, reason: string} | null,
 *   latency_s?: number | null, prompt_tokens?: number | null, completion_tokens?: number | null}} Reply
 * @typedef {{prompt: Message[], rounds: {reply: Reply, answers: Message[]}[]}} Transcript
 * @typedef {{trial: number, passed: boolean, scores: Record<string, Score>, failure?: string | null,
 *   extra_calls?: number, format?: string | null, latency_s?: number | null,
 *   prompt_tokens?: number | null, completion_tokens?: number | null, reasoning_tokens?: number | null,
 *   cost_usd?: number | null, cached?: boolean, tool_choice?: string | null,
 *   fallbacks?: Record<string, string | null>, transcript?: Transcript | null,
 *   error?: {kind: string, message: string} | null}} Trial
 * @typedef {Node | string | null | undefined | false} Child
 */

const UNKNOWN = "–";
const LONG_TEXT = 3000;
const INLINE_JSON = 72;
const MARKS = { passed: "✓", failed: "✗", missed: "○", error: "!", skipped: "–" };

/**
 * An element; children that are not nodes become text, and empty ones are left out.
 * @param {string} name
 * @param {Record<string, string | number | null | undefined>} attributes null leaves one out
 * @param {...Child} children
 * @returns {HTMLElement}
 */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  for (const child of children) {
    if (child || child === "") element.append(child);
  }
  return element;
}

/**
 * A button that calls a function.
 * @param {string} label
 * @param {() => void} action
 * @param {Record<string, string | number | null | undefined>} attributes
 */
function button(label, action, attributes = {}) {
  const element = el("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", action);
  return element;
}

// ---- texts ----

// Control characters, bidirectional controls, zero-width ones, unusual spaces, lone surrogates.
const INVISIBLE = /(?:(?![ \n\t])[\p{C}\p{Z}])+/gu;

/**
 * Characters that a reader could not see, or that would reorder the text, as visible escapes.
 * @param {string} text
 */
function escaped(text) {
  return Array.from(text, (character) => {
    const code = character.codePointAt(0) || 0;
    if (character === "\r") return "\\r";
    if (code <= 0xff) return "\\x" + hex(code, 2);
    return code <= 0xffff ? "\\u" + hex(code, 4) : "\\U" + hex(code, 8);
  }).join("");
}

/** @param {number} code @param {number} digits */
function hex(code, digits) {
  return code.toString(16).padStart(digits, "0");
}

/** @param {string} text */
function shown(text) {
  return text.replace(INVISIBLE, escaped);
}

/**
 * The same as nodes, with the escapes set apart from letters that only look like them.
 * @param {string} text
 */
function shownNodes(text) {
  const nodes = document.createDocumentFragment();
  let done = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    nodes.append(text.slice(done, match.index), el("span", { class: "escape" }, escaped(match[0])));
    done = (match.index || 0) + match[0].length;
  }
  nodes.append(text.slice(done));
  return nodes;
}

/**
 * A text of any length: the beginning, and a button that shows the rest.
 * @param {string} text
 * @param {string} className
 */
function longText(text, className) {
  const block = el("div", { class: `text ${className}`, dir: "auto" });
  if (text.length <= LONG_TEXT) {
    block.append(shownNodes(text));
    return block;
  }
  const more = button(`Show all ${text.length.toLocaleString("en")} characters`, () => {
    block.replaceChildren(shownNodes(text));
    block.tabIndex = -1;
    block.focus();
  });
  block.append(shownNodes(text.slice(0, LONG_TEXT)), "… ", more);
  return block;
}

// ---- numbers: what is unknown is a dash, never 0 ----

/** @param {unknown} value @returns {value is number} */
function isKnown(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** @param {unknown} value */
function scoreText(value) {
  if (!isKnown(value)) return UNKNOWN;
  return value >= 0.995 && value < 1 ? "<1.00" : value.toFixed(2);
}

/** @param {unknown} value */
function secondsText(value) {
  if (!isKnown(value)) return UNKNOWN;
  if (value < 1) return `${(value * 1000).toFixed(0)} ms`;
  return `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

/** @param {unknown} value */
function usdText(value) {
  if (!isKnown(value)) return UNKNOWN;
  return value > 0 && value < 0.001 ? `$${value.toPrecision(2)}` : `$${value.toFixed(4)}`;
}

/** @param {unknown} value */
function countText(value) {
  return isKnown(value) ? value.toLocaleString("en") : UNKNOWN;
}

/** @param {unknown} prompt @param {unknown} completion @param {unknown} reasoning a part of the completion */
function tokensText(prompt, completion, reasoning) {
  if (!isKnown(prompt) && !isKnown(completion)) return UNKNOWN;
  const part = isKnown(reasoning) && reasoning ? ` (${countText(reasoning)} reasoning)` : "";
  return `${countText(prompt)} + ${countText(completion)}${part}`;
}

// ---- JSON, re-indented as text so that no digit of a number is lost ----

const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs;

/**
 * JSON text with short lists and objects on one line and others indented; other text as it came.
 * @param {string} text
 */
function prettyJson(text) {
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
 * For each opening bracket the place of its end; null when they lie too deep to indent.
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

// ---- differences ----

/** @typedef {{text: string, same: boolean}} Piece */

const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
const MOST_COMPARED = 250_000;

/**
 * Two texts in pieces that are the same in both, or not: the longest common subsequence of words
 * and signs. Null when nothing of weight is common, and marks would only be noise.
 * @param {string} left
 * @param {string} right
 * @returns {[Piece[], Piece[]] | null}
 */
function difference(left, right) {
  const a = left.match(WORD) || [];
  const b = right.match(WORD) || [];
  if (a.length * b.length > MOST_COMPARED) return null;
  const [inLeft, inRight] = commonWords(a, b);
  const common = a.filter((word, i) => inLeft[i] && /[\p{L}\p{N}]/u.test(word)).join("").length;
  if (common === 0 || common * 5 < Math.min(left.length, right.length)) return null;
  return [pieces(a, inLeft), pieces(b, inRight)];
}

/**
 * Which words of each side belong to the longest common subsequence.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {[boolean[], boolean[]]}
 */
function commonWords(a, b) {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const inA = a.map(() => false);
  const inB = b.map(() => false);
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) inA[i++] = inB[j++] = true;
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++;
    else j++;
  }
  return [inA, inB];
}

/**
 * Neighbours of one kind joined.
 * @param {string[]} words
 * @param {boolean[]} common
 */
function pieces(words, common) {
  /** @type {Piece[]} */
  const found = [];
  words.forEach((word, i) => {
    const last = found[found.length - 1];
    if (last && last.same === common[i]) last.text += word;
    else found.push({ text: word, same: common[i] });
  });
  return found;
}

/**
 * A value of a comparison, its differing pieces marked.
 * @param {string} text
 * @param {Piece[] | null} parts
 * @param {string} kind `expected` or `actual`
 */
function comparedValue(text, parts, kind) {
  const code = el("code", { dir: "auto" });
  for (const part of parts || [{ text, same: true }]) {
    if (part.same) code.append(shownNodes(part.text));
    else code.append(el("mark", { class: kind }, shownNodes(part.text)));
  }
  return code;
}

// ---- scores and comparisons ----

/**
 * A mark with its word.
 * @param {string} outcome passed, failed, missed, error or skipped
 * @param {string} words
 */
function outcomeText(outcome, words = outcome) {
  const mark = MARKS[/** @type {keyof typeof MARKS} */ (outcome)] || "";
  const sign = el("span", { class: "mark", "aria-hidden": "true" }, mark);
  return el("span", { class: `tone-${outcome}` }, sign, ` ${words}`);
}

/**
 * @param {string[]} columns
 * @param {HTMLElement[]} rows
 * @param {string} label
 * @param {string} className
 */
function table(columns, rows, label, className = "") {
  const head = columns.map((each) => el("th", { scope: "col" }, each));
  const body = el("table", { class: className || null }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  return el("div", { class: "scrolling", tabindex: 0, role: "region", "aria-label": label }, body);
}

/**
 * Each metric with its value, what it needs, and why it is what it is.
 * @param {Record<string, Score>} scores
 * @param {Record<string, number>} thresholds
 */
function renderScores(scores, thresholds) {
  const rows = Object.entries(scores).map(([metric, score]) => {
    const needed = thresholds[metric];
    const missed = isKnown(needed) && isKnown(score.value) && score.value < needed - 1e-9;
    const value = missed ? outcomeText("failed", scoreText(score.value)) : scoreText(score.value);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, shownNodes(metric)),
      el("td", { class: "number" }, value),
      el("td", { class: "number" }, isKnown(needed) ? scoreText(needed) : ""),
      el("td", { class: "why" }, shownNodes(score.explanation)),
    );
  });
  return table(["Metric", "Score", "Needs", "Why"], rows, "Scores of the trial", "metrics");
}

/**
 * The comparisons behind the scores, each once; null when there are none.
 * @param {Record<string, Score>} scores
 */
function renderChecks(scores) {
  /** @type {Map<string, Check>} */
  const checks = new Map();
  for (const [metric, score] of Object.entries(scores)) {
    // Valid arguments are no news; the rows would only push the others apart.
    if (metric === "arguments_valid" && score.value === 1) continue;
    for (const check of score.checks) checks.set(JSON.stringify(check), check);
  }
  if (checks.size === 0) return null;
  const rows = Array.from(checks.values(), renderCheck);
  return table(["What", "Expected", "Got", "Result"], rows, "Comparisons of the trial");
}

/** @param {Check} check */
function renderCheck(check) {
  const right = check.value >= 1;
  const sign = outcomeText(right ? "passed" : "failed", check.reason ? "" : right ? "right" : "wrong");
  const differing = right || !check.expected ? null : difference(check.expected, check.actual);
  const partly = !right && check.value > 0 ? `${scoreText(check.value)} ` : "";
  return el(
    "tr",
    { class: right ? null : "wrong" },
    el("th", { scope: "row" }, shownNodes(check.what)),
    el("td", {}, check.expected && comparedValue(check.expected, differing && differing[0], "expected")),
    el("td", {}, comparedValue(check.actual, differing && differing[1], "actual")),
    el("td", { class: "why" }, sign, partly, check.reason && el("span", { class: "spoken" }, right ? "right: " : "wrong: "), shownNodes(check.reason)),
  );
}

// ---- the conversation ----

/** @param {Transcript} transcript */
function renderTranscript(transcript) {
  const items = transcript.prompt.map(renderMessage);
  for (const round of transcript.rounds) {
    items.push(renderReply(round.reply), ...round.answers.map(renderMessage));
  }
  return el("ol", { class: "transcript" }, ...items);
}

/**
 * @param {string} role
 * @param {Child[]} body
 * @param {string} [note]
 */
function turn(role, body, note = "") {
  const known = ["system", "developer", "user", "assistant", "tool"].includes(role) ? role : "other";
  const head = el("div", { class: "role" }, el("bdi", {}, shown(role) || "(no role)"), el("small", {}, note));
  return el("li", { class: `turn turn-${known}` }, head, el("div", { class: "said" }, ...body));
}

/** @param {Message} message */
function renderMessage(message) {
  const text = contentText(message.content);
  const calls = (message.tool_calls || []).map((call) => {
    const made = call.function || {};
    const raw = made.raw_arguments === undefined ? made.arguments : made.raw_arguments;
    const name = made.name || "";
    return renderCall({ name, raw_arguments: typeof raw === "string" ? raw : JSON.stringify(raw) });
  });
  if (message.role === "system" && text.length > 300) {
    const summary = el("summary", {}, shown(text.slice(0, 120)) + "…");
    return turn(message.role, [el("details", {}, summary, longText(text, ""))]);
  }
  const isData = message.role === "tool";
  const body = text || !calls.length ? [longText(isData ? prettyJson(text) : text, isData ? "code" : "")] : [];
  return turn(message.role, [...body, ...calls]);
}

/**
 * A message's text; of parts that are no text their type in brackets.
 * @param {unknown} content
 * @returns {string}
 */
function contentText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part && typeof part.text === "string" ? part.text : `[${part && part.type}]`)).join("\n");
}

/** @param {Reply} reply */
function renderReply(reply) {
  const text = contentText(reply.message.content);
  const thoughts = reply.message.reasoning_content;
  const body = [
    thoughts && el("details", {}, el("summary", {}, "Reasoning"), longText(thoughts, "")),
    text.trim() && longText(text, ""),
    ...reply.calls.map(renderCall),
    !text.trim() && !reply.calls.length && !reply.no_answer && el("p", { class: "muted" }, "(an empty answer)"),
    reply.format === "recovered" && el("p", { class: "note" }, "The call was written as text and recovered."),
    renderEnding(reply),
  ];
  const took = isKnown(reply.latency_s) ? secondsText(reply.latency_s) : "";
  return turn("assistant", body, took);
}

/**
 * How an answer ended, unless it ended as it should.
 * @param {Reply} reply
 */
function renderEnding(reply) {
  const none = reply.no_answer;
  if (none) return el("p", { class: "note" }, `No usable answer, ${none.category.replace(/_/g, " ")}: `, shownNodes(none.reason));
  if (!reply.finish_reason || ["stop", "tool_calls", "function_call"].includes(reply.finish_reason)) return null;
  return el("p", { class: "note" }, "Ended with ", shownNodes(reply.finish_reason));
}

/**
 * A call by its name and its arguments as indented JSON.
 * @param {Call} call
 */
function renderCall(call) {
  const text = typeof call.raw_arguments === "string" ? call.raw_arguments : JSON.stringify(call.arguments ?? null);
  return el(
    "div",
    { class: "call" },
    el("div", { class: "callee" }, "calls ", el("code", {}, call.name ? shownNodes(call.name) : "(no name)")),
    call.arguments === null && el("p", { class: "note" }, "The arguments are not a JSON object:"),
    longText(prettyJson(text), "code"),
  );
}

// ---- a whole trial ----

/**
 * @param {Trial} trial
 * @param {Record<string, number>} thresholds
 */
function renderTrial(trial, thresholds) {
  const checks = renderChecks(trial.scores);
  return el(
    "div",
    { class: "trial" },
    renderFacts(trial),
    trial.error &&
      el("p", { class: "note" }, outcomeText("error", `no answer (${shown(trial.error.kind)}): `), shownNodes(trial.error.message)),
    Object.keys(trial.scores).length > 0 && section("Scores", renderScores(trial.scores, thresholds)),
    checks && section("Comparisons", checks),
    trial.transcript && section("Conversation", renderTranscript(trial.transcript)),
  );
}

/** @param {string} heading @param {HTMLElement} content */
function section(heading, content) {
  return el("section", {}, el("h3", {}, heading), content);
}

/** @param {Trial} trial */
function renderFacts(trial) {
  /** @type {[string, Child][]} */
  const facts = [
    ["Result", trial.error ? outcomeText("error") : outcomeText(trial.passed ? "passed" : "failed")],
    ["Failure", trial.failure ? shown(trial.failure.replace(/_/g, " ")) : ""],
    ["Latency", secondsText(trial.latency_s)],
    ["Tokens", tokensText(trial.prompt_tokens, trial.completion_tokens, trial.reasoning_tokens)],
    ["Cost", usdText(trial.cost_usd)],
    ["Answer", trial.transcript ? (trial.cached ? "replayed" : "asked in this run") : ""],
    ["Format", trial.format === "recovered" ? "recovered from text" : ""],
    ["Extra calls", trial.extra_calls ? countText(trial.extra_calls) : ""],
    ["tool_choice sent", trial.tool_choice ? shown(trial.tool_choice) : ""],
    ["Refused by the model", shown(Object.keys(trial.fallbacks ?? {}).join(", "))],
  ];
  const pairs = facts
    .filter(([, fact]) => fact)
    .map(([term, fact]) => el("div", {}, el("dt", {}, term), el("dd", {}, fact)));
  return el("dl", { class: "facts" }, ...pairs);
}
