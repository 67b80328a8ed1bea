// @ts-check
// Make a model's answer the expected one, after showing how that changes the suite.

import { call, suitePath } from "./api.js";
import { announce, errorBox } from "./controls.js";
import { read, removeAt, setRaw } from "./json-text.js";
import { lineDifference } from "./page/difference.js";
import { button, el, isolated, shown } from "./page/dom.js";
import { exactJson, prettyJson } from "./page/json.js";
import { causeOf } from "./page/cases.js";
import { ABSENT } from "./page/words.js";

/** @import { Path } from "./json-text.js" */
/** @import { Call, Check, WholeTrial } from "./page/trial.js" */
/** @import { Row } from "./page/cases.js" */

const EXPECTED = ["expected_tool", "expected_params", "expected_calls"];

/**
 * Show how the suite would change, and offer to write it.
 * @param {Row} row
 * @param {WholeTrial} trial
 */
export async function accept(row, trial) {
  const dialog = /** @type {HTMLDialogElement} */ (el("dialog", { class: "broad", "aria-label": "Accept this answer" }));
  dialog.addEventListener("close", () => dialog.remove());
  const close = () => dialog.close();
  document.body.append(dialog);
  dialog.showModal();
  try {
    const { text, etag, suite, cases } = await call("GET", suitePath(row.file), { read: exactJson });
    const place = cases.find((/** @type {any} */ { id }) => id === row.case)?.place;
    if (place === undefined) throw new Error(`${row.file} no longer has a case ${shown(row.case)}`);
    const changed = accepted(text, place, suite.test_cases[place], trial);
    const message = el("div", {});
    const write = button("Update suite", async () => {
      try {
        await call("PUT", suitePath(row.file), { body: { text: changed }, etag });
        announce("Suite updated");
        close();
      } catch (error) {
        message.replaceChildren(errorBox(error, "Could not update the suite"));
      }
    }, { class: "main" });
    write.toggleAttribute("disabled", changed === text);
    dialog.append(
      el("h2", {}, "Accept this answer"),
      el("p", {}, "This changes ", isolated(row.file), ", case ", isolated(row.case), ":"),
      lineDifference(text, changed, "Changes to the suite"),
      message,
      el("div", { class: "row end-row" }, write, button("Cancel", close)),
    );
  } catch (error) {
    dialog.append(errorBox(error, "Cannot accept this answer"), button("Close", close));
  }
}

/**
 * The text of the suite with the calls of a trial as the expected ones of a case; of a chain, its last call.
 * Only what was wrong changes, and a matcher stays where it can.
 * @param {string} text
 * @param {number} place of the case
 * @param {any} item the case
 * @param {WholeTrial} trial
 */
function accepted(text, place, item, trial) {
  if (item.parametrize) throw new Error("several rows share this case's expectations; set them in the suite editor");
  if (item.turns || item.world) throw new Error("set a conversation's expected calls in the suite editor");
  if (item.user) throw new Error("a conversation with a simulated user differs each time; set its expectations in the suite editor");
  const made = (trial.transcript?.replies ?? []).flatMap((reply) => reply.calls);
  const calls = item.multi_turn ? made.slice(-1) : made;
  const broken = calls.find((each) => each.arguments === null);
  if (broken) throw new Error(`the arguments of ${shown(broken.name)} are not a JSON object`);
  const forbidden = causeOf(trial) === "forbidden_call";
  if (forbidden) throw new Error("it makes a forbidden call; to allow that, change forbidden_calls in the suite editor");
  const checks = trial.scores.parameter_accuracy?.checks ?? [];
  const own = ["test_cases", place];
  const set = (/** @type {string} */ key, /** @type {unknown} */ value) => {
    text = setRaw(text, [...own, key], prettyJson(JSON.stringify(value)), ["id", "prompt", ...EXPECTED]);
  };
  if (item.expected_calls !== undefined || calls.length > 1) {
    for (const key of ["expected_tool", "expected_params"]) text = removeAt(text, [...own, key]);
    const ofCall = (/** @type {number} */ i) => checks.filter((check) => check.place === `call ${i + 1}`);
    const isAligned = item.expected_calls?.length === calls.length && calls.every((each, i) => each.name === item.expected_calls[i].tool && ofCall(i).every((check) => isOf(check, each)));
    const accepted = calls.map((each) => ({ tool: each.name, params: argumentsOf(each) }));
    const lists = item.expected_calls?.$any_of;
    if (Array.isArray(lists)) set("expected_calls", { $any_of: [...lists, accepted] });
    else if (!isAligned) set("expected_calls", accepted);
    else calls.forEach((each, i) => (text = mended(text, [...own, "expected_calls", i, "params"], item.expected_calls[i].params, each, ofCall(i))));
  } else if (!calls.length) {
    text = removeAt(text, [...own, "expected_params"]);
    set("expected_tool", null);
  } else {
    if (trial.scores.tool_selection?.value !== 1) set("expected_tool", calls[0].name);
    if (item.expected_params === undefined) set("expected_params", argumentsOf(calls[0]));
    else text = mended(text, [...own, "expected_params"], item.expected_params, calls[0], checks);
  }
  return text;
}

