// @ts-check
// The fields of suites, tools and cases, with their labels and kinds.

/**
 * @typedef {"text" | "long" | "number" | "choice" | "flag" | "reason" | "json" | "words" | "tools"} Kind
 * @typedef {{key: string, label: string, kind: Kind, hint?: string, wide?: boolean, required?: boolean,
 *   unset?: string}} Field
 */

/** @type {Field[]} */
const SHARED = [
  { key: "tool_choice", label: "tool_choice", kind: "choice", unset: "required" },
  { key: "temperature", label: "Temperature", kind: "number", unset: "0.0" },
  { key: "max_tokens", label: "Max tokens", kind: "number", unset: "the model's default" },
  { key: "param_scoring", label: "Argument scoring", kind: "choice", unset: "exact" },
  { key: "trials", label: "Trials per case", kind: "number", unset: "1" },
  { key: "pass", label: "Pass rule", kind: "text", unset: "mean", hint: "mean, all, any, or K/N such as 4/5" },
  { key: "thresholds", label: "Thresholds", kind: "json", wide: true, unset: "everything right", hint: 'The lowest score per metric, or a limit, such as {"overall": 0.8, "max_calls": 3}; null removes one.' },
  { key: "forbidden_calls", label: "Forbidden calls (JSON)", kind: "json", wide: true, hint: 'Tools that must never be called, such as ["delete_all"], or "*" for all except the expected ones.' },
];

/** @type {Field[]} */
export const SUITE_MAIN = [
  { key: "name", label: "Name", kind: "text", required: true, wide: true },
  { key: "description", label: "Description", kind: "long", wide: true },
];

/** @type {Field[]} */
export const SUITE_MORE = [
  { key: "system_prompt", label: "System prompt", kind: "long", wide: true, hint: "Added before every prompt." },
  { key: "world", label: "World", kind: "text", hint: "For conversations: module:Class in the suite's folder." },
  { key: "world_args", label: "World arguments (JSON)", kind: "json", wide: true },
  { key: "tools_from", label: "Tools from a live MCP server (JSON)", kind: "json", wide: true },
  { key: "live_tools", label: "Live tools", kind: "words", wide: true, hint: "Chains run these on the MCP server, if tooleval ui has them in --allow-tools. Separate with commas; * means all read-only tools." },
  ...SHARED,
];

/** The order of a suite's keys. */
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
export const EXPECTED_TOOL = { key: "expected_tool", label: "Expected tool", kind: "tools", hint: "If you choose several, any of them is right.", wide: true };

/** @type {Field} */
export const EXPECTED_PARAMS = {
  key: "expected_params",
  label: "Expected arguments (JSON)",
  kind: "json",
  wide: true,
  hint: 'Not scored if empty. A value can be a matcher, such as {"$any_of": ["NYC", "New York"]}.',
};

/** @type {Field} */
export const CALLED_TOOL = { key: "tool", label: "Tool", kind: "tools", wide: true };

/** @type {Field} */
export const CALL_PARAMS = { ...EXPECTED_PARAMS, key: "params", label: "Arguments (JSON)" };

/** @type {Field} */
export const MOCKS = { key: "mock_responses", label: "Mock responses (JSON)", kind: "json", wide: true, hint: "What each tool returns." };

/** @type {Field[]} */
export const EXPECTED_CALLS = [
  { key: "expected_calls", label: "Expected calls (JSON)", kind: "json", wide: true, required: true, hint: 'A list of {"tool": …, "params": …}.' },
  { key: "call_order", label: "Call order", kind: "choice", unset: "any" },
];

/** @type {Field} */
export const IS_MULTI_TURN = { key: "multi_turn", label: "Multi-turn: a chain of calls with mock responses", kind: "flag", wide: true };

/** @type {Field[]} */
export const MULTI_TURN = [
  { key: "max_rounds", label: "Max replies", kind: "number", unset: "10" },
  { key: "optimal_hops", label: "Calls in the shortest chain", kind: "number" },
  { key: "valid_prerequisites", label: "Prerequisite tools", kind: "tools", wide: true },
  { key: "live_tools", label: "Live tools", kind: "words", wide: true, unset: "the suite's", hint: "Run on the suite's MCP server, if allowed; * means all read-only tools." },
];

/** @type {Field[]} */
export const CONVERSATION = [
  { key: "turns", label: "Turns (JSON)", kind: "json", wide: true, hint: 'A list of {"prompt": …}, each with its expectations: expected_tool, expected_calls, expected_text, forbidden_calls, max_calls, …' },
  { key: "user", label: "Simulated user (JSON)", kind: "json", wide: true, hint: 'Instead of turns, such as {"goal": "You want your money back for order A1."}.' },
  { key: "match", label: "Match expected calls by", kind: "choice", unset: "exact" },
  { key: "results", label: "The model must get every answer of the expected calls (match state)", kind: "flag", wide: true },
  { key: "max_rounds", label: "Max replies per turn", kind: "number", unset: "10" },
  { key: "expected_calls", label: "Expected calls of the whole conversation (JSON)", kind: "json", wide: true },
  { key: "expected_state", label: "Expected final state (JSON)", kind: "json", wide: true, hint: 'Paths in the world and their values, such as {"orders.A1.refunded": 40}.' },
  { key: "expected_text", label: "Expected text (JSON)", kind: "json", wide: true, hint: 'What the model says, such as ["refunded", {"$number": 40}, {"$not": "sorry"}].' },
  { key: "world", label: "World of this case", kind: "text", unset: "the suite's", hint: "module:Class in the suite's folder." },
  { key: "world_args", label: "World arguments (JSON)", kind: "json", wide: true },
  { key: "play_failed_calls", label: "Calls that a transcript answers with an error did run", kind: "flag", wide: true },
];

/** @type {Field[]} */
export const CASE_MORE = [
  ...SHARED.map((field) => ({ ...field, unset: field.unset && "the suite's" })),
  { key: "weight", label: "Weight", kind: "number", unset: "1" },
  { key: "cluster", label: "Cluster", kind: "text", hint: "Use one name for cases that are paraphrases of each other." },
  { key: "tags", label: "Tags", kind: "words", hint: "Separated by commas." },
  { key: "skip", label: "Skip", kind: "reason" },
  { key: "xfail", label: "Expected to fail", kind: "reason" },
  { key: "tools", label: "Tools for this case only (JSON)", kind: "json", wide: true, hint: "Replaces the suite's tools." },
  { key: "approvals", label: "Approvals (JSON)", kind: "json", wide: true, hint: 'When an agent asks for approval, such as {"refund": "approve"}. Other tools are rejected.' },
  { key: "metadata", label: "Metadata (JSON)", kind: "json", wide: true, hint: "For your own use; never sent to a model." },
];
