// @ts-check
// The list of suites.

import { runHash, suiteHash } from "./address.js";
import { call, query } from "./api.js";
import { emptyState, pageHead } from "./controls.js";
import { countsText, wholeFirst } from "./history.js";
import { el, link, listTable, moment, numberCell, outcomeText, shown, shownNodes, tableRow } from "./page/dom.js";
import { UNKNOWN, countText, plural, scoreText } from "./page/numbers.js";

/** @typedef {{file: string, name: string | null, cases: number, drafts: number, tools: number, problems: number, modified: string}} Row */

const MOST_RESULTS = 60;
const AT_ONCE = 4;
// The last whole run is looked for in as many runs.
const NEWEST = 20;

/** @param {import("./main.js").Visit} visit */
export async function show({ place, isGone }) {
  const actions = [
    link("#/new", "New suite", { class: "button main" }),
    link("#/import", "Import JSON", { class: "button" }),
    link("#/mcp", "Import from MCP", { class: "button" }),
  ];
  place.append(pageHead("Suites", ...actions));
  /** @type {Row[]} */
  const rows = await call("GET", "/api/suites");
  if (isGone()) return;
  if (rows.length === 0) {
    place.append(
      emptyState(
        "No suites yet. A suite has tools and test cases. Create one, or import a JSON file or the tools of an MCP server.",
        ...actions.map((each) => /** @type {Node} */ (each.cloneNode(true))),
      ),
    );
    return;
  }
  /** @type {Map<Row, HTMLElement>} */
  const results = new Map();
  const made = rows.map((row) => {
    const result = el("td", {}, UNKNOWN);
    results.set(row, result);
    return rowOf(row, result);
  });
  place.append(listTable(["Suite", "Cases", "Tools", "Last result", "Modified", "Run"], made, "Suites"));
  await fillResults(rows.filter((row) => row.name !== null).slice(0, MOST_RESULTS), results, isGone);
}

/** @param {Row} row @param {HTMLElement} result */
function rowOf(row, result) {
  const words = shown(row.name ?? "").trim() || shown(row.file);
  const name = link(suiteHash(row.file), row.name === null ? "(unreadable)" : words, { class: "strong" });
  const cases = numberCell(countText(row.cases), row.drafts > 0 && el("small", {}, ` ${plural(row.drafts, "draft")}`));
  const problems = row.problems > 0 && el("span", {}, " ", outcomeText("failed", plural(row.problems, "problem")));
  const run = row.problems > 0 || row.cases === 0 ? null : link(`#/run${query({ file: row.file })}`, "Run", { "aria-label": `Run ${words}` });
  return tableRow(
    el("div", {}, el("bdi", {}, name), problems, el("small", { class: "under" }, el("bdi", {}, shownNodes(row.file)))),
    row.name === null ? numberCell(UNKNOWN) : cases,
    numberCell(row.name === null ? UNKNOWN : countText(row.tools)),
    result,
    el("td", { class: "when" }, moment(row.modified)),
    run,
  );
}

/**
 * The last run of each suite, a few at a time. By file, as two suites may have the same name.
 * @param {Row[]} rows
 * @param {Map<Row, HTMLElement>} results
 * @param {() => boolean} isGone
 */
async function fillResults(rows, results, isGone) {
  const waiting = [...rows];
  const work = async () => {
    for (let row = waiting.shift(); row && !isGone(); row = waiting.shift()) {
      const found = await call("GET", "/api/history" + query({ suite: row.file, limit: NEWEST })).catch(() => []);
      if (!found.length) continue;
      const [run] = wholeFirst(found);
      const hasRun = run.cases > run.skipped;
      // The suite's own outcome: the run may have failed by another suite or test.
      const wrong = run.failed + run.errors;
      const isFailed = wrong > run.tolerated;
      const outcome = isFailed ? "failed" : hasRun ? "passed" : "skipped";
      const words = (hasRun ? `${scoreText(run.pass_rate?.mean)} · ` : "") + countsText(run) + (run.is_partial ? " · partial" : "");
      results.get(row)?.replaceChildren(
        link(runHash(run.id), run.ending ? outcomeText("error", `${words} · ${run.ending}`) : outcomeText(outcome, words)),
        el("small", { class: "under" }, moment(run.started), " · ", shownNodes(run.models.slice(0, 3).join(", ")), run.models.length > 3 ? ", …" : ""),
        run === found[0] ? "" : el("small", { class: "under" }, "since then, in part: ", link(runHash(found[0].id), countsText(found[0]))),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
