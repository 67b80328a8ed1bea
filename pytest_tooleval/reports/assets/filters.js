// @ts-check
// Which cases are shown and in which order, and how the address of the page tells it.

/**
 * @typedef {{outcome: string, overall: number | null, passes: number, scored: number, trials: number,
 *   below: string, reason: string, failures: string[], tools: string[]}} Cell
 * @typedef {{id: string, suite: number, tags: string[], prompt: string, cells: (Cell | null)[]}} Case
 * @typedef {{models: string[], suites: {name: string, file: string}[], cases: Case[]}} Index
 * @typedef {{query: string, outcomes: string[], model: string, suite: string, tag: string,
 *   failure: string, sort: string, open: string, on: string, trial: number}} State
 */

const OUTCOMES = ["passed", "failed", "missed", "error", "skipped"];

/** @returns {State} */
function startState() {
  return {
    query: "", outcomes: [], model: "", suite: "", tag: "", failure: "", sort: "suite",
    open: "", on: "", trial: 0,
  };
}

// ---- state in the address, so that a view can be shared ----

/**
 * What an address can hold of a text: lone surrogates become U+FFFD.
 * @param {string} text
 */
function addressable(text) {
  return new URLSearchParams([["t", text]]).get("t") || "";
}

/** @param {string} hash @returns {State} */
function readState(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = startState();
  state.query = given.get("q") || "";
  state.outcomes = (given.get("outcome") || "").split(",").filter((each) => OUTCOMES.includes(each));
  state.model = given.get("model") || "";
  state.suite = given.get("suite") || "";
  state.tag = given.get("tag") || "";
  state.failure = given.get("failure") || "";
  state.sort = given.get("sort") || state.sort;
  state.open = given.get("case") || "";
  state.on = given.get("on") || "";
  state.trial = Math.max(0, Number.parseInt(given.get("trial") || "0", 10) || 0);
  return state;
}

/** @param {State} state */
function writeState(state) {
  const pairs = [
    ["q", state.query],
    ["outcome", state.outcomes.join(",")],
    ["model", state.model],
    ["suite", state.suite],
    ["tag", state.tag],
    ["failure", state.failure],
    ["sort", state.sort === "suite" ? "" : state.sort],
    ["case", state.open],
    ["on", state.open && state.on],
    ["trial", state.open && state.trial ? String(state.trial) : ""],
  ];
  return "#" + new URLSearchParams(pairs.filter(([, value]) => value)).toString();
}

/**
 * A name per entry that an address can hold: the text itself, or its place when that is no good name.
 * @param {string[]} texts
 */
function keysOf(texts) {
  /** @type {Set<string>} */
  const taken = new Set();
  return texts.map((text, i) => {
    const wanted = addressable(text);
    const key = wanted && wanted.length <= 200 && !taken.has(wanted) ? wanted : `@${i + 1}`;
    taken.add(key);
    return key;
  });
}

// ---- choosing and ordering cases ----

/**
 * @param {Index} index
 */
function namesOf(index) {
  const names = index.suites.map((suite) => suite.name);
  const unique = index.suites.map((suite) =>
    names.indexOf(suite.name) === names.lastIndexOf(suite.name) ? suite.name : `${suite.name} (${suite.file})`,
  );
  return {
    suiteLabels: unique,
    suites: keysOf(unique),
    models: keysOf(index.models),
    cases: keysOf(index.cases.map((each) => `${index.suites[each.suite].file || unique[each.suite]}::${each.id}`)),
  };
}

/**
 * All that can be searched of a case, in small letters.
 * @param {Case} each
 */
function searchText(each) {
  const parts = [each.id, each.prompt, ...each.tags];
  for (const cell of each.cells) if (cell) parts.push(cell.reason, ...cell.tools);
  return parts.join("\n").toLowerCase();
}

/**
 * @param {Case} each
 * @param {number} model place of the model chosen, or -1
 */
function cellsShown(each, model) {
  return model < 0 ? each.cells : [each.cells[model]];
}

/**
 * Whether one and the same cell has the outcome and the failure that are asked for.
 * @param {Case} each
 * @param {State} state
 * @param {number} model
 */
function cellMatches(each, state, model) {
  return cellsShown(each, model).some(
    (cell) =>
      cell !== null &&
      (state.outcomes.length === 0 || state.outcomes.includes(cell.outcome)) &&
      (!state.failure || cell.failures.includes(state.failure)),
  );
}

/** @param {(Cell | null)[]} cells */
function worst(cells) {
  return Math.min(...cells.map(rank));
}

/**
 * For sorting: errors first, then by score; what has no score comes last.
 * @param {Cell | null} cell
 */
function rank(cell) {
  if (cell === null || cell.outcome === "skipped") return 3;
  if (cell.outcome === "error") return -1;
  const share = cell.scored ? cell.passes / cell.scored : 0;
  return isKnown(cell.overall) ? cell.overall + share / 1000 : 2;
}

/**
 * How far apart the models are on a case: 0 when they agree.
 * @param {(Cell | null)[]} cells
 */
function disagreement(cells) {
  const found = cells.filter((cell) => cell !== null && cell.scored > 0);
  const overall = found.map((cell) => (cell && cell.overall) || 0);
  const shares = found.map((cell) => (cell ? cell.passes / cell.scored : 0));
  if (found.length < 2) return -1;
  return Math.max(...shares) - Math.min(...shares) + (Math.max(...overall) - Math.min(...overall)) / 10;
}

/**
 * The places of the cases to show, in the order asked for.
 * @param {Index} index
 * @param {ReturnType<typeof namesOf>} names
 * @param {string[]} texts searchable texts
 * @param {State} state
 */
