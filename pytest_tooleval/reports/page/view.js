// @ts-check
// A finished run: the HTML report, and the page of a run.

import { CaseView } from "./case-view.js";
import { findCase } from "./cases.js";
import { comparisonSection } from "./comparison.js";
import { capitalized, link } from "./dom.js";
import { roundFor } from "./numbers.js";
import { plotsSection, trendsSection } from "./plots.js";
import { gatesSection, scoresSection, verdictNode } from "./summary.js";
import { variantsSection } from "./variants.js";

/** @import { Surroundings } from "./case-view.js" */
/** @import { Identity } from "./cases.js" */
/** @import { Links } from "./comparison.js" */
/** @import { Trend } from "./plots.js" */
/**
 * @typedef {Surroundings & {heading: string, runHref: (id: string) => string, address: (query: string) => string}} RunSurroundings
 *   `heading` is the element of the verdict, `address` gives this run's address with a query
 */

export class RunView {
  /**
   * @param {any} document as `page_document` in reports/html.py makes it
   * @param {Trend[]} trends from the history
   * @param {RunSurroundings} around
   * @param {string} query of the address
   */
  constructor(document, trends, around, query) {
    roundFor(document.limits ?? []);
    this.cases = new CaseView(around, query);
    const models = document.models.map((/** @type {any} */ row) => row.model);
    this.cases.hold(document.cases, models);
    /** @type {Links} */
    const links = { runHref: around.runHref, caseHref: (of) => this.caseHref(around, of) };
    const cases = document.cases.length ? this.cases.node : null;
    const isRed = document.cases.some((/** @type {any} */ row) => ["failed", "error"].includes(row.outcome));
    const sections = [
      gatesSection(document.gates),
      comparisonSection(document.comparison, links),
      isRed && cases,
      scoresSection(document),
      variantsSection(document, models, (of) => this.caseHref(around, of)),
      !isRed && cases,
      plotsSection(document),
      trendsSection(trends, models),
    ].filter((node) => node instanceof HTMLElement);
    this.nodes = [verdictNode(document, around.heading), ...sections];
    this.links = sections.map((node) => jumpTo(node));
  }

  /** @param {HTMLElement} place */
  show(place) {
    place.replaceChildren(...this.nodes);
    this.cases.draw();
  }

  /** @param {string} model */
  modelKey(model) {
    return this.cases.index.models.find(({ label }) => label === model)?.key ?? "";
  }

  /** @param {RunSurroundings} around @param {Identity} of */
  caseHref(around, of) {
    const found = findCase(this.cases.index, of);
    const query = new URLSearchParams({ case: found?.key ?? "", on: this.modelKey(of.model) });
    if (of.variant) query.set("variant", of.variant);
    return found ? around.address(query.toString()) : "";
  }
}

/** A link to a section that does not change the address, which holds the view's state. @param {HTMLElement} target */
function jumpTo(target) {
  const made = link(`#${target.id}`, capitalized(target.id));
  made.addEventListener("click", (event) => {
    event.preventDefault();
    target.scrollIntoView();
  });
  return made;
}
