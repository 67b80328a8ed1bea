// @ts-check
// A trial: its facts, scores and comparisons, and the conversation.

import { difference } from "./difference.js";
import { button, el, factList, fold, isolated, numberCell, outcomeText, shown, shownNodes, spoken, table, tableRow } from "./dom.js";
import { prettyJson } from "./json.js";
import { countText, isBelow, isKnown, scoreText, secondsText, tokensText, usdText } from "./numbers.js";

/** @import { Choice } from "./cases.js" */
/** @import { Child } from "./dom.js" */
/** @import { Piece } from "./difference.js" */
/**
 * @typedef {{what: string, expected: string, actual: string, value: number, reason: string}} Check
 * @typedef {{value: number | null, explanation: string, checks: Check[]}} Score
 * @typedef {{name: string, arguments: object | null, raw_arguments: string | null}} Call
 * @typedef {{role?: string, content?: unknown, reasoning_content?: unknown, reasoning?: unknown, tool_calls?: unknown}} Message
 * @typedef {{message: Message, calls: Call[], format: string, finish_reason: string | null,
 *   no_answer: {category: string, reason: string} | null, latency_s: number | null}} Reply
 * @typedef {{prompt: Message[], rounds: {prompt: Message[], reply: Reply, answers: Message[]}[], printed?: string,
 *   user?: {ending: string} | null, judged?: Judged[]}} Transcript
 * @typedef {{rubric: string, turn: number, passed: boolean, reason: string}} Judged
 * @typedef {{trial: number, passed: boolean, failure: string | null, wrong: string, format: string | null,
 *   latency_s: number | null, prompt_tokens: number | null, completion_tokens: number | null,
 *   reasoning_tokens: number | null, served_model: string | null, system_fingerprint: string | null, fallbacks: Record<string, string | null>,
 *   cost_usd: number | null, others_cost_usd: number | null, cached: boolean, tool_choice: string | null, choices: Choice[],
 *   error: {kind: string, message: string} | null}} Trial what is known of a trial without opening it
 * @typedef {Trial & {scores: Record<string, Score>, transcript: Transcript | null}} WholeTrial
 */

const LONG_TEXT = 3000;

/**
 * @param {WholeTrial} trial
 * @param {Record<string, number>} thresholds
 */
export function trialNodes(trial, thresholds) {
  const checks = checkTable(trial.scores);
  return el(
    "div",
    { class: "trial" },
    trialFacts(trial),
    trial.error && el("p", { class: "note" }, outcomeText("error", `no answer (${shown(trial.error.kind)}): `), shownNodes(trial.error.message)),
    Object.keys(trial.scores).length > 0 && part("Scores", scoreTable(trial.scores, thresholds)),
    checks && part("Comparisons", checks),
    trial.transcript && part("Conversation", conversation(trial.transcript)),
    trial.transcript?.printed && part("Printed by the world", longText(trial.transcript.printed, "code")),
  );
}

/** @param {string} heading @param {HTMLElement} content */
function part(heading, content) {
  return el("section", {}, el("h3", {}, heading), content);
}

/** @param {Trial} trial */
function trialFacts(trial) {
  return factList([
    ["Result", trial.error ? outcomeText("error") : outcomeText(trial.passed ? "passed" : "failed")],
    ["Failure", trial.failure && shown(trial.failure.replace(/_/g, " "))],
    ["Latency", secondsText(trial.latency_s)],
    ["Tokens", tokensText(trial.prompt_tokens, trial.completion_tokens, trial.reasoning_tokens)],
    ["Cost", usdText(trial.cost_usd)],
    ["Judge and user", isKnown(trial.others_cost_usd) && usdText(trial.others_cost_usd)],
    ["Answer", trial.error ? "" : trial.cached ? "replayed" : "asked in this run"],
    ["Format", trial.format === "recovered" && "recovered from text"],
    ["Served by", [trial.served_model, trial.system_fingerprint].filter((each) => each).map((each) => shown(String(each))).join(", ")],
    ["tool_choice sent", trial.tool_choice && shown(trial.tool_choice)],
    ["Sent otherwise", shown(Object.keys(trial.fallbacks).join(", "))],
  ]);
}

// ---- scores and comparisons ----

/**
 * Each metric with its value, what it needs, and why it is what it is.
 * @param {Record<string, Score>} scores
 * @param {Record<string, number>} thresholds
 */
function scoreTable(scores, thresholds) {
  const rows = Object.entries(scores).map(([metric, { value, explanation }]) => {
    const needed = thresholds[metric];
    const text = isBelow(value, needed) ? outcomeText("failed", scoreText(value)) : scoreText(value);
    const why = el("td", { class: "why" }, shownNodes(explanation));
    return tableRow(shownNodes(metric), numberCell(text), numberCell(isKnown(needed) ? scoreText(needed) : ""), why);
  });
  return table(["Metric", "Score", "Needs", "Why"], rows, "Scores of the trial", "metrics");
}

/**
 * The comparisons behind the scores, each once; null when there are none.
 * @param {Record<string, Score>} scores
 */
function checkTable(scores) {
  /** @type {Map<string, Check>} */
  const checks = new Map();
  for (const [metric, score] of Object.entries(scores)) {
    // Valid arguments are no news; the rows would only push the others apart.
    if (metric === "arguments_valid" && score.value === 1) continue;
    for (const check of score.checks) checks.set(JSON.stringify(check), check);
  }
  if (checks.size === 0) return null;
  return table(["What", "Expected", "Got", "Result"], Array.from(checks.values(), checkRow), "Comparisons of the trial");
}

