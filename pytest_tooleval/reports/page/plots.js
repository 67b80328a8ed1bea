// @ts-check
// The plots of a run, and of many runs. Each is null if there is nothing to show.

import { causeOf } from "./cases.js";
import { EDGE, LEFT, RIGHT, WIDTH, caption, figure, horizontalAxis, legend, linear, marker, modelClass, stroke, upward, verticalAxis } from "./chart.js";
import { el, modelText, section, shortened, svg } from "./dom.js";
import { countText, isKnown, momentText, plural, scoreText, secondsText, usdText } from "./numbers.js";

/** @import { Row } from "./cases.js" */
/** @import { Trial } from "./trial.js" */
/** @typedef {{index: number, model: string, passing: any, rows: Row[], answered: Trial[]}} ModelRows with the pass rate and its interval */
/**
 * A suite or a case over its runs, as in history/trends.py.
 * @typedef {{id: string, started: string, git: {commit: string} | null, scoring_version: number, fingerprint: string, model: string, is_part: boolean, pass_rate: number | null}} Point
 * @typedef {{suite: string, case: string | null, points: Point[]}} Trend
 */

const MOST_MODELS = 16;
const MOST_DOTS = 250;

/** @param {any} document */
export function plotsSection({ models, cases }) {
  /** @type {ModelRows[]} */
  const found = models.slice(0, MOST_MODELS).map((/** @type {any} */ { model, pass_rate: passing }, /** @type {number} */ index) => {
    const rows = cases.filter((/** @type {Row} */ row) => row.model === model && !row.variant);
    return { index, model, passing, rows, answered: rows.flatMap(answeredIn) };
  });
  const plots = [
    passPlot(found),
    latencyPlot(found),
    costPlot(found),
    failuresPlot(found),
  ].filter((plot) => plot !== null);
  return plots.length ? section("plots", "Plots", el("div", { class: "plots" }, ...plots)) : null;
}

/** @param {Row} row */
function answeredIn(row) {
  return row.trials.filter((trial) => !trial.error);
}

/** @param {number[]} values */
function sum(values) {
  return values.reduce((total, each) => total + each, 0);
}

/** A horizontal line with ticks at its ends. @param {number} left @param {number} right @param {number} y */
function whisker(left, right, y) {
  return [stroke("whisker", left, y, right, y), ...[left, right].map((x) => stroke("whisker", x, y - 4, x, y + 4))];
}

// ---- pass rate ----

/** @param {ModelRows[]} models */
function passPlot(models) {
  const found = models.filter(({ passing }) => passing);
  if (!found.length) return null;
  const scale = linear(0, 1, EDGE, WIDTH - RIGHT);
  const bottom = 8 + 38 * found.length;
  const rows = found.map(({ index, model, passing: { mean, low, high } }, i) => {
    const [top, y] = [8 + 38 * i, 32 + 38 * i];
    const bounds = isKnown(low) && isKnown(high) ? [low, high] : [];
    const [left, right] = bounds.map(scale.at);
    return {
      node: svg(
        "g",
        { class: modelClass(index) },
        caption(EDGE, top + 12, shortened(modelText(model), 44)),
        caption(WIDTH - RIGHT, top + 12, scoreText(mean), "end", "tick"),
        svg("rect", { class: "box", x: scale.start, y: y - 7, width: scale.at(mean) - scale.start, height: 14 }),
        ...(bounds.length ? whisker(left, right, y) : []),
      ),
      numbers: [modelText(model), scoreText(mean), ...(bounds.length ? bounds : [null, null]).map(scoreText)],
    };
  });
  return figure("Pass rate", [...horizontalAxis(scale, 8, bottom, "share of cases that passed"), ...rows.map(({ node }) => node)], {
    height: bottom + 36,
    words: rows.map(({ numbers }) => `${numbers[0]}: ${numbers[1]}`).join("; "),
    header: ["Model", "Pass rate", "95% interval from", "to"],
    numbers: rows.map(({ numbers }) => numbers),
    below: [el("p", { class: "muted" }, "Whiskers show the 95% interval.")],
  });
}

// ---- latency ----