function chosenCases(index, names, texts, state) {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const model = names.models.indexOf(state.model);
  const suite = names.suites.indexOf(state.suite);
  const found = [];
  for (let i = 0; i < index.cases.length; i++) {
    const each = index.cases[i];
    if (suite >= 0 && each.suite !== suite) continue;
    if (state.tag && !each.tags.some((tag) => addressable(tag) === state.tag)) continue;
    if (!words.every((word) => texts[i].includes(word))) continue;
    if (cellMatches(each, state, model)) found.push(i);
  }
  return ordered(found, index, names, state.sort, model);
}

/**
 * @param {number[]} places
 * @param {Index} index
 * @param {ReturnType<typeof namesOf>} names
 * @param {string} sort suite, name, worst, differ, or model: and a model's key; a minus turns it round
 * @param {number} model
 */
function ordered(places, index, names, sort, model) {
  const back = sort.startsWith("-");
  const by = back ? sort.slice(1) : sort;
  const column = by.startsWith("model:") ? names.models.indexOf(by.slice(6)) : -1;
  if (by === "name") {
    const collator = new Intl.Collator("en", { numeric: true });
    places.sort((a, b) => collator.compare(index.cases[a].id, index.cases[b].id) || a - b);
  } else {
    /** @param {Case} each */
    const measure = (each) => {
      if (by === "worst") return worst(cellsShown(each, model));
      if (by === "differ") return -disagreement(each.cells);
      return column >= 0 ? rank(each.cells[column]) : 0;
    };
    const values = new Map(places.map((place) => [place, measure(index.cases[place])]));
    places.sort((a, b) => (values.get(a) || 0) - (values.get(b) || 0) || a - b);
  }
  return back ? places.reverse() : places;
}

// ---- the filters ----

class Toolbar {
  /**
   * @param {Index} index
   * @param {ReturnType<typeof namesOf>} names
   * @param {(changes: Partial<State>) => void} change
   */
  constructor(index, names, change) {
    this.change = change;
    this.query = /** @type {HTMLInputElement} */ (
      el("input", { type: "search", placeholder: "id, prompt, reason, tool", spellcheck: "false" })
    );
    this.query.addEventListener("input", () => change({ query: this.query.value }));
    /** @type {Record<string, HTMLSelectElement>} */
    this.selects = {};
    const cells = index.cases.flatMap((each) => each.cells);
    const failures = new Set(cells.flatMap((cell) => (cell ? cell.failures : [])));
    const tags = [...new Set(index.cases.flatMap((each) => each.tags))];
    const sorts = [["suite", "suite order"], ["name", "name"], ["worst", "worst score first"]];
    if (index.models.length > 1) sorts.push(["differ", "most disagreement first"]);
    this.outcomes = OUTCOMES.filter((each) => cells.some((cell) => cell && cell.outcome === each));
    const toggles = this.outcomes.map((outcome) => this.toggle(outcome, cells));
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Outcome" }, ...toggles);
    this.node = el(
      "form",
      { class: "toolbar", role: "search" },
      el("label", { class: "query" }, "Search", this.query),
      this.select("model", "Model", "all models", names.models.map((key, i) => [key, index.models[i] || "no model named"])),
      this.select("suite", "Suite", "all suites", names.suites.map((key, i) => [key, names.suiteLabels[i]])),
      this.select("tag", "Tag", "any tag", tags.map((tag) => [addressable(tag), tag])),
      this.select("failure", "Failure", "any", [...failures].map((each) => [each, each.replace(/_/g, " ")])),
      this.select("sort", "Sort by", "", sorts),
      el("div", { class: "row" }, this.chips, button("Clear", () => change(cleared()), { class: "clear" })),
    );
    this.node.addEventListener("submit", (event) => event.preventDefault());
  }

  /**
   * @param {string} outcome
   * @param {(Cell | null)[]} cells
   */
  toggle(outcome, cells) {
    const count = cells.filter((cell) => cell && cell.outcome === outcome).length;
    const made = button("", () => {
      const pressed = made.getAttribute("aria-pressed") === "true";
      made.setAttribute("aria-pressed", String(!pressed));
      this.change({ outcomes: this.outcomes.filter((_, i) => this.chips.children[i].getAttribute("aria-pressed") === "true") });
    }, { "aria-pressed": "false", class: "chip" });
    made.append(outcomeText(outcome), ` ${count.toLocaleString("en")}`);
    return made;
  }

  /**
   * A list to choose from; null when there is no choice.
   * @param {keyof State} field
   * @param {string} label
   * @param {string} all what the empty choice is called; none without it
   * @param {string[][]} choices pairs of value and text
   */
  select(field, label, all, choices) {
    if (choices.length < (all && field !== "tag" && field !== "failure" ? 2 : 1)) return null;
    const options = [...(all ? [["", all]] : []), ...choices];
    const made = /** @type {HTMLSelectElement} */ (
      el("select", {}, ...options.map(([value, text]) => el("option", { value }, shown(text).slice(0, 100))))
    );
    made.addEventListener("change", () => this.change({ [field]: made.value }));
    this.selects[field] = made;
    return el("label", {}, label, made);
  }

  /** @param {State} state */
  show(state) {
    if (this.query.value !== state.query) this.query.value = state.query;
    for (const [field, select] of Object.entries(this.selects)) {
      const wanted = String(state[/** @type {keyof State} */ (field)]);
      // A column's header sorts in ways that the list does not offer.
      select.value = wanted;
      if (select.selectedIndex < 0) select.value = "";
    }
    this.outcomes.forEach((outcome, i) => {
      this.chips.children[i].setAttribute("aria-pressed", String(state.outcomes.includes(outcome)));
    });
  }
}

/** @returns {Partial<State>} */
function cleared() {
  const { query, outcomes, model, suite, tag, failure, sort } = startState();
  return { query, outcomes, model, suite, tag, failure, sort };
}
