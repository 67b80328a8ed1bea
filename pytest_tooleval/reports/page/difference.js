// @ts-check
// What two texts, or two lists of lines, have in common.

/** @typedef {{text: string, same: boolean}} Piece */

const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
export const MOST_COMPARED = 250_000;

/**
 * Two texts in pieces that are the same in both, or not: the longest common subsequence of words
 * and signs. Null when nothing of weight is common, and marks would only be noise.
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
export function commonWords(a, b) {
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
 * Neighbours of one kind joined.
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