/** Per model a box plot over dots for single trials. @param {ModelRows[]} models */
function latencyPlot(models) {
  const found = models.map((each) => ({ ...each, times: each.answered.map((trial) => trial.latency_s).filter(isKnown).sort((a, b) => a - b) })).filter(({ times }) => times.length);
  if (!found.length) return null;
  const scale = upward(found.map(({ times }) => times[times.length - 1]), EDGE, WIDTH - RIGHT);
  const bottom = 8 + 38 * found.length;
  const rows = found.map(({ index, model, times }, i) => {
    const marks = [0.05, 0.25, 0.5, 0.75, 0.95].map((share) => quantile(times, share));
    const [low, lower, median, upper, high] = marks.map(scale.at);
    const top = 8 + 38 * i;
    const y = top + 24;
    const every = Math.max(1, Math.floor(times.length / MOST_DOTS));
    const shapes = [
      caption(EDGE, top + 12, shortened(modelText(model), 44)),
      caption(WIDTH - RIGHT, top + 12, `median ${secondsText(marks[2])}`, "end", "tick"),
      ...whisker(low, high, y),
      svg("rect", { class: "box", x: lower, y: y - 7, width: Math.max(upper - lower, 1), height: 14 }),
      stroke("median", median, y - 7, median, y + 7),
      ...times.filter((_, n) => n % every === 0).map((time) => svg("circle", { class: "trial", cx: scale.at(time), cy: y, r: 1.5 })),
    ];
    return { node: svg("g", { class: modelClass(index) }, ...shapes), numbers: [modelText(model), countText(times.length), ...[...marks.slice(2), times[times.length - 1]].map(secondsText)] };
  });
  return figure("Latency", [...horizontalAxis(scale, 8, bottom, "seconds per trial"), ...rows.map(({ node }) => node)], {
    height: bottom + 36,
    words: rows.map(({ numbers }) => `${numbers[0]}: median ${numbers[2]}, 95th percentile ${numbers[4]}`).join("; "),
    header: ["Model", "Trials", "Median", "75th percentile", "95th percentile", "Longest"],
    numbers: rows.map(({ numbers }) => numbers),
    below: [el("p", { class: "muted" }, "The box spans the middle half of the trials, with a line at the median. Whiskers span the 5th to 95th percentile.")],
  });
}

/** Of sorted values, by linear interpolation (Hyndman and Fan's type 7). @param {number[]} values @param {number} share */
export function quantile(values, share) {
  const place = share * (values.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, values.length - 1);
  return values[below] + (place - below) * (values[above] - values[below]);
}

// ---- cost against pass rate ----

/** One point per model, for two or more models. @param {ModelRows[]} models */
function costPlot(models) {
  const points = models.flatMap(({ index, model, passing, answered }) => {
    const values = answered.map((trial) => trial.cost_usd).filter(isKnown);
    if (!values.length || !passing) return [];
    const { mean, low, high } = passing;
    return [{ index, model, taken: sum(values) / values.length, mean, low: isKnown(low) ? low : mean, high: isKnown(high) ? high : mean }];
  });
  if (points.length < 2 || !points.some(({ taken }) => taken)) return null;
  const [top, bottom] = [26, 226];
  const across = upward(points.map(({ taken }) => taken), LEFT, WIDTH - RIGHT);
  // Models are often close together, so the axis need not start at 0.
  const least = Math.min(Math.max(Math.min(...points.map(({ low }) => low)) - 0.05, 0), 0.9);
  const up = linear(Math.floor(least * 10) / 10, 1, bottom, top);
  const words = points.map(({ model, taken, mean }) => `${modelText(model)}: ${usdText(taken)} per trial, pass rate ${scoreText(mean)}`);
  const marks = points.flatMap(({ index, taken, mean, low, high }, i) => {
    const x = across.at(taken);
    return [svg("g", { class: modelClass(index) }, stroke("whisker", x, up.at(low), x, up.at(high))), marker(index, x, up.at(mean), words[i])];
  });
  return figure("Cost vs. pass rate", [...verticalAxis(up, "pass rate"), ...horizontalAxis(across, top, bottom, "mean cost per trial (USD)"), ...marks], {
    height: bottom + 36,
    words: words.join("; "),
    header: ["Model", "Cost per trial", "Pass rate"],
    numbers: points.map(({ model, taken, mean }) => [modelText(model), usdText(taken), scoreText(mean)]),
    below: [legend(points)],
  });
}