/** @param {Check} check */
function checkRow(check) {
  const right = check.value >= 1;
  const sign = outcomeText(right ? "passed" : "failed", check.reason ? "" : right ? "right" : "wrong");
  const differing = right || !check.expected ? null : difference(check.expected, check.actual);
  const partly = !right && check.value > 0 ? `${scoreText(check.value)} ` : "";
  const row = tableRow(
    shownNodes(check.what),
    check.expected && comparedValue(check.expected, differing && differing[0], "expected"),
    comparedValue(check.actual, differing && differing[1], "actual"),
    el("td", { class: "why" }, sign, partly, check.reason && spoken(right ? "right: " : "wrong: "), shownNodes(check.reason)),
  );
  row.classList.toggle("wrong", !right);
  return row;
}

/**
 * A value of a comparison, its differing pieces marked.
 * @param {string} text
 * @param {Piece[] | null} pieces
 * @param {string} kind `expected` or `actual`
 */
function comparedValue(text, pieces, kind) {
  const nodes = (pieces || [{ text, same: true }]).map((piece) =>
    piece.same ? shownNodes(piece.text) : el("mark", { class: kind }, shownNodes(piece.text)),
  );
  return el("code", { dir: "auto" }, ...nodes);
}

// ---- the conversation ----

/** @param {Transcript} transcript */
function conversation(transcript) {
  const turns = transcript.rounds.flatMap((round) => [...round.prompt.map(messageTurn), replyTurn(round.reply), ...round.answers.map(messageTurn)]);
  const ending = transcript.user?.ending && turn("user", [longText(transcript.user.ending, "")], "ends the conversation");
  return el("ol", { class: "transcript" }, ...transcript.prompt.map(messageTurn), ...turns, ending, ...(transcript.judged || []).map(judgedTurn));
}

/** What a judge made of a rubric. @param {Judged} judged */
function judgedTurn({ rubric, turn: number, passed, reason }) {
  const verdict = outcomeText(passed ? "passed" : "failed", passed ? "is met: " : "is not met: ");
  return turn("judge", [el("p", {}, verdict, shownNodes(rubric)), longText(reason, "")], number ? `of turn ${number}` : "");
}

/**
 * @param {string} role
 * @param {Child[]} body
 * @param {string} [note]
 */
function turn(role, body, note = "") {
  const known = ["system", "developer", "user", "assistant", "tool"].includes(role) ? role : "other";
  const head = el("div", { class: "role" }, isolated(role, "(no role)"), el("small", {}, note));
  return el("li", { class: `turn turn-${known}` }, head, el("div", { class: "said" }, ...body));
}

/** @param {Message} message */
function messageTurn(message) {
  const role = String(message.role ?? "");
  const text = contentText(message.content);
  if (role === "system" && text.length > 300) return turn(role, [fold(shown(text.slice(0, 120)) + "…", false, longText(text, ""))]);
  const made = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const calls = made.map((each) => {
    const { name, arguments: given } = Object(Object(each).function);
    return callBlock({ name: String(name ?? ""), arguments: {}, raw_arguments: typeof given === "string" ? given : JSON.stringify(given ?? null) });
  });
  const isData = role === "tool";
  const body = text || !calls.length ? [longText(isData ? prettyJson(text) : text, isData ? "code" : "")] : [];
  return turn(role, [...body, ...calls]);
}

/** @param {Reply} reply */
function replyTurn(reply) {
  const text = contentText(reply.message.content);
  const thoughts = [reply.message.reasoning_content, reply.message.reasoning].find((each) => typeof each === "string" && each);
  const body = [
    thoughts ? fold("Reasoning", false, longText(String(thoughts), "")) : null,
    text.trim() && longText(text, ""),
    ...reply.calls.map(callBlock),
    !text.trim() && !reply.calls.length && !reply.no_answer && el("p", { class: "muted" }, "(an empty answer)"),
    reply.format === "recovered" && el("p", { class: "note" }, "The call was written as text and recovered."),
    endingNote(reply),
  ];
  return turn("assistant", body, isKnown(reply.latency_s) ? secondsText(reply.latency_s) : "");
}

/** How an answer ended, unless it ended as it should. @param {Reply} reply */
function endingNote({ no_answer: none, finish_reason: reason }) {
  if (none) return el("p", { class: "note" }, `No usable answer, ${none.category.replace(/_/g, " ")}: `, shownNodes(none.reason));
  const isUsual = !reason || ["stop", "tool_calls", "function_call"].includes(reason);
  return isUsual ? null : el("p", { class: "note" }, "Ended with ", shownNodes(reason));
}

/** A call by its name and its arguments as indented JSON. @param {Call} call */
function callBlock(call) {
  const text = call.raw_arguments ?? JSON.stringify(call.arguments);
  return el(
    "div",
    { class: "call" },
    el("div", { class: "callee" }, "calls ", el("code", {}, call.name ? shownNodes(call.name) : "(no name)")),
    call.arguments === null && el("p", { class: "note" }, "The arguments are not a JSON object:"),
    longText(prettyJson(text), "code"),
  );
}

/**
 * A message's text; of parts that are no text their type in brackets.
 * @param {unknown} content
 * @returns {string}
 */
export function contentText(content) {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.map((part) => (typeof part === "string" ? part : typeof part?.text === "string" ? part.text : `[${part?.type ?? "part"}]`)).join("\n");
}

/**
 * A text of any length: the beginning, and a button that shows the rest.
 * @param {string} text
 * @param {string} className
 */
export function longText(text, className) {
  const block = el("div", { class: `text ${className}`, dir: "auto" });
  if (text.length <= LONG_TEXT) {
    block.append(shownNodes(text));
    return block;
  }
  const more = button(`Show all ${countText(text.length)} characters`, () => {
    block.replaceChildren(shownNodes(text));
    block.tabIndex = -1;
    block.focus();
  });
  block.append(shownNodes(text.slice(0, LONG_TEXT)), "… ", more);
  return block;
}
