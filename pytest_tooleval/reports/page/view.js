// @ts-check
// A run that is over, whole: what a report shows, and the page for a run of its history.

import { CaseView } from "./case-view.js";
import { startState } from "./cases.js";
import { comparisonSection } from "./comparison.js";
import { confusionSection } from "./confusion.js";
import { link } from "./dom.js";
import { plotsSection, trendsSection } from "./plots.js";
import { gatesSection, scoresSection, verdictNode } from "./summary.js";

/** @import { Surroundings } from "./case-view.js" */
/**
 * @typedef {Surroundings & {heading: string, runHref: (id: string) => string, address: (query: string) => string}} RunSurroundings
 *   `heading` is the element for the verdict, `address` what leads to this run with a query
 */

export class RunView {
  /**
   * @param {any} document the result document, its verdict in words, and the notes on it; its trials have no transcripts and scores
   * @param {any} trends lines of the history, or null
   * @param {RunSurroundings} around
   * @param {string} query what the address holds
   */
  constructor(document, trends, around, query) {
    this.cases = new CaseView(around, query);
    const models = document.models.map((/** @type {any} */ row) => row.model);
    this.cases.hold(document.cases, models);
    const links = { runHref: around.runHref, caseHref: (/** @type {string} */ suite, /** @type {string} */ id, /** @type {string} */ model) => this.caseHref(around, suite, id, model) };
    const sections = [
      gatesSection(document.gates),
      comparisonSection(document.baseline, links),
      scoresSection(document),
      document.cases.length ? this.cases.node : null,
      plotsSection(document),
      confusionSection(document.confusion, this.opening(around)),
      trendsSection(trends, models),
    ].filter((node) => node !== null && node !== undefined);
    this.nodes = [verdictNode(document, around.heading), ...sections];
    this.links = sections.map((node) => jumpTo(node));
  }

  /** @param {HTMLElement} place */
  show(place) {
    place.replaceChildren(...this.nodes);
    this.cases.draw();
  }

  /** What shows the cases of a cell, and nothing else. @param {RunSurroundings} around */
  opening(around) {
    const wanted = (/** @type {string} */ model, /** @type {string} */ choice) => ({ model: this.cases.index.models.find(({ label }) => label === model)?.key ?? "", choice });
    return {
      href: (/** @type {string} */ model, /** @type {string} */ choice) => around.address(new URLSearchParams(wanted(model, choice)).toString()),
      open: (/** @type {string} */ model, /** @type {string} */ choice) => {
        this.cases.change({ ...startState(), ...wanted(model, choice) }, true);
        this.cases.node.scrollIntoView();
      },
    };
  }

  /** @param {RunSurroundings} around @param {string} suite @param {string} id @param {string} model */
  caseHref(around, suite, id, model) {
    const { cases, models } = this.cases.index;
    const found = cases.find(({ first }) => first.suite === suite && first.case === id);
    const on = models.find(({ label }) => label === model)?.key ?? "";
    return found ? around.address(new URLSearchParams({ case: found.key, on }).toString()) : "";
  }
}

/** A link to a section that leaves the address, which tells what is shown, as it is. @param {HTMLElement} target */
function jumpTo(target) {
  const made = link(`#${target.id}`, target.id[0].toUpperCase() + target.id.slice(1));
  made.addEventListener("click", (event) => {
    event.preventDefault();
    target.scrollIntoView();
  });
  return made;
}
