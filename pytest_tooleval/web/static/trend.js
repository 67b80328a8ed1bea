// @ts-check
// A suite or a case over the runs: a chart, and the same as a table.

import { replaceHash, runHash } from "./address.js";
import { call, query } from "./api.js";
import { emptyState, errorBox, field, input, isolated, link, listTable, moment, newId, noRuns, pageHead, plural } from "./dom.js";
import { earlyEnd } from "./summary.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDEST = 900;
const HEIGHT = 240;
const LEFT = 40;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 30;
const COLOURS = 8;
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
  const result = el("div", { "aria-live": "polite" });
  const form = el(
    "form",
    { class: "card form" },
    field("Suite or case", name, { hint: "A suite, a case's id, or SUITE::CASE." }),
    field("Model", model),
    el("datalist", { id: list }, ...suites.map((/** @type {any} */ row) => el("option", { value: row.name }))),
    el("div", { class: "row wide" }, el("button", { type: "submit", class: "main" }, "Show")),
  );
  const load = async () => {
    const asked = { name: name.value.trim(), model: model.value.trim() };
    if (!asked.name) {
      result.replaceChildren(emptyState("Name a suite or a case to see how it did over the runs."));
      return;
    }
    replaceHash(`#/trend${query(asked)}`);
    try {
      const trend = await call("GET", "/api/history/trend" + query({ ...asked, limit: LIMIT }));
      if (!isGone()) result.replaceChildren(...trendNodes(trend));
    } catch (error) {
      if (!isGone()) result.replaceChildren(errorBox(error, "There is no trend to show"));
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void load();
  });
  place.append(form, result);
  await load();
}

/** The first suite of the newest run, if possible of one with a score. @param {any[]} runs @returns {Promise<string>} */
async function lastSuite(runs) {
  const run = runs.find((each) => each.overall !== null) || runs.find((each) => each.cases > 0);
  if (!run) return "";
  const document = await call("GET", `/api/history/${encodeURIComponent(run.id)}`);
  return document.suites[0]?.suite || "";
}

/** @param {any} trend */
function trendNodes(trend) {
  const { points } = trend;
  const runs = [...new Map(points.map((/** @type {any} */ point) => [point.id, point])).values()];
  const models = [...new Set(points.map((/** @type {any} */ point) => point.model))];
  const title = trend.case === null ? isolated(trend.suite) : el("span", {}, isolated(trend.case), el("small", {}, " ", isolated(trend.suite)));
  const changed = changedRuns(runs);
  const legend = models.map((model, i) => el("li", { class: `model-${i % COLOURS}` }, swatch(i), " ", isolated(model || "no model named")));
  return [
    el("h2", {}, title),
    el(
      "figure",
      { class: "plot" },
      el("figcaption", {}, `Overall score over ${plural(runs.length, "run")}, oldest first`, changed.size > 0 && el("small", {}, ` · ┆ the ${trend.case === null ? "suite" : "case"} was changed`)),
      chart(runs, models, points, changed),
      el("ul", { class: "legend" }, ...legend),
    ),
    el("details", { open: runs.length <= 12 ? "" : null }, el("summary", {}, "As a table"), pointTable(points, trend.case !== null)),
  ];
}

/** The runs before which the question was changed. @param {any[]} runs */
function changedRuns(runs) {
  return new Set(runs.filter((run, i) => i > 0 && run.content && runs[i - 1].content && run.content !== runs[i - 1].content).map((run) => run.id));
}

/** @param {string} name @param {Record<string, string | number>} attributes @param {...Node} children */
function svg(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}

/** @param {string} text @param {Record<string, string | number>} attributes */
function label(text, attributes) {
  return svg("text", attributes, document.createTextNode(shown(text)));
}

/**
 * @param {any[]} runs
 * @param {any[]} models
 * @param {any[]} points
 * @param {Set<string>} changed
 */