/**
 * The text with those expected arguments changed that the call does not have.
 * @param {string} text
 * @param {Path} path of the arguments
 * @param {any} expected
 * @param {Call} call
 * @param {Check[]} checks
 */
function mended(text, path, expected, call, checks) {
  const given = argumentsOf(call);
  for (const { what, value } of checks) {
    if (value >= 1) continue;
    if (!Object.hasOwn(given, what)) text = removeAt(text, [...path, what]);
    else {
      const { at, value: changed } = accepting(expected[what], given[what]);
      text = setRaw(text, [...path, what, ...at], prettyJson(JSON.stringify(changed)));
    }
  }
  return text;
}

/** Whether a check is of this call's arguments. @param {Check} check @param {Call} call */
function isOf({ what, actual }, call) {
  const value = argumentsOf(call)[what];
  return value === undefined ? ABSENT.includes(actual) : JSON.stringify(value) === JSON.stringify(read(actual).data);
}

/** The operand with which a matcher accepts a value; undefined if there is none. @type {Record<string, (operand: any, actual: any) => unknown>} */
const OPERANDS = {
  $any_of: (values, actual) => [...values, actual],
  $approx: (operand, actual) => (typeof actual === "number" ? { ...operand, value: actual } : undefined),
  // Every text contains the empty one.
  $contains: (_, actual) => ofType("string", actual) || undefined,
  $date: (_, actual) => ofType("string", actual),
  $exact: (_, actual) => actual,
  $fuzzy: (_, actual) => ofType("string", actual) || undefined,
  $gte: (_, actual) => ofType("number", actual),
  $lte: (_, actual) => ofType("number", actual),
  $unordered: (_, actual) => (Array.isArray(actual) ? actual : undefined),
};

/** @param {"number" | "string"} type @param {any} value */
function ofType(type, value) {
  return typeof value === type ? value : undefined;
}

/**
 * What to change in an expected value so that it accepts the actual one: the operand of its matcher, else all of it.
 * @param {any} expected
 * @param {any} actual
 * @returns {{at: Path, value: unknown}}
 */
function accepting(expected, actual) {
  const [key = ""] = typeof expected === "object" ? Object.keys(expected ?? {}) : [];
  if (key === "$optional") {
    const { at, value } = accepting(expected[key], actual);
    return { at: [key, ...at], value };
  }
  const operand = Object.hasOwn(OPERANDS, key) ? OPERANDS[key](expected[key], actual) : undefined;
  return operand === undefined ? { at: [], value: actual } : { at: [key], value: operand };
}

/** @param {Call} call @returns {any} */
function argumentsOf({ raw_arguments: raw, arguments: given }) {
  return raw === null ? given : exactJson(raw);
}
