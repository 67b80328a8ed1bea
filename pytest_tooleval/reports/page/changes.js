// @ts-check
// What a variant changed in a case: unchanged and changed side by side.

import { difference } from "./difference.js";
import { el, isolated, table, tableRow } from "./dom.js";
import { comparedPieces } from "./trial.js";

/** @import { Piece } from "./difference.js" */
/** @typedef {{what: string, old: string, new: string}} Change */

/** @param {Change[]} changes @param {string} unchanged the heading of the other arm */
export function changesTable(changes, unchanged) {
  if (!changes.length) return el("p", { class: "muted" }, "The request is unchanged.");
  const rows = changes.map(({ what, old, new: now }) => {
    const [before, after] = difference(old, now) ?? [old, now].map((text) => [{ text, same: true }]);
    return tableRow(isolated(what), changedCell("minus", before), changedCell("plus", after));
  });
  return table(["What", unchanged, "Variant"], rows, "What the variant changed", "changes");
}

/** @param {string} kind @param {Piece[]} pieces */
function changedCell(kind, pieces) {
  return el("td", { class: kind }, el("div", { class: "code text", dir: "auto" }, ...comparedPieces(pieces)));
}
