// @ts-check
// The form that starts a run: suites or cases, models and settings. Above it, the running ones.

import { runHash } from "./address.js";
import { call, suitePath } from "./api.js";
import { checkbox, emptyState, errorBox, field, input, pageHead, select, textArea } from "./controls.js";
import { button, capitalized, el, isolated, link, moment, outcomeText, shownNodes } from "./page/dom.js";
import { countText, plural } from "./page/numbers.js";

const KEPT = "tooleval-run-form";
const CHUNK = 200;
const START = "Run eval";

/** @typedef {{name: string, label: string, hint: string, isKept: boolean, control: HTMLInputElement | HTMLSelectElement}} Setting */

/** @param {any[]} options of pytest that the form has @returns {Setting[]} */
function settingsOf(options) {
  return options.map(({ name, help, metavar, default: unset, choices, is_kept }) => {
    const pairs = Object.entries(choices).map(([value, meaning]) => /** @type {[string, string]} */ ([value, meaning ? `${value}: ${meaning}` : value]));
    const control = pairs.length ? select([["", unset ? `not set (${unset})` : "not set"], ...pairs]) : input({ placeholder: unset ?? metavar, spellcheck: "false" });
    return { name, label: capitalized(name).replaceAll("-", " "), hint: help, isKept: is_kept, control };
  });
}

/** @param {import("./main.js").Visit} visit */
export async function show({ place, params, isGone }) {
  place.append(pageHead("Run"));
  const [suites, models, runs, { options }] = await Promise.all([
    call("GET", "/api/suites"),
    call("GET", "/api/models").catch((error) => error),
    call("GET", "/api/runs").catch(() => []),
    call("GET", "/api/project"),
  ]);
  if (isGone()) return;
  const usable = suites.filter((/** @type {any} */ row) => row.problems === 0 && row.cases > 0);
  const running = runs.filter((/** @type {any} */ run) => run.status === "running");
  if (running.length) place.append(runningCard(running));
  if (usable.length === 0) {
    place.append(emptyState("No suite has cases to run.", link("#/suites", "Go to suites", { class: "button main" })));
    return;
  }
  place.append(new Form(usable, models, options, params).node);
}

/** @param {any[]} runs */
function runningCard(runs) {
  const items = runs.map((run) =>
    el("li", {}, link(runHash(run.id), el("bdi", {}, shownNodes(run.models.join(", ")))), ` ${countText(run.done)} of ${plural(run.total, "case")}, started `, moment(run.started)),
  );
  return el("section", { class: "card" }, el("h2", {}, "Running"), el("ul", {}, ...items));
}

