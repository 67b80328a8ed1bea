// @ts-check
// What a model answered as what its case expects: written to the suite once somebody has seen the difference.

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
 * Show what would change in the suite, and write it if that is wanted.
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
    if (place < 0) throw new Error(`${row.file} has no case ${shown(row.case)} any more`);
    const changed = accepted(text, place, suite.test_cases[place], trial);
    const message = el("div", {});
    const write = button("Write it", async () => {
      try {
        await call("PUT", suitePath(row.file), { body: { text: changed }, etag });
        announce("Written");
        close();
      } catch (error) {
        message.replaceChildren(errorBox(error, "Not written"));
      }
    }, { class: "main" });
    write.toggleAttribute("disabled", changed === text);
    dialog.append(
      el("h2", {}, "Accept this answer as expected"),
      el("p", {}, "This changes ", isolated(row.file), ", case ", isolated(row.case), ":"),
      lineDifference(text, changed, "What changes in the suite"),
      message,
      el("div", { class: "row end-row" }, write, button("Leave it", close)),
    );
  } catch (error) {
    dialog.append(errorBox(error, "This answer cannot be accepted"), button("Close", close));
  }
}

/**
 * The text of a suite in which a case expects the calls of a trial; of a chain, its last call.
 * @param {string} text
 * @param {number} place of the case
 * @param {any} item the case
 * @param {WholeTrial} trial
 */
function accepted(text, place, item, trial) {
  if (item.turns) throw new Error("a conversation is accepted turn by turn, in the suite editor");
  if (item.user) throw new Error("a conversation with a simulated user goes another way each time: say what it expects in the suite editor");
  const made = (trial.transcript?.rounds ?? []).flatMap(({ reply }) => reply.calls);
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
