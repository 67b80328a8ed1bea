// @ts-check
// Make a model's answer the expected one, after showing how that changes the suite.

import { call, suitePath } from "./api.js";
import { announce, errorBox } from "./controls.js";
import { removeAt, setRaw } from "./json-text.js";
import { lineDifference } from "./page/difference.js";
import { button, el, isolated, shown } from "./page/dom.js";
import { prettyJson } from "./page/json.js";

/** @import { Call, WholeTrial } from "./page/trial.js" */
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
    const { text, etag, suite, ids } = await call("GET", suitePath(row.file));
    const place = ids.indexOf(row.case);
    if (place < 0) throw new Error(`${row.file} no longer has a case ${shown(row.case)}`);
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
      lineDifference(text, changed, "Changes of the suite"),
      message,
      el("div", { class: "row end-row" }, write, button("Cancel", close)),
    );
  } catch (error) {
    dialog.append(errorBox(error, "Cannot accept this answer"), button("Close", close));
  }
}

/**
 * The text of the suite with the calls of a trial as the expected ones of a case; of a chain, its last call.
 * @param {string} text
 * @param {number} place of the case
 * @param {any} item the case
 * @param {WholeTrial} trial
 */
function accepted(text, place, item, trial) {
  if (item.turns) throw new Error("set the expected calls of a conversation in the suite editor, turn by turn");
  if (item.user) throw new Error("a conversation with a simulated user differs each time; set its expectations in the suite editor");
  const made = (trial.transcript?.replies ?? []).flatMap((reply) => reply.calls);
  const calls = item.multi_turn ? made.slice(-1) : made;
  const broken = calls.find((each) => each.arguments === null);
  if (broken) throw new Error(`the arguments of ${shown(broken.name)} are not a JSON object`);
  /** @type {Record<string, string>} */
  const wanted = {};
  if (item.expected_calls !== undefined || calls.length > 1) {
    wanted.expected_calls = `[${calls.map((each) => `{"tool": ${JSON.stringify(each.name)}, "params": ${argumentsOf(each)}}`).join(", ")}]`;
  } else {
    wanted.expected_tool = calls.length ? JSON.stringify(calls[0].name) : "null";
    if (calls.length) wanted.expected_params = argumentsOf(calls[0]);
  }
  for (const key of EXPECTED) {
    const path = ["test_cases", place, key];
    if (!(key in wanted)) text = removeAt(text, path);
    else if (JSON.stringify(JSON.parse(wanted[key])) !== JSON.stringify(item[key])) text = setRaw(text, path, prettyJson(wanted[key]), ["id", "prompt", ...EXPECTED]);
  }
  return text;
}

/** @param {Call} call */
function argumentsOf({ raw_arguments: raw, arguments: given }) {
  return raw ?? JSON.stringify(given);
}
