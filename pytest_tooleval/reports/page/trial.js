// @ts-check
// A trial: what was expected, scores, details and the conversation.

import { columnCell, valueIn, valueNodes } from "./columns.js";
import { difference } from "./difference.js";
import { button, capitalized, el, factList, fold, isolated, metricName, numberCell, outcomeText, scrolling, shortened, shown, shownNodes, spoken, svg, table, tableRow } from "./dom.js";
import { prettyJson } from "./json.js";
import { countText, isKnown, misses, needsText, scoreText, secondsText } from "./numbers.js";
import { ABSENT, NOT_SAID, WHOLE } from "./words.js";

/** @import { Choice } from "./cases.js" */
/** @import { Column } from "./columns.js" */
/** @import { Child } from "./dom.js" */
/** @import { Piece } from "./difference.js" */
/** @import { WholeRow } from "./panel.js" */
/**
 * @typedef {{what: string, expected: string, actual: string, value: number, reason: string, place: string}} Check
 * @typedef {{value: number | null, explanation: string, checks: Check[]}} Score
 * @typedef {{name: string, arguments: object | null, raw_arguments: string | null, id?: string | null}} Call
 * @typedef {{role?: string, content?: unknown, reasoning_content?: unknown, reasoning?: unknown, tool_calls?: unknown, tool_call_id?: unknown}} Message
 * @typedef {{prompt: Message[], message: Message, calls: Call[], searches?: {arguments: unknown, tools: string[] | null}[], tool_answers: Message[], statuses: (string | null)[], ran_by_suite: boolean[], agent: string | null, is_inner: boolean, format: string, finish_reason: string | null,
 *   no_answer: {category: string, reason: string} | null, latency_s: number | null,
 *   prompt_tokens: number | null, completion_tokens: number | null, reasoning_tokens: number | null, cost_usd: number | null,
 *   tool_choice: string | null, temperature: number | null, fallbacks: Record<string, string | null>}} Reply
 * @typedef {{prompt: Message[], replies: Reply[], printed?: string,
 *   user?: {ending: string} | null, judged?: RubricVerdict[]}} Transcript
 * @typedef {{rubric: string, turn: number, passed: boolean, reason: string}} RubricVerdict
 * @typedef {{trial: number, passed: boolean, failure: string | null, mistake: string, not_played?: string[], differing?: string[], format: string | null,
 *   latency_s: number | null, prompt_tokens: number | null, completion_tokens: number | null,
 *   reasoning_tokens: number | null, served_model: string | null, system_fingerprint: string | null, answered_at: string | null, fallbacks: Record<string, string | null>,
 *   cost_usd: number | null, others_cost_usd: number | null, cached: boolean, tool_choice: string | null, call_pairs: Choice[],
 *   error: {kind: string, message: string} | null}} Trial without what is loaded only when a trial is opened
 * @typedef {Trial & {scores: Record<string, Score>, transcript: Transcript | null}} WholeTrial
 */

const LONG_TEXT = 3000;
const IMAGE = /^data:(image\/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/]+={0,2})$/;

/**
 * What went wrong comes first: the prompt, what was expected and what came, then the scores.
 * @param {WholeTrial} trial
 * @param {WholeRow} row
 * @param {Record<string, Column[]>} columns
 */
export function trialNodes(trial, row, columns) {
  const { transcript } = trial;
  const differing = diffTable(trial.scores, "Expected and actual");
  const severalTurns = Boolean(transcript?.replies.some(({ prompt }) => prompt.length));
  return el(
    "div",
    { class: "trial" },
    trial.error && el("p", { class: "note" }, outcomeText("error", `no answer (${shown(trial.error.kind)}): `), shownNodes(trial.error.message)),
    transcript && prompts(transcript, severalTurns),
    differing && part("Expected and actual", differing),
    ...[...(trial.not_played || []), ...(trial.differing || [])].map((line) => el("p", { class: "note" }, shownNodes(line))),
    Object.keys(trial.scores).length > 0 && part("Scores", scoreTable(trial.scores, row.thresholds)),
    part("Details", trialFacts(trial, columns.trial)),
    transcript && transcript.replies.length > 1 && repliesTable(transcript.replies, columns.reply),
    transcript && part(severalTurns ? "Conversation" : "Answer", conversation(transcript)),
    transcript?.printed && part("World output", longText(transcript.printed, "code")),
    row.offered.length > 0 && fold(`Tools offered: ${row.offered.length}`, false, el("p", {}, ...row.offered.flatMap((name, i) => [i ? ", " : "", el("code", {}, shownNodes(name))]))),
    transcript && recorded(transcript),
  );
}

/**
 * A trial next to those of other models: the answer, and what is wrong with it.
 * @param {WholeTrial} trial
 * @param {string} model
 */
