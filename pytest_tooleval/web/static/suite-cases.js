// @ts-check
// A case in the forms: what it expects, the fields that it shows for that, and its words in the list.

import { plural } from "./page/numbers.js";
import { contentText } from "./page/trial.js";

/** @type {[string, string][]} */
export const EXPECTATIONS = [
  ["call", "one call"],
  ["calls", "several calls"],
  ["none", "no call"],
  ["turns", "a conversation"],
];
/** The menu of these, among the fields. */
export const EXPECTATION = "";
/** What a case shows first, by what it expects. All other fields of the format are settings. @type {Record<string, string[]>} */
const FIRST = {
  call: ["prompt", "id", EXPECTATION, "expected_tool", "expected_params", "multi_turn"],
  calls: ["prompt", "id", EXPECTATION, "expected_calls", "call_order", "parallel", "multi_turn"],
  none: ["prompt", "id", EXPECTATION, "multi_turn"],
  turns: ["id", EXPECTATION, "turns", "user", "match", "results", "max_rounds", "expected_calls", "parallel", "expected_state", "expected_text", "world", "world_args", "play_failed_calls"],
};
/** A prompt with a world shows these, too. */
const IN_WORLD = ["world", "world_args", "match", "results", "expected_state", "max_rounds", "play_failed_calls"];
/** What only conversations show first, though any case may have it. */
const ANYWHERE = ["world", "expected_text"];
const OF_CHAINS = ["max_rounds", "optimal_hops", "valid_prerequisites", "mock_responses", "live_tools"];
/** The fields for expected calls, and those for conversations, which another expectation replaces. */
const EXPECTED = ["expected_tool", "expected_params", "expected_calls", "call_order", "parallel"];
const OF_TURNS = ["prompt", "multi_turn", "optimal_hops", "turns", "user", "match", "results", "expected_state", "expected_text"];

/** @param {unknown} value */
export function text(value) {
  return typeof value === "string" ? value : "";
}

/** @param {any} item */
function isConversation(item) {
  return item?.turns !== undefined || item?.user !== undefined;
}

/** Which of the expectations a case has. @param {any} item */
export function expectationOf(item) {
  if (isConversation(item)) return "turns";
  if (item.expected_calls === undefined) return item.expected_tool === null ? "none" : "call";
  return Array.isArray(item.expected_calls) && item.expected_calls.length === 0 ? "none" : "calls";
}

/**
 * The fields that a case shows first, and its settings.
 * @param {any} item
 * @param {string[]} keys of the format
 */
export function fieldsOf(item, keys) {
  const kind = expectationOf(item);
  const isChain = kind !== "turns" && (item.multi_turn === true || OF_CHAINS.some((key) => item[key] !== undefined));
  const inWorld = kind !== "turns" && item.world !== undefined;
  const first = [...FIRST[kind], ...(inWorld ? IN_WORLD : isChain ? OF_CHAINS : [])];
  // What other expectations show first is only for them.
  const others = [...Object.values(FIRST).flat(), ...OF_CHAINS].filter((key) => !ANYWHERE.includes(key) && [item[key] ?? []].flat().length === 0);
  return { first, more: keys.filter((key) => !first.includes(key) && !others.includes(key)) };
}

/** The fields that change with the expectation. @param {string} old @param {string} kind */
export function keysReplaced(old, kind) {
  return old === "turns" || kind === "turns" ? [...EXPECTED, ...OF_TURNS] : EXPECTED;
}

/**
 * The values that a new kind of expectation takes over from the old one.
 * @param {any} item
 * @param {string} kind
 * @param {string} anyTool to expect if the old one names none
 */
export function takenOver(item, kind, anyTool) {
  const turn = Array.isArray(item.turns) ? item.turns[0] : undefined;
  const said = isConversation(item) ? { prompt: turn?.prompt ?? "" } : {};
  if (kind === "none") return { ...said, expected_tool: null };
  const calls = item.expected_calls ?? turn?.expected_calls;
  if (kind === "turns" && (item.expected_tool === null || calls?.length === 0)) return { turns: [{ prompt: item.prompt ?? "", expected_calls: [] }] };
  const first = (Array.isArray(calls) ? calls : calls?.$any_of?.[0])?.[0];
  const tool = first?.tool ?? item.expected_tool ?? turn?.expected_tool ?? anyTool;
  const params = first?.params ?? item.expected_params ?? turn?.expected_params;
  const several = [{ tool, ...(params ? { params } : {}) }];
  if (kind === "turns") return { turns: [{ prompt: item.prompt ?? "", expected_calls: calls ?? several }] };
  if (kind === "calls") return { ...said, expected_calls: several };
  return { ...said, expected_tool: tool, ...(params ? { expected_params: params } : {}) };
}

/** The last words of the user in the prompt of a case, or of its first turn. @param {any} item @returns {string} */
function promptOf(item) {
  const prompt = item?.prompt ?? item?.turns?.[0]?.prompt;
  if (!Array.isArray(prompt)) return text(prompt);
  const users = prompt.filter((message) => message?.role === "user");
  return contentText(users.length ? users[users.length - 1].content : "");
}

/** @param {any} item */
export function titleOf(item) {
  return text(item?.id) || promptOf(item) || "(no prompt)";
}

/** @param {any} item */
export function aboutOf(item) {
  return [text(item?.id) && promptOf(item), expected(item), item?.skip && "skipped"].filter(Boolean).join(" · ");
}

/** @param {any} item */
function expected(item) {
  if (Array.isArray(item?.turns)) return plural(item.turns.length, "turn");
  if (item?.user !== undefined) return "simulated user";
  if (Array.isArray(item?.expected_calls)) return plural(item.expected_calls.length, "call");
  if (Array.isArray(item?.expected_calls?.$any_of)) return `any of ${plural(item.expected_calls.$any_of.length, "list")} of calls`;
  const tools = item?.expected_tool === undefined ? [] : [item.expected_tool].flat();
  return tools.map((tool) => tool ?? "no call").join(" or ");
}
