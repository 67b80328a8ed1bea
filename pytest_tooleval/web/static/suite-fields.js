// @ts-check
// The fields of suites, tools and cases: their labels, and how each is typed.

/**
 * @typedef {"text" | "long" | "number" | "choice" | "flag" | "reason" | "json" | "words" | "tools"} Kind
 * @typedef {{key: string, label: string, kind: Kind, hint?: string, wide?: boolean, required?: boolean,
 *   unset?: string}} Field
 */

/** @type {Field[]} */
const SHARED = [
  { key: "tool_choice", label: "tool_choice", kind: "choice", unset: "required" },
  { key: "temperature", label: "Temperature", kind: "number", unset: "0.0" },
  { key: "max_tokens", label: "The most tokens in an answer", kind: "number", unset: "the model's own" },
  { key: "param_scoring", label: "Parameter scoring", kind: "choice", unset: "exact" },
  { key: "trials", label: "Trials per case", kind: "number", unset: "1" },
  { key: "pass", label: "Passes when", kind: "text", unset: "mean", hint: "mean, all, any, or K/N such as 4/5" },
  { key: "thresholds", label: "Thresholds", kind: "json", wide: true, unset: "everything right", hint: 'The least score per metric, or the most of a budget, such as {"overall": 0.8, "max_calls": 3}; null takes one away.' },
  { key: "forbidden_calls", label: "Forbidden calls (JSON)", kind: "json", wide: true, hint: 'Tools that must never be called, such as ["delete_all"], or "*" for all but the expected.' },
];

/** @type {Field[]} */
export const SUITE_MAIN = [
  { key: "name", label: "Name", kind: "text", required: true, wide: true },
  { key: "description", label: "Description", kind: "long", wide: true },
];

/** @type {Field[]} */
export const SUITE_MORE = [
  { key: "system_prompt", label: "System prompt", kind: "long", wide: true, hint: "Put before every prompt." },
  { key: "world", label: "World of conversations", kind: "text", hint: "module:Class beside the suite." },
  { key: "world_args", label: "What the world is made with (JSON)", kind: "json", wide: true },
  { key: "tools_from", label: "Tools from a live MCP server (JSON)", kind: "json", wide: true },
  { key: "live_tools", label: "Tools that chains really run", kind: "words", wide: true, hint: "On that server, if --allow-tools of tooleval ui allows them; separated by commas, * for all that only read." },
  ...SHARED,
];

/** The members of a suite in the order of the format. */
export const SUITE_ORDER = ["$schema", "name", "description", "system_prompt", "tools", "tools_from", "live_tools", "world", "world_args", ...SHARED.map((field) => field.key), "metadata", "test_cases"];

/** @type {Field[]} */
export const TOOL = [
  { key: "name", label: "Name", kind: "text", required: true },
  { key: "description", label: "Description", kind: "long", wide: true },
  { key: "parameters", label: "Parameters (JSON Schema)", kind: "json", wide: true },
];

/** @type {Field} */
export const CASE_ID = { key: "id", label: "Id", kind: "text", unset: "made from the prompt", hint: "The name in reports and in pytest." };

/** @type {Field[]} */
export const CASE_MAIN = [
  { key: "prompt", label: "Prompt", kind: "long", required: true, wide: true },
  CASE_ID,
];

/** @type {Field} */
export const EXPECTED_TOOL = { key: "expected_tool", label: "Expected tool", kind: "tools", hint: "Several: any of them is right.", wide: true };

/** @type {Field} */
export const EXPECTED_PARAMS = {
  key: "expected_params",
  label: "Expected parameters (JSON)",
  kind: "json",
  wide: true,
  hint: 'Empty: not scored. A value may be a matcher, such as {"$any_of": ["NYC", "New York"]}.',
};

/** @type {Field} */
export const CALLED_TOOL = { key: "tool", label: "Tool", kind: "tools", wide: true };

/** @type {Field} */
export const CALL_PARAMS = { ...EXPECTED_PARAMS, key: "params", label: "Parameters (JSON)" };

/** @type {Field} */
export const MOCKS = { key: "mock_responses", label: "Answers of the mocks (JSON)", kind: "json", wide: true, hint: "Tool to what it answers." };

/** @type {Field[]} */
export const EXPECTED_CALLS = [
  { key: "expected_calls", label: "Expected calls (JSON)", kind: "json", wide: true, required: true, hint: 'A list of {"tool": …, "params": …}.' },
  { key: "call_order", label: "Order of the calls", kind: "choice", unset: "any" },
];

/** @type {Field[]} */
export const MULTI_TURN = [
  { key: "max_rounds", label: "Most rounds", kind: "number", unset: "10" },
  { key: "optimal_hops", label: "Calls of the shortest chain", kind: "number" },
  { key: "valid_prerequisites", label: "Tools that may come before", kind: "tools", wide: true },
  { key: "live_tools", label: "Tools that really run", kind: "words", wide: true, unset: "as the suite has it", hint: "On the suite's MCP server, if allowed; * for all that only read." },
];

/** @type {Field[]} */
export const CONVERSATION = [
  { key: "turns", label: "Turns (JSON)", kind: "json", wide: true, hint: 'A list of {"prompt": …}, each with what is expected of it: expected_calls, expected_text, forbidden_calls, max_calls, …' },
  { key: "user", label: "A model plays the user (JSON)", kind: "json", wide: true, hint: 'In place of turns, such as {"goal": "You want your money back for order A1."}.' },
  { key: "match", label: "Expected calls match", kind: "choice", unset: "exact" },
  { key: "max_rounds", label: "Most rounds of a turn", kind: "number", unset: "10" },
  { key: "expected_calls", label: "Expected calls of the whole conversation (JSON)", kind: "json", wide: true },
  { key: "expected_state", label: "Expected state in the end (JSON)", kind: "json", wide: true, hint: 'A path in the world to a value, such as {"orders.A1.refunded": 40}.' },
  { key: "expected_text", label: "Expected text (JSON)", kind: "json", wide: true, hint: 'What is said, such as ["refunded", {"$number": 40}, {"$not": "sorry"}].' },
  { key: "world", label: "World of this case", kind: "text", unset: "the suite's", hint: "module:Class beside the suite." },
  { key: "world_args", label: "What the world is made with (JSON)", kind: "json", wide: true },
];

/** @type {Field[]} */
export const CASE_MORE = [
  ...SHARED.map((field) => ({ ...field, unset: field.unset && "as the suite has it" })),
  { key: "weight", label: "Weight in means", kind: "number", unset: "1" },
  { key: "cluster", label: "Cluster", kind: "text", hint: "The same for cases that ask the same in other words." },
  { key: "tags", label: "Tags", kind: "words", hint: "Separated by commas." },
  { key: "skip", label: "Skip", kind: "reason" },
  { key: "xfail", label: "Expected to fail", kind: "reason" },
  { key: "tools", label: "Tools of this case alone (JSON)", kind: "json", wide: true, hint: "Replaces the suite's tools." },
  { key: "metadata", label: "Metadata (JSON)", kind: "json", wide: true, hint: "Yours; never sent." },
];