// ---- failures ----

/** Failed trials by category, and errors by kind, each with a bar per model. @param {ModelRows[]} models */
function failuresPlot(models) {
  const found = models.flatMap((each) => {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const row of each.rows) for (const trial of row.trials) counts.set(causeOf(trial), (counts.get(causeOf(trial)) ?? 0) + 1);
    counts.delete("");
    return counts.size ? [{ ...each, causes: [...counts.keys()], count: (/** @type {string} */ cause) => counts.get(cause) ?? 0 }] : [];
  });
  const total = (/** @type {string} */ cause) => sum(found.map(({ count }) => count(cause)));
  const causes = [...new Set(found.flatMap((each) => each.causes))].sort((a, b) => total(b) - total(a)).slice(0, 16);
  if (!causes.length) return null;
  const [bar, head] = [11, 18];
  const step = head + bar * found.length + 6;
  const bottom = 6 + step * causes.length;
  const scale = upward(causes.flatMap((cause) => found.map(({ count }) => count(cause))), EDGE + 12, WIDTH - 40);
  const whole = { ...scale, ticks: scale.ticks.filter(Number.isInteger) };
  const shapes = causes.flatMap((cause, row) => {
    const y = 6 + step * row;
    const bars = found.flatMap(({ index, model, count }, i) => {
      const middle = y + head + bar * (i + 0.5);
      const trials = count(cause);
      const end = scale.at(trials);
      const note = svg("title", {}, `${modelText(model)}, ${cause}: ${plural(trials, "trial")}`);
      const drawn = svg("rect", { class: "bar", x: scale.start, y: middle - 4, width: end - scale.start, height: 8 }, note);
      return [svg("g", { class: modelClass(index) }, drawn), marker(index, EDGE + 4, middle, "", 3), caption(end + 4, middle + 4, String(trials), "start", "tick")];
    });
    return [caption(EDGE, y + 11, shortened(cause.replace(/_/g, " "), 60)), ...bars];
  });
  return figure("Failures by category", [...horizontalAxis(whole, 4, bottom, "trials"), ...shapes], {
    height: bottom + 36,
    words: causes.map((cause) => `${cause}: ${found.map(({ model, count }) => `${count(cause)} ${modelText(model)}`).join(", ")}`).join("; "),
    header: ["Category", ...found.map(({ model }) => modelText(model))],
    numbers: causes.map((cause) => [cause, ...found.map(({ count }) => countText(count(cause)))]),
    below: [legend(found)],
  });
}

// ---- trends ----

/**
 * A line per model over its runs, oldest first, also where other models ran between them. Partial runs are
 * markers off the line, as they cannot be compared with whole ones. A dashed line marks a change of the suite, the
 * case or the scoring rules.
 * @param {Trend} trend
 * @param {string[]} first models in the order of their colours
 * @param {number} width
 * @param {string} level the element of the heading
 */
