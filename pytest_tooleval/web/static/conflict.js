// @ts-check
// Two texts of one file, line by line, and the choice between them.

import { MOST_COMPARED, commonWords } from "./page/difference.js";
import { button, el, outcomeText, shownNodes } from "./page/dom.js";

const MOST_LINES = 400;
const AROUND = 3;

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
    el("p", {}, "Somebody else, an editor or another page, has written this file since you opened it. Nothing has been lost: choose which text the file shall have."),
    theirs === null ? el("p", {}, "What stands there now is not UTF-8 text.") : differingLines(mine, theirs),
    el("div", { class: "row" }, button("Save mine over theirs", actions.mine), take, button("Go on editing", actions.later)),
  );
}

/** @param {string} mine @param {string} theirs */
function differingLines(mine, theirs) {
  const a = mine.split(/\r?\n/);
  const b = theirs.split(/\r?\n/);
  const [sameInA, sameInB] = commonLines(a, b);
  return el(
    "div",
    { class: "two-texts" },
    side("Mine", a, sameInA, "only in mine"),
    side("Theirs", b, sameInB, "only in theirs"),
  );
}

/**
 * Which lines both have: the same beginning and end, and of the rest the longest common lines.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {[boolean[], boolean[]]}
 */
function commonLines(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middleA = a.slice(start, a.length - end);
  const middleB = b.slice(start, b.length - end);
  const small = middleA.length * middleB.length <= MOST_COMPARED;
  const [inA, inB] = small ? commonWords(middleA, middleB) : [middleA.map(() => false), middleB.map(() => false)];
  const head = new Array(start).fill(true);
  const tail = new Array(end).fill(true);
  return [[...head, ...inA, ...tail], [...head, ...inB, ...tail]];
}

/**
 * One text: the lines that differ, and some around them.
 * @param {string} title
 * @param {string[]} lines
 * @param {boolean[]} same
 * @param {string} words
 */
function side(title, lines, same, words) {
  const block = el("div", { class: "code text", tabindex: 0, role: "region", "aria-label": title });
  let shownLines = 0;
  let skipped = false;
  for (let i = 0; i < lines.length && shownLines < MOST_LINES; i++) {
    const near = same.slice(Math.max(0, i - AROUND), i + AROUND + 1).includes(false);
    if (!near) {
      if (!skipped) block.append(el("div", { class: "muted" }, "⋯"));
      skipped = true;
      continue;
    }
    skipped = false;
    shownLines += 1;
    const sign = same[i] ? "  " : "≠ ";
    const spoken = same[i] ? null : el("span", { class: "spoken" }, `${words}: `);
    block.append(el("div", { class: same[i] ? null : "differs" }, el("span", { "aria-hidden": "true" }, sign), spoken, shownNodes(lines[i].slice(0, 2000))));
  }
  if (shownLines >= MOST_LINES) block.append(el("div", { class: "muted" }, "… and more"));
  if (same.every(Boolean)) block.append(el("div", { class: "muted" }, "(nothing that the other has not)"));
  return el("div", {}, el("h3", {}, title), block);
}
