// @ts-check
// Comparison of two runs.

import { runHash, writeHash } from "./address.js";
import { call, historyPath, query } from "./api.js";
import { emptyState, errorBox, field, pageHead, select } from "./controls.js";
import { wholeFirst } from "./history.js";
import { caseKey, findRow } from "./page/cases.js";
import { comparisonNodes } from "./page/comparison.js";
import { lineDifference } from "./page/difference.js";
import { el, link, shown } from "./page/dom.js";
import { exactJson } from "./page/json.js";
import { momentText, scoreText } from "./page/numbers.js";
import { answerText } from "./page/trial.js";

/** @import { Identity } from "./page/cases.js" */

const LIMIT = 200;

/** @param {import("./main.js").Visit} visit */
export async function show({ place, params, isGone }) {
  place.append(pageHead("Comparison"));
  const runs = await call("GET", "/api/history" + query({ limit: LIMIT }));
  if (isGone()) return;
  if (runs.length < 2) {
    place.append(emptyState("You need two runs in the history to compare.", link("#/run", "Run a suite", { class: "button main" })));
    return;
  }
  const now = params.get("new") || wholeFirst(runs)[0].id;
  const old = params.get("old") || runBefore(runs, now);
  new ComparePage(place, runs, [old, now], params, isGone);
}

/**
 * The latest older run with a suite and a model of this one, else with a model of it, else any; whole ones first.
 * @param {any[]} runs newest first
 * @param {string} now
 * @returns {string}
 */
function runBefore(runs, now) {
  const run = runs.find(({ id }) => id === now) ?? runs[0];
  const shares = (/** @type {"models" | "suites"} */ key) => (/** @type {any} */ each) => each[key].some((/** @type {string} */ name) => run[key].includes(name));
  const older = runs.slice(runs.indexOf(run) + 1).sort((a, b) => Number(a.is_partial) - Number(b.is_partial));
  const ofModel = older.filter(shares("models"));
  return (ofModel.find(shares("suites")) ?? ofModel[0] ?? older[0] ?? runs[1]).id;
}

class ComparePage {
  /**
   * @param {HTMLElement} place
   * @param {any[]} runs newest first
   * @param {[string, string]} chosen the old and the new run
   * @param {URLSearchParams} params
   * @param {() => boolean} isGone
   */
  constructor(place, runs, [old, now], params, isGone) {
    this.runs = runs;
    this.isGone = isGone;
    /** @type {[string, string][]} */
    const options = runs.map((run) => [run.id, [...run.tags.map((/** @type {string} */ tag) => `@${tag}`), momentText(run.started), run.models.join(", "), scoreText(run.pass_rate?.mean)].join(" · ")]);
    for (const id of [old, now]) if (!runs.some((run) => run.id === id)) options.push([id, id]);
    this.old = select(options, old);
    this.now = select(options, now);
    this.oldModel = select([["", "same models"]]);
    this.newModel = select([["", "same models"]]);
    this.wanted = [params.get("old_model") || "", params.get("new_model") || ""];
    this.result = el("div", { class: "comparison", "aria-live": "polite" });
    const modelFields = el("details", { class: "wide" }, el("summary", {}, "Compare two different models"), el("div", { class: "form" }, field("Model of the old run", this.oldModel), field("Model of the new run", this.newModel)));
    if (this.wanted[0]) modelFields.setAttribute("open", "");
    for (const control of [this.old, this.now]) {
      control.addEventListener("change", () => {
        this.wanted = ["", ""];
        this.models();
        void this.load();
      });
    }
    for (const control of [this.oldModel, this.newModel]) control.addEventListener("change", () => void this.load());
    place.append(el("div", { class: "card form" }, field("Old run", this.old), field("New run", this.now), modelFields), this.result);
    this.models();
    void this.load();
  }

  models() {
    [[this.old, this.oldModel], [this.now, this.newModel]].forEach(([run, control], i) => {
      const models = this.runs.find((each) => each.id === run.value)?.models || [];
      const options = models.map((/** @type {string} */ model) => el("option", { value: model }, shown(model)));
      control.replaceChildren(el("option", { value: "" }, "same models"), ...options);
      control.value = models.includes(this.wanted[i]) ? this.wanted[i] : "";
    });
  }

  async load() {
    const [a, b] = [this.oldModel.value, this.newModel.value];
    const asked = query({ old: this.old.value, new: this.now.value, ...(a && b ? { old_model: a, new_model: b } : {}) });
    writeHash(`#/compare${asked}`);
    if (Boolean(a) !== Boolean(b)) {
      this.result.replaceChildren(el("p", { class: "muted" }, "Choose a model for each run."));
      return;
    }
    this.result.replaceChildren(el("p", { class: "muted" }, "Comparing…"));
    try {
      const comparison = await call("GET", "/api/history/compare" + asked);
      const caseHref = (/** @type {Identity} */ of) => `${runHash(comparison.new.id)}?${new URLSearchParams({ case: caseKey(of), on: of.model })}`;
      const links = { runHref: runHash, caseHref, answers: answersOf(comparison) };
      if (this.isGone() || location.hash !== `#/compare${asked}`) return;
      this.result.replaceChildren(...comparisonNodes(comparison, links));
    } catch (error) {
      if (!this.isGone()) this.result.replaceChildren(errorBox(error, "Could not compare these runs"));
    }
  }
}

/**
 * Shows the answers to a case in both runs: of each the first trial that did not pass, else the first.
 * @param {any} comparison
 */
function answersOf({ old, new: now }) {
  /** @type {Map<string, Promise<any>>} */
  const documents = new Map();
  const answer = async (/** @type {string} */ run, /** @type {Identity} */ of) => {
    const loading = documents.get(run) ?? call("GET", historyPath(run));
    documents.set(run, loading);
    const row = findRow((await loading).cases, of);
    if (!row) throw new Error(`the run ${run} no longer has this case`);
    const whole = await call("GET", `${historyPath(run)}/cases${query({ nodeid: row.nodeid })}`, { read: exactJson });
    const trial = whole.trials.find((/** @type {any} */ each) => !each.passed) ?? whole.trials[0];
    return trial ? answerText(trial) : "";
  };
  return async (/** @type {import("./page/comparison.js").Item} */ each) => {
    try {
      const texts = await Promise.all([answer(old.id, each.was), answer(now.id, each.of)]);
      return [lineDifference(texts[0], texts[1], `Answers of ${shown(each.of.model)} to ${shown(each.of.case)}`)];
    } catch (error) {
      return [errorBox(error, "Could not load the answers")];
    }
  };
}