export function trendPlot({ suite, case: name, points }, first = [], width = WIDTH, level = "h3") {
  const runs = [...Map.groupBy(points, ({ id }) => id).values()];
  const models = [...new Set([...first, ...points.map(({ model }) => model)])];
  const lines = models.flatMap((model, index) => {
    const own = runs.map((found) => found.find((point) => point.model === model));
    const rates = (/** @type {boolean} */ isPart) => own.map((point) => (point?.is_part === isPart ? point.pass_rate : null));
    return own.some(Boolean) ? [{ index, model, values: rates(false), parts: rates(true) }] : [];
  });
  const hasParts = lines.some((line) => line.parts.some(isKnown));
  if (!hasParts && !lines.some((line) => line.values.some(isKnown))) return null;
  const [top, bottom] = [26, 196];
  const up = linear(0, 1, bottom, top);
  const [left, right] = [LEFT + 6, width - RIGHT - 6];
  const across = (/** @type {number} */ i) => (runs.length === 1 ? (left + right) / 2 : left + (i * (right - left)) / (runs.length - 1));
  const last = runs.length - 1;
  // A narrow plot has no room for a third date.
  const dates = [...new Set(last > 1 && width >= WIDTH ? [0, last >> 1, last] : [0, last])].map((i) => {
    const side = runs.length === 1 ? "middle" : i === 0 ? "start" : i === last ? "end" : "middle";
    return caption(across(i), bottom + 14, dayText(runs.map(([{ started }]) => started), i), side, "tick");
  });
  const hasOtherRules = (/** @type {number} */ i) => i > 0 && runs[i][0].scoring_version !== runs[i - 1][0].scoring_version;
  const isChanged = (/** @type {number} */ i) => i > 0 && runs[i][0].fingerprint && runs[i - 1][0].fingerprint && runs[i][0].fingerprint !== runs[i - 1][0].fingerprint;
  const changes = runs.flatMap((_, i) => (isChanged(i) || hasOtherRules(i) ? [stroke("changed", across(i - 0.5), top, across(i - 0.5), bottom)] : []));
  const runText = (/** @type {number} */ i) => `${momentText(runs[i][0].started)} ${(runs[i][0].git?.commit ?? "").slice(0, 10)}`.trim();
  const drawn = lines.flatMap(({ index, model, values, parts }) => {
    const known = (/** @type {number} */ i) => isKnown(values[i]);
    const points = values.flatMap((value, i) => (isKnown(value) ? [`${across(i).toFixed(1)} ${up.at(value).toFixed(1)}`] : []));
    const path = points.map((point, i) => `${i ? "L" : "M"}${point}`).join("");
    // A marker at each value unless there are too many; isolated values are always marked, as they have no line.
    const marks = values.flatMap((value, i) => {
      const isMarked = isKnown(value) && (runs.length <= 40 || i === last || !(known(i - 1) || known(i + 1)));
      return isMarked ? [marker(index, across(i), up.at(value), `${modelText(model)}: ${scoreText(value)}, ${runText(i)}`)] : [];
    });
    const beside = parts.flatMap((value, i) => {
      if (!isKnown(value)) return [];
      const made = marker(index, across(i), up.at(value), `${modelText(model)}: ${scoreText(value)} in a partial run, ${runText(i)}`, 3.5);
      made.classList.add("part");
      return [made];
    });
    return [svg("g", { class: modelClass(index) }, svg("path", { class: "line", d: path || "M0 0" })), ...beside, ...marks];
  });
  const ends = lines.map((line) => {
    const found = line.values.filter(isKnown);
    return { ...line, about: found.length > 1 ? `first ${scoreText(found[0])} … last ${scoreText(found[found.length - 1])}` : "" };
  });
  return figure(name === null ? suite : `${suite} :: ${name}`, [...verticalAxis(up, "pass rate", width - RIGHT), ...changes, ...dates, ...drawn], {
    height: bottom + 24,
    width,
    level,
    words: `${plural(runs.length, "run")}, oldest first. ${ends.map(({ model, about }) => `${modelText(model)}: ${about}`).join("; ")}`,
    header: ["Run", ...lines.map(({ model }) => modelText(model))],
    numbers: runs.map((_, i) => [runText(i), ...lines.map(({ values, parts }) => (isKnown(parts[i]) ? `${scoreText(parts[i])} (partial)` : scoreText(values[i])))]),
    below: [legend(ends), hasParts && el("p", { class: "muted" }, "Hollow markers are partial runs: some cases were not selected or had no answer. The line skips them."), changes.length > 0 && el("p", { class: "muted" }, runs.some((_, i) => hasOtherRules(i)) ? "┆ the suite, the case or the scoring rules changed" : "┆ the suite or case changed")],
  });
}

/** The day of a run, with the time if several runs are on that day. @param {string[]} starts @param {number} i */
function dayText(starts, i) {
  const days = starts.map((started) => momentText(started, { dateStyle: "medium" }));
  if (days.indexOf(days[i]) === days.lastIndexOf(days[i])) return days[i];
  // Without the year, so that two fit on a narrow screen.
  return momentText(starts[i], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** The history of a run's suites, a plot for each that has run before. @param {Trend[]} trends @param {string[]} first models in the order of their colours */
export function trendsSection(trends, first) {
  const known = trends.filter(({ points }) => points.some(({ id }) => id !== points[0].id));
  const plots = known.map((trend) => trendPlot({ ...trend, suite: shortened(trend.suite, 60) }, first)).filter((plot) => plot !== null);
  return plots.length ? section("trends", "Trends", el("div", { class: "plots" }, ...plots)) : null;
}
