// @ts-check
// Results of a suite or case over time: a plot and a table.

import { runHash, writeHash } from "./address.js";
import { call, historyPath, query } from "./api.js";
import { emptyState, errorBox, field, input, newId, noRuns, pageHead } from "./controls.js";
import { el, link, listTable, modelName, moment, numberCell, outcomeText, shown, tableRow } from "./page/dom.js";
import { UNKNOWN, countText, plural, scoreText } from "./page/numbers.js";
import { trendPlot } from "./page/plots.js";

const WIDEST = 900;
const LIMIT = 200;
const RECENT = 20;

/** @param {import("./main.js").Visit} visit */
export async function show({ place, params, isGone }) {
  place.append(pageHead("Trends"));
  const [rows, runs] = await Promise.all([call("GET", "/api/suites"), call("GET", `/api/history?limit=${RECENT}`)]);
  if (isGone()) return;
  if (runs.length === 0) {
    place.append(noRuns());
    return;
  }
  const suites = rows.filter((/** @type {any} */ row) => row.name);
  const first = params.get("name") || (await lastSuite(runs));
  if (isGone()) return;
  const list = newId();
  const name = input({ list, value: first, spellcheck: "false" });
  const model = input({ value: params.get("model") || "", placeholder: "all models", spellcheck: "false" });
  const result = el("div", { class: "trend", "aria-live": "polite" });
  const form = el(
    "form",
    { class: "card form" },
    field("Suite or case", name, { hint: "A suite, a case's id, or SUITE::CASE." }),
    field("Model", model),
    el("datalist", { id: list }, ...suites.map((/** @type {any} */ row) => el("option", { value: nameOf(row.name, row.file, suites) }))),
    el("div", { class: "row wide" }, el("button", { type: "submit", class: "main" }, "Show")),
  );
  const load = async () => {
    const asked = { name: name.value.trim(), model: model.value.trim() };
    if (!asked.name) {
      result.replaceChildren(emptyState("Enter a suite or a case to see its results over time."));
      return;
    }
    writeHash(`#/trend${query(asked)}`);
    try {
      const trend = await call("GET", "/api/history/trend" + query({ ...asked, limit: LIMIT }));
      if (!isGone()) result.replaceChildren(...trendNodes(trend));
    } catch (error) {
      if (!isGone()) result.replaceChildren(errorBox(error, "No trend"));
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void load();
  });
  place.append(form, result);
  await load();
}

/** The first suite of the newest run with a score, else of the newest run. @param {any[]} runs @returns {Promise<string>} */
async function lastSuite(runs) {
  const run = runs.find((each) => each.pass_rate !== null) || runs.find((each) => each.cases > 0);
  if (!run) return "";
  const { suites } = await call("GET", historyPath(run.id));
  return suites.length ? nameOf(suites[0].suite, suites[0].file, suites) : "";
}

/** A suite's name, or its file if several files have it. @param {string} name @param {string} file @param {any[]} suites */
function nameOf(name, file, suites) {
  return suites.every((each) => (each.suite ?? each.name) !== name || each.file === file) ? name : file;
}

/** @param {any} trend */
function trendNodes(trend) {
  const { case: name, points } = trend;
  const runs = new Set(points.map((/** @type {any} */ point) => point.id)).size;
  // As wide as the screen, so that the text keeps its size.
  const width = Math.max(280, Math.min(WIDEST, window.innerWidth - 80));
  return [
    trendPlot(trend, [], width, "h2") || el("p", { class: "muted" }, "No run has an answer."),
    el("details", { open: runs <= 12 ? "" : null }, el("summary", {}, "Runs"), pointTable(points, name !== null)),
  ];
}

/** @param {any} point @param {boolean} isCase */
function resultNodes(point, isCase) {
  const passed = isCase && point.outcome ? outcomeText(point.outcome) : `${countText(point.passed)}/${countText(point.cases)} passed`;
  const part = point.is_part && el("small", { class: "under" }, `partial: the suite has ${plural(point.suite_cases, "case")}`);
  return [passed, part || "", point.ending ? el("small", { class: "under" }, outcomeText("error", point.ending)) : ""];
}

/** @param {any[]} points @param {boolean} isCase */
function pointTable(points, isCase) {
  const rows = [...points].reverse().map((point) =>
    tableRow(
      link(runHash(point.id), moment(point.started)),
      modelName(point.model),
      numberCell(scoreText(point.pass_rate)),
      numberCell(scoreText(point.overall)),
      el("td", {}, ...resultNodes(point, isCase)),
      point.git ? el("code", {}, shown(point.git.commit.slice(0, 8))) : UNKNOWN,
    ),
  );
  return listTable(["Run", "Model", "Pass rate", "Overall", "Result", "Commit"], rows, "Runs in the trend");
}