export function shortTrial(trial, model) {
  return [
    trial.error && el("p", { class: "note" }, shownNodes(trial.error.message)),
    diffTable(trial.scores, `Expected and actual, ${shown(model)}`),
    trial.transcript && conversation(trial.transcript),
  ];
}

/** The prompts of all turns. @param {Transcript} transcript @param {boolean} severalTurns */
function prompts({ prompt, replies }, severalTurns) {
  const turns = [prompt, ...replies.map((reply) => reply.prompt).filter((said) => said.length)];
  const said = turns.flatMap((messages, i) => messages.map((message) => messageTurn(message, severalTurns ? `turn ${i + 1}` : "")));
  return part(severalTurns ? "Prompts" : "Prompt", el("ol", { class: "transcript" }, ...said));
}

/** @param {string} heading @param {HTMLElement} content */
function part(heading, content) {
  return el("section", {}, el("h3", {}, heading), content);
}

/** A model's answer as text, for comparing two. @param {WholeTrial} trial */
export function answerText(trial) {
  const replies = trial.transcript?.replies || [];
  const calls = (/** @type {Reply} */ { calls }) => calls.map((call) => `${call.name} ${prettyJson(call.raw_arguments ?? JSON.stringify(call.arguments))}`);
  return [trial.error?.message ?? "", ...replies.flatMap((reply) => [contentText(reply.message.content), ...calls(reply)])].filter((each) => each.trim()).join("\n");
}

/** @param {Trial} trial @param {Column[]} columns */
function trialFacts(trial, columns) {
  const measured = columns.map((column) => /** @type {[string, Child]} */ ([capitalized(column.heading), !(column.is_rare && !valueIn(trial, column)) && el("span", {}, ...valueNodes(trial, column))]));
  return factList([
    ["Result", trial.error ? outcomeText("error") : outcomeText(trial.passed ? "passed" : "failed")],
    ["Failure", trial.failure && shown(trial.failure.replace(/_/g, " "))],
    ...measured,
    ["Answer", trial.error ? "" : [trial.cached ? "replayed" : "from this run", trial.answered_at?.slice(0, 10)].filter((each) => each).join(", ")],
    ["Format", trial.format === "recovered" && "recovered from text"],
    ["Served by", [trial.served_model, trial.system_fingerprint].filter((each) => each).map((each) => shown(String(each))).join(", ")],
    ["tool_choice sent", trial.tool_choice && shown(trial.tool_choice)],
    ["Changed parameters", shown(Object.keys(trial.fallbacks).join(", "))],
  ]);
}

// ---- scores and comparisons ----

/**
 * Each metric with its score, threshold and explanation.
 * @param {Record<string, Score>} scores
 * @param {Record<string, number>} thresholds
 */
function scoreTable(scores, thresholds) {
  const rows = Object.entries(scores).map(([metric, { value, explanation }]) => {
    const needed = thresholds[metric];
    const text = misses(metric, value, needed) ? outcomeText("failed", scoreText(value)) : scoreText(value);
    const why = el("td", { class: "why" }, shownNodes(explanation));
    return tableRow(metricName(metric), numberCell(text), numberCell(needsText(metric, needed)), why);
  });
  return table(["Metric", "Score", "Needs", "Why"], rows, "Scores of the trial", "metrics");
}

/**
 * The checks behind the scores, each once, grouped by call or turn. Null if there are none.
 * @param {Record<string, Score>} scores
 * @param {string} label
 */
function diffTable(scores, label) {
  /** @type {Map<string, Check>} */
  const checks = new Map();
  for (const score of Object.values(scores)) for (const check of score.checks) checks.set(JSON.stringify(check), check);
  if (checks.size === 0) return null;
  // In the order of turns; checks without one come last.
  const turnOf = (/** @type {Check} */ { place }) => Number(/^turn (\d+)/.exec(place)?.[1] ?? Infinity);
  const ordered = [...checks.values()].sort((a, b) => (turnOf(a) === turnOf(b) ? 0 : turnOf(a) - turnOf(b)));
  const groups = Map.groupBy(ordered, ({ place }) => place);
  const whole = WHOLE["conduct" in scores ? "conversation" : "answer"];
  const bodies = Array.from(groups, ([place, found]) => {
    const name = place || (groups.size > 1 ? whole : "");
    const head = name && el("tr", { class: "group" }, el("th", { scope: "rowgroup", colspan: 3 }, el("span", {}, isolated(name))));
    return el("tbody", {}, head, ...found.flatMap(diffRows));
  });
  return scrolling(label, el("table", { class: "diff" }, ...bodies));
}

