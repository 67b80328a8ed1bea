// @ts-check
// Two texts of one file, line by line, and the choice between them.

import { lineDifference } from "./page/difference.js";
import { button, el, outcomeText } from "./page/dom.js";

/**
 * @param {string} mine
 * @param {string | null} theirs null when it is no text
 * @param {{mine: () => void, theirs: () => void, later: () => void}} actions
 */
export function conflictView(mine, theirs, actions) {
  const take = button("Take theirs, drop mine", actions.theirs);
  take.toggleAttribute("disabled", theirs === null);
  return el(
    "section",
    { class: "alert conflict", role: "alert", tabindex: -1, "aria-labelledby": "conflict-title" },
    el("h2", { id: "conflict-title" }, outcomeText("failed", "Not saved: the file has changed")),
    el("p", {}, "Somebody else, an editor or another page, has written this file since you opened it. Nothing has been lost: choose which text the file shall have. Lines with − are only in theirs, with + only in mine."),
    theirs === null ? el("p", {}, "What stands there now is not UTF-8 text.") : lineDifference(theirs, mine, "Theirs (−) and mine (+)"),
    el("div", { class: "row" }, button("Save mine over theirs", actions.mine), take, button("Go on editing", actions.later)),
  );
}