class Form {
  /** @param {any[]} suites @param {any} models @param {any[]} options @param {URLSearchParams} params */
  constructor(suites, models, options, params) {
    this.suites = suites;
    const kept = keptChoices();
    const files = params.getAll("file");
    const wanted = files.length ? files : suites.length === 1 ? [suites[0].file] : [];
    const defaults = models instanceof Error ? [] : models.filter((/** @type {any} */ row) => row.is_default).map((/** @type {any} */ row) => row.model);
    const wantedModels = [params.getAll("model"), kept.models, defaults].find((names) => names.length) ?? [];
    /** @type {Set<string>} */
    this.files = new Set(suites.map((row) => row.file).filter((file) => wanted.includes(file)));
    /** @type {Set<string>} */
    this.models = new Set();
    const wantedCases = files.length === 1 && this.files.size === 1 ? params.getAll("case") : [];
    this.cases = new CaseChoice(() => this.count(), wantedCases);
    this.summary = el("p", { class: "muted", role: "status" });
    this.messages = el("div", {});
    this.others = textArea({ rows: 1, spellcheck: "false", placeholder: "one name per line" });
    this.keyword = input({ placeholder: "all cases", spellcheck: "false" });
    this.settings = settingsOf(options);
    // A link that names models names all settings.
    const chosen = params.has("model") ? Object.fromEntries(params) : kept.settings;
    for (const { name, control } of this.settings) control.value = chosen[name] ?? "";
    this.estimated = el("div", { role: "status" });
    this.estimating = /** @type {HTMLButtonElement} */ (button("Estimate cost", () => void this.estimate()));
    this.start = /** @type {HTMLButtonElement} */ (el("button", { type: "submit", class: "main" }, START));
    this.node = el(
      "form",
      { class: "run-form" },
      el("fieldset", { class: "card" }, el("legend", {}, "Suites"), this.suiteList(), this.cases.node),
      el("fieldset", { class: "card" }, el("legend", {}, "Models"), this.modelList(models, wantedModels), field("Other models", this.others, { hint: "Any name that litellm knows, such as openai/gpt-4o-mini." })),
      el(
        "fieldset",
        { class: "card form" },
        el("legend", {}, "Settings"),
        ...this.settings.map(({ label, control, hint }) => field(label, control, { hint })),
        field("Only cases that match (-k)", this.keyword, { hint: "For example: smoke and not slow" }),
      ),
      this.messages,
      this.estimated,
      el("div", { class: "row" }, this.start, this.estimating, this.summary),
    );
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.send();
    });
    this.node.addEventListener("input", () => this.count());
    this.count();
    void this.chosenSuites();
  }

  suiteList() {
    const rows = this.suites.map((row) => {
      const label = el("span", {}, el("bdi", {}, shownNodes(row.name)), el("small", {}, ` ${plural(row.cases, "case")} · `, el("bdi", {}, shownNodes(row.file))));
      const made = checkbox(label, this.files.has(row.file), (checked) => {
        if (checked) this.files.add(row.file);
        else this.files.delete(row.file);
        void this.chosenSuites();
      });
      made.box.dataset.file = row.file;
      return el("li", {}, made.node);
    });
    return el("ul", { class: "choices" }, ...rows);
  }

  /** @param {any} models @param {string[]} wanted */
  modelList(models, wanted) {
    if (models instanceof Error) return errorBox(models, "Could not list the configured models");
    const known = models.map((/** @type {any} */ row) => row.model);
    this.others.value = wanted.filter((name) => !known.includes(name)).join("\n");
    const rows = models.map((/** @type {any} */ row) => {
      if (wanted.includes(row.model)) this.models.add(row.model);
      const about = row.problem ? outcomeText("warning", row.problem) : row.identity && row.identity !== row.model ? isolated(row.identity) : "";
      const label = el("span", {}, el("bdi", {}, shownNodes(row.model)), " ", el("small", {}, about));
      const made = checkbox(label, this.models.has(row.model), (checked) => {
        if (checked) this.models.add(row.model);
        else this.models.delete(row.model);
        this.count();
      });
      return el("li", {}, made.node);
    });
    return el("ul", { class: "choices" }, ...rows);
  }

  async chosenSuites() {
    const [file] = this.files;
    await this.cases.show(this.files.size === 1 ? file : "");
    this.count();
  }

  allModels() {
    const others = this.others.value.split("\n").map((each) => each.trim()).filter(Boolean);
    return [...new Set([...this.models, ...others])];
  }

  count() {
    const chosen = this.suites.filter((row) => this.files.has(row.file));
    const cases = this.cases.chosen()?.length ?? chosen.reduce((sum, row) => sum + row.cases, 0);
    const models = this.allModels().length;
    const words = !chosen.length ? "Choose a suite." : !models ? "Choose a model." : `${plural(cases, "case")} on ${plural(models, "model")}`;
    this.summary.textContent = words;
    this.start.disabled = this.estimating.disabled = !chosen.length || !models || cases === 0;
    this.estimated.replaceChildren();
  }

  body() {
    const cases = this.cases.chosen();
    const keyword = this.keyword.value.trim();
    const given = this.settings.map(({ name, control }) => [name, control.value.trim()]).filter(([, text]) => text);
    return { files: [...this.files], models: this.allModels(), ...(cases && { cases }), ...(keyword && { keyword }), options: Object.fromEntries(given) };
  }

  /** The requests and cost of the run, as --tooleval-estimate prints them. */
  async estimate() {
    this.estimating.disabled = true;
    this.estimated.replaceChildren(el("p", { class: "muted" }, "Estimating…"));
    try {
      const { text } = await call("POST", "/api/runs/estimate", { body: this.body() });
      this.estimated.replaceChildren(el("pre", { class: "code text", tabindex: 0 }, text));
    } catch (error) {
      this.estimated.replaceChildren(errorBox(error, "No estimate"));
    }
    this.estimating.disabled = false;
  }

  async send() {
    this.start.disabled = true;
    this.start.textContent = "Starting pytest…";
    const settings = Object.fromEntries(this.settings.filter(({ isKept }) => isKept).map(({ name, control }) => [name, control.value]));
    try {
      const { id } = await call("POST", "/api/runs", { body: this.body() });
      localStorage.setItem(KEPT, JSON.stringify({ models: this.allModels(), settings }));
      location.hash = runHash(id);
    } catch (error) {
      this.messages.replaceChildren(errorBox(error, "The run did not start"));
      this.start.disabled = false;
      this.start.textContent = START;
    }
  }
}