/** @param {Check} check */
function diffRows(check) {
  const { what, expected, actual, value, reason } = check;
  if (value >= 1) return [diffRow("same", what, [shownNodes(actual)], "")];
  const [before, after] = difference(expected, actual) || [[{ text: expected, same: true }], [{ text: actual, same: true }]];
  const sides = /** @type {[string, string, Piece[]][]} */ ([["minus", expected, before], ["plus", actual, after]]).filter(([, text]) => !ABSENT.includes(text));
  const why = `${value > 0 ? `${scoreText(value)} ` : ""}${reason}`;
  const place = reason === NOT_SAID ? 0 : sides.length - 1;
  return sides.map(([kind, , pieces], i) => diffRow(kind, what, comparedPieces(pieces), i === place ? why : ""));
}

/** @param {string} kind same, minus or plus @param {string} what @param {Child[]} nodes @param {string} why */
function diffRow(kind, what, nodes, why) {
  const [sign, word] = { same: [" ", "as expected: "], minus: ["−", "expected: "], plus: ["+", "got: "] }[kind] || ["", ""];
  const row = tableRow(
    el("span", {}, el("span", { class: "sign", "aria-hidden": "true" }, sign), shownNodes(what)),
    el("td", {}, spoken(word), el("code", { dir: "auto" }, ...nodes)),
    el("td", { class: "why" }, shownNodes(why)),
  );
  row.className = kind;
  return row;
}

/** Marks the differences. @param {Piece[]} pieces */
export function comparedPieces(pieces) {
  return pieces.map((piece) => (piece.same ? shownNodes(piece.text) : el("mark", {}, shownNodes(piece.text))));
}

// ---- the conversation ----

/** @param {Transcript} transcript */
function conversation(transcript) {
  const several = new Set(transcript.replies.map(({ agent }) => agent ?? "")).size > 1;
  const turns = transcript.replies.flatMap((reply) => [...reply.prompt.map((each) => messageTurn(each)), replyTurn(reply, several), ...reply.tool_answers.map((each) => messageTurn(each))]);
  const ending = transcript.user?.ending && turn("user", [longText(transcript.user.ending, "")], "ends the conversation");
  return el("ol", { class: "transcript" }, ...turns, ending, ...(transcript.judged || []).map(judgedTurn));
}

/** A judge's verdict on a rubric. @param {RubricVerdict} judged */
function judgedTurn({ rubric, turn: number, passed, reason }) {
  const verdict = outcomeText(passed ? "passed" : "failed", passed ? "met: " : "not met: ");
  return turn("judge", [el("p", {}, verdict, shownNodes(rubric)), longText(reason, "")], number ? `turn ${number}` : "");
}

/** When each reply came, and its figures. @param {Reply[]} replies @param {Column[]} columns */
function repliesTable(replies, columns) {
  const times = replies.map((reply) => (isKnown(reply.latency_s) ? reply.latency_s : 0));
  const total = times.reduce((sum, each) => sum + each, 0);
  let begun = 0;
  const rows = replies.map((reply, i) => {
    const bar = svg("rect", { class: "fill-accent", x: total ? (100 * begun) / total : 0, width: total ? Math.max((100 * times[i]) / total, 0.5) : 0, y: 1, height: 8 });
    begun += times[i];
    const names = reply.calls.map(({ name }) => name).join(", ");
    return tableRow(
      String(i + 1),
      el("td", { class: "bar" }, svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, bar)),
      ...columns.map((column) => columnCell(reply, column)),
      names ? el("code", {}, shownNodes(names)) : "text",
    );
  });
  return table(["Reply", "Timeline", ...columns.map(({ heading }) => capitalized(heading)), "Answer"], rows, "Replies");
}

