// @ts-check
// Differences between two texts, by words or by lines.

import { el, shownNodes, spoken } from "./dom.js";

/** @typedef {{text: string, same: boolean}} Piece */

const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
const MOST_COMPARED = 250_000;

/**
 * Two texts in pieces that are the same in both or not, by the longest common subsequence of words.
 * Null if they have so little in common that marks would be noise.
 * @param {string} left
 * @param {string} right
 * @returns {[Piece[], Piece[]] | null}
 */
export function difference(left, right) {
  const a = left.match(WORD) || [];
  const b = right.match(WORD) || [];
  if (a.length * b.length > MOST_COMPARED) return null;
  const [inLeft, inRight] = commonWords(a, b);
  const common = a.filter((word, i) => inLeft[i] && /[\p{L}\p{N}]/u.test(word)).join("").length;
  if (common === 0 || common * 5 < Math.min(left.length, right.length)) return null;
  return [pieces(a, inLeft), pieces(b, inRight)];
}

/**
 * Which words of each side belong to the longest common subsequence.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {[boolean[], boolean[]]}
 */
function commonWords(a, b) {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const inA = a.map(() => false);
  const inB = b.map(() => false);
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) inA[i++] = inB[j++] = true;
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++;
    else j++;
  }
  return [inA, inB];
}

/**
 * Joins neighbours of the same kind.
 * @param {string[]} words
 * @param {boolean[]} common
 */
function pieces(words, common) {
  /** @type {Piece[]} */
  const found = [];
  words.forEach((word, i) => {
    const last = found[found.length - 1];
    if (last && last.same === common[i]) last.text += word;
    else found.push({ text: word, same: common[i] });
  });
  return found;
}

const AROUND = 3;
const MOST_LINES = 600;

/**
 * The difference between two texts, line by line.
 * @param {string} before
 * @param {string} after
 * @param {string} label
 */
export function lineDifference(before, after, label) {
  const [a, b] = [before, after].map((text) => text.split(/\r?\n/));
  const [sameInA, sameInB] = commonLines(a, b);
  /** @type {[string, string][]} a sign and a line */
  const lines = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && !sameInA[i]) lines.push(["−", a[i++]]);
    else if (j < b.length && !sameInB[j]) lines.push(["+", b[j++]]);
    else lines.push([" ", a[Math.min(i++, a.length - 1)]]), j++;
  }
  const block = el("div", { class: "code text lines", tabindex: 0, role: "region", "aria-label": label });
  let isSkipped = false;
  let count = 0;
  lines.forEach(([sign, line], i) => {
    const isNear = lines.slice(Math.max(0, i - AROUND), i + AROUND + 1).some(([each]) => each !== " ");
    if (isNear && count++ < MOST_LINES) {
      const kind = { "−": "minus", "+": "plus" }[sign];
      const word = kind && spoken(kind === "minus" ? "removed: " : "added: ");
      block.append(el("div", { class: kind ?? null }, el("span", { class: "sign", "aria-hidden": "true" }, sign), word, shownNodes(line.slice(0, 2000))));
    } else if (!isSkipped) block.append(el("div", { class: "muted" }, "⋯"));
    isSkipped = !isNear;
  });
  if (lines.every(([sign]) => sign === " ")) block.append(el("div", { class: "muted" }, "(no difference)"));
  return block;
}

/**
 * Which lines both have: a common beginning and end, and the longest common subsequence between.
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
