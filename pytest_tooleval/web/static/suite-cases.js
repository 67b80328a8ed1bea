// @ts-check
// The cases beside the editor: where each stands in the text, and a link that runs it.

import { query } from "./api.js";
import { button, el, link, shown, shownNodes } from "./page/dom.js";
import { plural } from "./page/numbers.js";

/** @typedef {{id: string, place: number}} Case its index in the file; rows make several of one */

/** @param {string} file @param {Case[]} cases @param {(place: number) => void} goTo */
export function caseList(file, cases, goTo) {
  const items = cases.map(({ id, place }) => {
    const jump = button("", () => goTo(place), { class: "jump" });
    jump.append(shownNodes(id));
    return el("li", {}, jump, link(`#/run${query({ file, case: id })}`, "Run", { "aria-label": `Run ${shown(id)}` }));
  });
  return el("div", {}, el("h2", {}, plural(cases.length, "case")), el("ol", {}, ...items));
}