/** Requests and responses, drawn when opened. @param {Transcript} transcript */
function recorded(transcript) {
  const box = fold("Requests and responses", false);
  box.addEventListener("toggle", () => {
    if (box.children.length > 1) return;
    const messages = [...transcript.prompt];
    transcript.replies.forEach(({ prompt, message, tool_answers, tool_choice, temperature, fallbacks, finish_reason }, i) => {
      messages.push(...prompt);
      const given = Object.fromEntries(Object.entries(fallbacks).filter(([, sent]) => sent !== null));
      const sent = { tool_choice, temperature, ...given, messages };
      const parts = /** @type {[string, object][]} */ ([["sent", sent], ["received", { finish_reason, message }]]);
      for (const [what, value] of parts) box.append(el("h4", {}, `Reply ${i + 1}, ${what}`), longText(prettyJson(JSON.stringify(value)), "code"));
      messages.push(message, ...tool_answers);
    });
  });
  return box;
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

/** @param {Message} message @param {string} [note] */
function messageTurn(message, note = "") {
  const role = String(message.role ?? "");
  const text = contentText(message.content);
  if (role === "system" && text.length > 300) return turn(role, [fold(shown(text.slice(0, 120)) + "…", false, longText(text, ""))], note);
  const made = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const calls = made.map((each) => {
    const { name, arguments: given, input } = Object(Object(each).function ?? Object(each).custom);
    if (typeof input === "string") return callBlock({ name: String(name ?? ""), arguments: { input }, raw_arguments: null });
    return callBlock({ name: String(name ?? ""), arguments: {}, raw_arguments: typeof given === "string" ? given : JSON.stringify(given ?? null) });
  });
  const isData = role === "tool";
  const body = text || !calls.length ? [longText(isData ? prettyJson(text) : text, isData ? "code" : "")] : [];
  return turn(role, [...body, ...images(message.content), ...calls], note);
}

/** @param {Reply} reply @param {boolean} several whether several agents take part */
function replyTurn(reply, several) {
  const text = contentText(reply.message.content);
  const thoughts = [reply.message.reasoning_content, reply.message.reasoning].find((each) => typeof each === "string" && each);
  const body = [
    thoughts ? fold("Reasoning", false, longText(String(thoughts), "")) : null,
    text.trim() && longText(text, ""),
    ...(reply.searches ?? []).map(searchBlock),
    ...reply.calls.map((call, i) => callBlock(call, statusOf(reply, i))),
    !text.trim() && !reply.calls.length && !reply.no_answer && el("p", { class: "muted" }, "(empty answer)"),
    reply.format === "recovered" && el("p", { class: "note" }, "The model wrote the call as text; it was recovered."),
    endingNote(reply),
  ];
  const agent = several && reply.agent ? shown(reply.agent) + (reply.is_inner ? ", as a tool" : "") : "";
  return turn("assistant", body, [agent, isKnown(reply.latency_s) ? secondsText(reply.latency_s) : ""].filter((each) => each).join(" · "));
}

/**
 * How a call ended, unless it ended well; unknown if its answer is that of a time-out.
 * @param {Reply} reply
 * @param {number} i
 */
function statusOf({ calls, statuses, tool_answers, ran_by_suite }, i) {
  const found = statuses[i];
  const isUnknown = found === null && !ran_by_suite[i] && tool_answers.some((each) => each.tool_call_id === calls[i].id);
  return isUnknown ? "unknown" : found === "ok" ? null : found;
}

/** What the model searched for, and which tools it found. @param {{arguments: unknown, tools: string[] | null}} search */
function searchBlock({ arguments: given, tools }) {
  const found = tools ? tools.map((name) => shown(name)).join(", ") || "nothing" : "unknown";
  return el("div", { class: "call" }, el("div", { class: "callee" }, "searches for ", el("code", {}, shown(shortened(JSON.stringify(given ?? null), 200)))), el("p", { class: "note" }, `Found: ${found}`));
}

/** How an answer ended, unless that is normal. @param {Reply} reply */
function endingNote({ no_answer: none, finish_reason: reason }) {
  if (none) return el("p", { class: "note" }, `No usable answer, ${none.category.replace(/_/g, " ")}: `, shownNodes(none.reason));
  const isUsual = !reason || ["stop", "tool_calls", "function_call"].includes(reason);
  return isUsual ? null : el("p", { class: "note" }, "Finish reason: ", shownNodes(reason));
}

/**
 * A call: its name, and its arguments as indented JSON.
 * @param {Call} call
 * @param {string | null} [status]
 */
function callBlock(call, status) {
  const text = call.raw_arguments ?? JSON.stringify(call.arguments);
  return el(
    "div",
    { class: "call" },
    el("div", { class: "callee" }, "calls ", el("code", {}, call.name ? shownNodes(call.name) : "(no name)"), status ? ` (${status})` : ""),
    call.arguments === null && el("p", { class: "note" }, "The arguments are malformed:"),
    longText(prettyJson(text), "code"),
  );
}

/** The pictures of a message: only formats that cannot hold a script, and nothing that is loaded. @param {unknown} content */
function images(content) {
  return (Array.isArray(content) ? content : []).filter((part) => IMAGE.test(imageUrl(part))).map((part) => el("img", { src: imageUrl(part), alt: partText(part) }));
}

/** @param {any} part */
function imageUrl(part) {
  return part?.type === "image_url" ? String(part.image_url?.url ?? part.image_url) : "";
}

/** @param {any} part */
function partText(part) {
  const [, kind, data] = IMAGE.exec(imageUrl(part)) ?? [];
  if (kind) return `[image: ${kind}, ${Math.max(1, Math.floor((data.length * 3) / 4000))} kB]`;
  return typeof part === "string" ? part : typeof part?.text === "string" ? part.text : `[${part?.type ?? "part"}]`;
}

/**
 * A message's text; parts that are not text become words in brackets.
 * @param {unknown} content
 * @returns {string}
 */
function contentText(content) {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.map(partText).join("\n");
}

/**
 * A text; if it is long, its beginning and a button that shows the rest.
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