function chart(runs, models, points, changed) {
  // Drawn for the screen as it is, so that the letters keep their size.
  const width = Math.max(280, Math.min(WIDEST, window.innerWidth - 80));
  const step = (width - LEFT - RIGHT) / Math.max(1, runs.length - 1);
  const x = (/** @type {number} */ i) => (runs.length === 1 ? (width + LEFT - RIGHT) / 2 : LEFT + i * step);
  const y = (/** @type {number} */ value) => TOP + (1 - value) * (HEIGHT - TOP - BOTTOM);
  const places = new Map(runs.map((run, i) => [run.id, i]));
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((value) => [
    svg("line", { class: value ? "grid" : "grid base", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
    label(value.toFixed(2), { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }),
  ]);
  const marks = runs.flatMap((run, i) => (changed.has(run.id) ? [svg("line", { class: "changed", x1: x(i) - step / 2, x2: x(i) - step / 2, y1: TOP, y2: HEIGHT - BOTTOM })] : []));
  const days = dayTexts(runs.map((run) => run.started));
  const ends = runs.length > 1 ? [0, runs.length - 1] : [0];
  const dates = ends.map((i, n) => label(days[i], { class: "tick", x: x(i), y: HEIGHT - 10, "text-anchor": runs.length === 1 ? "middle" : n ? "end" : "start" }));
  const lines = models.map((model, m) => {
    const own = points.filter((point) => point.model === model && isKnown(point.overall));
    const at = own.map((point) => [x(places.get(point.id) ?? 0), y(point.overall)]);
    const path = at.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const dots = runs.length <= 60 || own.length === 1 ? at.map(([px, py]) => shape(m, px, py)) : [];
    return svg("g", { class: `model-${m % COLOURS}` }, svg("path", { class: "line", d: path || "M0 0" }), ...dots);
  });
  const last = models.map((model) => {
    const own = points.filter((point) => point.model === model);
    return `${shown(model)}: first ${scoreText(own[0]?.overall)}, last ${scoreText(own[own.length - 1]?.overall)}`;
  });
  return svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `Overall score over ${runs.length} runs. ${last.join("; ")}` }, ...grid, ...marks, ...dates, ...lines);
}

/** The days of moments, with the time where a day has several. @param {string[]} moments */
function dayTexts(moments) {
  const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
  // Without the year two of them fit on a narrow screen.
  const time = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const dates = moments.map((each) => new Date(each));
  const days = dates.map((each) => day.format(each));
  return days.map((each, i) => (days.indexOf(each) === days.lastIndexOf(each) ? each : time.format(dates[i])));
}

/** Models differ by shape too, not by colour alone. @param {number} model @param {number} x @param {number} y */
function shape(model, x, y) {
  const r = 4;
  const corners = [
    null,
    [[-r, -r], [r, -r], [r, r], [-r, r]],
    [[0, -r - 1], [r + 1, r], [-r - 1, r]],
    [[0, -r - 1.5], [r + 1.5, 0], [0, r + 1.5], [-r - 1.5, 0]],
  ][model % 4];
  if (!corners) return svg("circle", { class: "mark", cx: x, cy: y, r });
  return svg("polygon", { class: "mark", points: corners.map(([dx, dy]) => `${(x + dx).toFixed(1)},${(y + dy).toFixed(1)}`).join(" ") });
}

/** @param {number} model */
function swatch(model) {
  return svg("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }, shape(model, 7, 7));
}

/** @param {any} point @param {boolean} isCase */
function resultNodes(point, isCase) {
  const passed = isCase && point.outcome ? outcomeText(point.outcome) : `${countText(point.passed)}/${countText(point.cases)} passed`;
  const end = earlyEnd(point);
  return end ? [passed, el("small", { class: "under" }, outcomeText("error", end))] : [passed];
}

/** @param {any[]} points @param {boolean} isCase */
function pointTable(points, isCase) {
  const rows = [...points].reverse().map((point) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, link(runHash(point.id), moment(point.started))),
      el("td", {}, isolated(point.model || "no model named")),
      el("td", { class: "number strong" }, scoreText(point.overall)),
      el("td", {}, ...resultNodes(point, isCase)),
      el("td", {}, point.git ? el("code", {}, shown(point.git.commit.slice(0, 8))) : UNKNOWN),
    ),
  );
  return listTable(["Run", "Model", "Overall", "Result", "Commit"], rows, "The trend as a table");
}
