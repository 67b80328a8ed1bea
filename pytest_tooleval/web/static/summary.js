// @ts-check
// The figures of a run: per model, per suite, and the gates.

import { isolated, listTable } from "./dom.js";

export const ENDS = {
  cancelled: "cancelled before its end",
  failed: "failed before its end",
  killed: "ended by force",
};
const FIRST = ["overall", "tool_selection", "parameter_accuracy"];

/**
 * How a run ended that did not come to its end; "" for one that did, or goes on.
 * @param {{status?: string, exitstatus?: number | null}} run
 */
export function earlyEnd({ status, exitstatus }) {
  if (status === "killed") return ENDS.killed;
  if (!isKnown(exitstatus) || exitstatus < 2) return "";
  return exitstatus === 2 ? ENDS.cancelled : ENDS.failed;
}

/**
 * The result of a run in a few words. Where all cases were skipped, nothing has passed or failed; what
 * did not come to its end is no success, whatever came until then.
 * @param {any} run
 */
export function resultOf(run) {
  const asked = run.cases - run.skipped;
  const passed = `${countText(run.passed)}/${countText(asked)} passed`;
  const words = asked ? passed : run.skipped ? `${countText(run.skipped)} skipped` : "no results";
  const end = earlyEnd(run);
  if (end) return { outcome: "error", words: `${words} · ${end}` };
  return { outcome: asked === 0 ? "skipped" : run.errors ? "error" : run.failed ? "failed" : "passed", words };
}

/**
 * @param {any[]} models
 * @param {any[]} suites
 */
export function summaryTables(models, suites) {
  if (models.length === 0) return [];
  const tables = [el("section", {}, el("h2", {}, "Models"), summaryTable(models, (row) => [isolated(row.model || "no model named")], ["Model"], "Scores per model"))];
  const several = new Set(suites.map((row) => row.file || row.suite)).size > 1;
  if (several) {
    const names = (/** @type {any} */ row) => [isolated(row.suite), isolated(row.model || "no model named")];
    tables.push(el("section", {}, el("h2", {}, "Suites"), summaryTable(suites, names, ["Suite", "Model"], "Scores per suite and model")));
  }
  return tables;
}

/**
 * @param {any[]} rows
 * @param {(row: any) => Node[]} names
 * @param {string[]} columns
 * @param {string} label
 */
function summaryTable(rows, names, columns, label) {
  const found = new Set(rows.flatMap((row) => Object.keys(row.metrics)));
  const metrics = [...FIRST.filter((each) => found.has(each)), ...[...found].filter((each) => !FIRST.includes(each))];
  const trials = rows.some((row) => row.reliability);
  const head = [...columns, "Passed", "Not passed", ...metrics.map(metricName), ...(trials ? ["pass@k", "pass^k"] : []), "Time", "Tokens", "Cost"];
  const body = rows.map((row) => {
    const [name, ...rest] = names(row);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      ...rest.map((node) => el("td", {}, node)),
      el("td", { class: "number" }, `${countText(row.passed)} / ${countText(row.cases - row.skipped)}`),
      el("td", {}, ...notPassed(row)),
      ...metrics.map((metric) => scoreCell(row.metrics[metric])),
      ...(trials ? [reliabilityCell(row.reliability, "pass@k"), reliabilityCell(row.reliability, "pass^k")] : []),
      el("td", { class: "number" }, secondsText(row.latency_s)),
      el("td", { class: "number" }, tokensText(row.tokens.prompt, row.tokens.completion, row.tokens.reasoning)),
      el("td", { class: "number" }, usdText(row.cost_usd)),
    );
  });
  return listTable(head, body, label);
}

/** @param {string} metric */
export function metricName(metric) {
  const words = shown(metric.replace(/_/g, " "));
  return words[0].toUpperCase() + words.slice(1);
}

/** @param {any} row */
function notPassed(row) {
  const parts = [["failed", row.failed], ["missed", row.missed], ["error", row.errors], ["skipped", row.skipped]].filter(([, count]) => count);
  if (parts.length === 0) return [el("span", { class: "muted" }, "none")];
  return parts.map(([outcome, count]) => el("span", { class: "part" }, outcomeText(outcome, `${countText(count)} ${outcome === "error" ? "without an answer" : outcome}`)));
}

/** @param {any} metric */
function scoreCell(metric) {
  if (!metric) return el("td", { class: "number" }, UNKNOWN);
  const interval = isKnown(metric.low) && isKnown(metric.high) && metric.n > 1;
  const range = interval && el("small", { class: "under", title: "95% interval" }, `${scoreText(metric.low)}–${scoreText(metric.high)}`);
  return el("td", { class: "number" }, scoreText(metric.mean), range);
}

/** @param {any} reliability @param {string} kind */
function reliabilityCell(reliability, kind) {
  const values = Object.entries((reliability && reliability[kind]) || {});
  const [k, value] = values[values.length - 1] || ["", null];
  return el("td", { class: "number" }, scoreText(value), k && el("small", {}, ` k=${k}`));
}

/** @param {any[]} gates */
export function gatesTable(gates) {
  const rows = gates.map((gate) =>
    el(
      "tr",
      {},
      el("td", { class: "result" }, outcomeText(gate.passed ? "passed" : "failed")),
      el("th", { scope: "row" }, isolated(gate.name)),
      el("td", { class: "message" }, isolated(gate.message)),
    ),
  );
  return el("section", {}, el("h2", {}, "Gates"), listTable(["Result", "Gate", "What it found"], rows, "Gates"));
}
