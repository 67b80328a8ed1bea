// @ts-check
// The filters above the cases.

import { ALL_VARIANTS, CHOSEN_BY, causesOf, choiceText, choicesOf, hasOutcome, isRight, startState, toolsOf } from "./cases.js";
import { button, el, modelText, outcomeText, shortened, shown } from "./dom.js";
import { countText } from "./numbers.js";

/** @import { Case, Index, State } from "./cases.js" */

/** @param {Case[]} cases */
function rowsOf(cases) {
  return cases.flatMap((each) => each.rows.filter((row) => row !== undefined));
}

export class Toolbar {
  /** @param {(changes: Partial<State>) => void} change */
  constructor(change) {
    this.change = change;
    this.query = /** @type {HTMLInputElement} */ (el("input", { type: "search", placeholder: "id, prompt, reason, tool", spellcheck: "false" }));
    this.query.addEventListener("input", () => change({ query: this.query.value }));
    /** @type {Record<string, HTMLSelectElement>} */
    this.selects = {};
    this.chips = CHOSEN_BY.map((outcome) => this.chip(outcome));
    const { open, on, trial, ...filters } = startState();
    this.node = el(
      "form",
      { class: "toolbar", role: "search" },
      el("label", { class: "query" }, "Search", this.query),
      this.select("variant", "Variant"),
      this.select("model", "Model"),
      this.select("suite", "Suite"),
      this.select("tag", "Tag"),
      this.select("tool", "Tool"),
      this.select("failure", "Failure"),
      this.select("choice", "Expected → called"),
      this.select("sort", "Sort by"),
      el(
        "div",
        { class: "row" },
        el("div", { class: "chips", role: "group", "aria-label": "Outcome" }, ...this.chips),
        button("Clear filters", () => change(filters), { class: "clear" }),
      ),
    );
    this.node.addEventListener("submit", (event) => event.preventDefault());
  }

  /** @param {string} outcome */
  chip(outcome) {
    const toggle = () => {
      made.setAttribute("aria-pressed", String(made.getAttribute("aria-pressed") !== "true"));
      this.change({ outcomes: CHOSEN_BY.filter((_, i) => this.chips[i].getAttribute("aria-pressed") === "true") });
    };
    const made = button("", toggle, { class: "chip", "aria-pressed": "false" });
    made.append(outcomeText(outcome), " ", el("span", { class: "number" }));
    return made;
  }

  /** @param {keyof State} field @param {string} label */
  select(field, label) {
    const made = /** @type {HTMLSelectElement} */ (el("select"));
    made.addEventListener("change", () => this.change({ [field]: made.value }));
    this.selects[field] = made;
    return el("label", {}, label, made);
  }

  /** @param {Index} index whose values can be chosen */
  offer(index) {
    const rows = rowsOf(index.cases);
    const tags = [...new Set(index.cases.flatMap((each) => each.first.tags))];
    const failures = [...new Set(rows.flatMap(causesOf))];
    const choices = rows.flatMap(choicesOf);
    const wrong = choices.filter((choice) => !isRight(choice));
    const pairs = wrong.length ? [...new Set([...wrong, ...choices].map(choiceText))] : [];
    const sorts = [["failed", "failures first"], ["suite", "suite order"], ["name", "name"], ["worst", "worst score first"]];
    if (index.models.length > 1) sorts.push(["differ", "most disagreement first"]);
    const variants = index.variants.length ? [[ALL_VARIANTS, "all"], ...index.variants.map((each) => [each, each])] : [];
    this.fill("variant", "none (unchanged)", variants, 1);
    this.fill("model", "all models", index.models.map(({ key, label }) => [key, modelText(label)]), 2);
    this.fill("suite", "all suites", index.suites.map(({ key, label }) => [key, label]), 2);
    this.fill("tag", "any tag", tags.map((tag) => [tag.toWellFormed(), tag]), 1);
    this.fill("tool", "any tool", [...new Set(rows.flatMap(toolsOf))].sort().map((name) => [name, name]), 2);
    this.fill("failure", "any", failures.map((each) => [each, each.replace(/_/g, " ")]), 1);
    this.fill("choice", "any", pairs.map((each) => [each, each]), 1);
    this.fill("sort", "", sorts, 1);
  }

  /**
   * @param {string} field
   * @param {string} all the label of the empty choice; none if empty
   * @param {string[][]} choices pairs of value and text
   * @param {number} fewest choices that make the list worth showing
   */
  fill(field, all, choices, fewest) {
    const select = this.selects[field];
    /** @type {HTMLElement} */ (select.parentElement).hidden = choices.length < fewest;
    const wanted = all ? [["", all], ...choices] : choices;
    // Replacing the options would close an open list.
    if (wanted.map(([value]) => value).join("\n") === [...select.options].map(({ value }) => value).join("\n")) return;
    const { value } = select;
    select.replaceChildren(...wanted.map(([each, text]) => el("option", { value: each }, shown(shortened(text, 100)))));
    select.value = value;
  }

  /** @param {State} state @param {Case[]} cases of the chosen variant */
  show(state, cases) {
    const rows = rowsOf(cases);
    CHOSEN_BY.forEach((outcome, i) => {
      const count = rows.filter((row) => hasOutcome(row, outcome)).length;
      this.chips[i].hidden = count === 0;
      /** @type {Element} */ (this.chips[i].lastElementChild).textContent = countText(count);
    });
    if (this.query.value !== state.query) this.query.value = state.query;
    for (const [field, select] of Object.entries(this.selects)) {
      // Column headers sort in ways that the list does not offer.
      select.value = String(state[/** @type {keyof State} */ (field)]);
      if (select.selectedIndex < 0) select.value = "";
    }
    CHOSEN_BY.forEach((outcome, i) => this.chips[i].setAttribute("aria-pressed", String(state.outcomes.includes(outcome))));
  }
}