/** The choices of the last run. @returns {{models: string[], settings: Record<string, string>}} */
function keptChoices() {
  return { models: [], settings: {}, ...JSON.parse(localStorage.getItem(KEPT) || "{}") };
}

/** All cases of a suite, or some of them. */
class CaseChoice {
  /** @param {() => void} changed @param {string[]} wanted ids chosen at first; none for all */
  constructor(changed, wanted) {
    this.changed = changed;
    this.wanted = wanted;
    this.file = "";
    /** @type {{id: string, prompt: string}[]} */
    this.cases = [];
    /** @type {Set<string> | null} */
    this.picked = null;
    this.list = el("ul", { class: "choices tall" });
    this.filter = input({ type: "search", placeholder: "Filter cases", "aria-label": "Filter cases" });
    this.filter.addEventListener("input", () => this.draw());
    this.limit = CHUNK;
    this.state = el("small", {});
    const all = button("All", () => this.pick(null));
    const none = button("None", () => this.pick(new Set()));
    this.node = el("details", { class: "case-choice" }, el("summary", {}, "Choose cases ", this.state), el("div", { class: "row" }, this.filter, all, none), this.list);
    this.node.hidden = true;
  }

  /** The chosen ids; null for all. */
  chosen() {
    if (this.picked === null) return null;
    // An address may name cases before the suite's are loaded.
    return this.cases.length ? this.cases.map((each) => each.id).filter((id) => this.picked?.has(id)) : [...this.picked];
  }

  /** @param {Set<string> | null} picked */
  pick(picked) {
    this.picked = picked;
    this.draw();
    this.changed();
  }

  /** @param {string} file of the suite if only one is chosen, else "" */
  async show(file) {
    this.node.hidden = file === "";
    if (file === this.file) return;
    this.file = file;
    this.picked = this.wanted.length ? new Set(this.wanted) : null;
    this.wanted = [];
    this.cases = [];
    if (!file) return;
    const found = await call("GET", suitePath(file)).catch(() => null);
    if (file !== this.file || !found?.suite) return;
    const cases = found.suite.test_cases;
    this.cases = found.cases.map((/** @type {{id: string, place: number}} */ { id, place }) => ({ id, prompt: typeof cases[place]?.prompt === "string" ? cases[place].prompt : "" }));
    this.limit = CHUNK;
    this.draw();
  }

  draw() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.cases.filter(({ id, prompt }) => words.every((word) => `${id} ${prompt}`.toLowerCase().includes(word)));
    const rows = found.slice(0, this.limit).map(({ id, prompt }) => {
      const label = el("span", {}, el("bdi", {}, shownNodes(id)), el("small", {}, " ", el("bdi", {}, shownNodes(prompt.slice(0, 120)))));
      const made = checkbox(label, this.picked === null || this.picked.has(id), (checked) => {
        this.picked ??= new Set(this.cases.map((each) => each.id));
        if (checked) this.picked.add(id);
        else this.picked.delete(id);
        this.label();
        this.changed();
      });
      return el("li", {}, made.node);
    });
    const left = found.length - this.limit;
    const more = button(`Show more (${countText(left)} left)`, () => {
      this.limit += CHUNK;
      this.draw();
    });
    this.list.replaceChildren(...rows, ...(left > 0 ? [el("li", {}, more)] : []));
    this.label();
  }

  label() {
    const chosen = this.chosen();
    this.state.textContent = chosen === null ? `all ${countText(this.cases.length)}` : `${countText(chosen.length)} of ${countText(this.cases.length)}`;
  }
}
