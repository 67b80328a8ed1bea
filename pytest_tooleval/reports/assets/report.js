// @ts-check
// The page of a report: the panel with the details of a case, the switch of colours, and the start.

/**
 * @typedef {{nodeid: string, suite: string, case: string, outcome: string, reason: string,
 *   thresholds: Record<string, number>, weight?: number, tags: string[], tool_choice?: string,
 *   file: string, line: number, pass_rule?: string, trials: Trial[]}} Row
 */

const WIDE = "(min-width: 1100px)";

// ---- the details of a case ----

/**
 * The data of a JSON script element.
 * @param {string} id
 */
function embedded(id) {
  const element = document.getElementById(id);
  return element === null ? null : JSON.parse(element.textContent || "null");
}

/**
 * A case's rows by model, with the shared prompts and comparisons put back in their places.
 * @param {number} i
 * @returns {Record<string, Row>}
 */
function caseDetails(i) {
  const block = embedded(`case-${i}`);
  for (const row of Object.values(block.rows)) {
    for (const trial of row.trials) {
      for (const score of Object.values(trial.scores)) {
        score.checks = score.checks.map((/** @type {number} */ place) => block.checks[place]);
      }
      if (trial.transcript) trial.transcript.prompt = block.prompts[trial.transcript.prompt];
    }
  }
  return block.rows;
}

class Panel {
  /**
   * @param {Matrix} matrix
   * @param {(changes: Partial<State>, push?: boolean) => void} change
   */
  constructor(matrix, change) {
    this.matrix = matrix;
    this.change = change;
    this.shown = "";
    this.case = -1;
    this.model = -1;
    this.node = el("aside", { class: "panel", "aria-labelledby": "panel-title", hidden: "" });
    document.body.append(this.node);
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.node.hidden || event.altKey || event.ctrlKey || event.metaKey) return;
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape") this.close();
    else if (!typing && event.key === "j") this.step(1);
    else if (!typing && event.key === "k") this.step(-1);
  }

  close() {
    this.change({ open: "", on: "", trial: 0 });
    this.matrix.focusCell(this.case, this.model);
  }

  /** To the next or previous case of the matrix as it is filtered and sorted. @param {number} step */
  step(step) {
    const { view, names } = this.matrix;
    const next = view[view.indexOf(this.case) + step];
    if (next !== undefined) this.change({ open: names.cases[next], trial: 0 });
  }

  /** @param {State} state */
  show(state) {
    const { names, index } = this.matrix;
    const found = names.cases.indexOf(state.open);
    const wanted = found < 0 ? "" : [state.open, state.on, state.trial].join("\n");
    if (wanted === this.shown) return;
    const opened = this.case !== found || this.node.hidden;
    this.shown = wanted;
    this.node.hidden = found < 0;
    document.body.classList.toggle("with-panel", found >= 0);
    this.matrix.markOpen(found);
    if (found < 0) return this.keepBehind(false);
    const cells = index.cases[found].cells;
    const asked = names.models.indexOf(state.on);
    const model = asked >= 0 && cells[asked] ? asked : cells.findIndex(Boolean);
    this.case = found;
    this.model = model;
    const rows = caseDetails(found);
    const row = rows[model];
    const number = state.trial || firstOfInterest(row.trials);
    this.node.replaceChildren(...this.head(row), ...this.body(row, rows, number));
    if (opened) {
      this.node.scrollTop = 0;
      const title = this.node.querySelector("h2");
      if (title) title.focus({ preventScroll: true });
    }
    this.keepBehind(!window.matchMedia(WIDE).matches);
  }

  /** On a narrow screen the panel covers the page, which then must not be reached by the keyboard. @param {boolean} covered */
  keepBehind(covered) {
    for (const part of document.querySelectorAll("body > header, body > main, body > footer")) {
      part.toggleAttribute("inert", covered);
    }
  }

  /** @param {Row} row */
  head(row) {
    const { view } = this.matrix;
    const at = view.indexOf(this.case);
    const previous = button("‹ Previous", () => this.step(-1), { title: "Previous case (k)" });
    const next = button("Next ›", () => this.step(1), { title: "Next case (j)" });
    previous.toggleAttribute("disabled", at <= 0);
    next.toggleAttribute("disabled", at < 0 || at === view.length - 1);
    const close = button("Close", () => this.close(), { title: "Close (Escape)", class: "close" });
    const where = row.file ? `${row.file}${row.line ? `:${row.line}` : ""}` : "";
    return [
      el("div", { class: "row" }, previous, next, close),
      el("h2", { id: "panel-title", tabindex: -1 }, el("bdi", {}, shown(row.case) || "(no name)")),
      el("p", { class: "muted" }, el("bdi", {}, shown(row.suite)), where && " · ", el("bdi", {}, shown(where))),
    ];
  }

  /**
   * @param {Row} row
   * @param {Record<string, Row>} rows
   * @param {number} number of the trial, from 1
   */
  body(row, rows, number) {
    const trial = row.trials[number - 1] || row.trials[0];
    return [
      this.modelTabs(rows),
      el("p", { class: "reason" }, outcomeText(row.outcome), row.reason ? ": " : "", shownNodes(row.reason)),
      this.rules(row),
      row.trials.length > 1 ? this.trialTabs(row, number) : null,
      trial ? renderTrial(trial, row.thresholds) : el("p", { class: "muted" }, "The case was not asked."),
    ].filter((node) => node !== null);
  }

  /** @param {Record<string, Row>} rows */
  modelTabs(rows) {
    const { names, index } = this.matrix;
    const tabs = Object.keys(rows).map((key) => {
      const i = Number(key);
      const cell = index.cases[this.case].cells[i];
      const made = button("", () => this.change({ on: names.models[i], trial: 0 }), {
        "aria-pressed": String(i === this.model),
        title: cell ? cellWords(cell, index.models[i]) : null,
      });
      made.append(outcomeText(rows[key].outcome, scoreText(cell && cell.overall)), " ", el("bdi", {}, shown(index.models[i]) || "no model named"));
      return made;
    });
    return el("div", { class: "tabs", role: "group", "aria-label": "Model" }, ...tabs);
  }

  /** @param {Row} row @param {number} number */
  trialTabs(row, number) {
    const tabs = row.trials.map((trial, i) => {
      const outcome = trial.error ? "error" : trial.passed ? "passed" : "failed";
      const made = button("", () => this.change({ trial: i + 1 }), {
        "aria-pressed": String(i + 1 === number),
        "aria-label": `Trial ${i + 1}, ${outcome}`,
      });
      made.append(outcomeText(outcome, String(i + 1)));
      return made;
    });
    return el("div", { class: "tabs trials", role: "group", "aria-label": "Trial" }, "Trial ", ...tabs);
  }

  /** @param {Row} row */
  rules(row) {
    const rules = [
      row.trials.length > 1 && row.pass_rule && `passes by ${row.pass_rule}`,
      row.weight !== undefined && row.weight !== 1 && `weight ${row.weight}`,
      row.tool_choice && `tool_choice ${row.tool_choice}`,
    ].filter(Boolean);
    const tags = row.tags.map((tag) => el("span", { class: "tag" }, shown(tag)));
    return el("p", { class: "rules muted" }, ...tags, shown(rules.join(" · ")));
  }
}

/**
 * The first trial that did not pass, from 1; the first of all when every one passed.
 * @param {Trial[]} trials
 */
function firstOfInterest(trials) {
  return trials.findIndex((trial) => !trial.passed) + 1 || 1;
}

// ---- colours ----

const THEMES = ["auto", "light", "dark"];

/** A switch between the system's colours, light and dark; the choice is kept where that is allowed. */
function themeSwitch() {
  const made = button("", () => use(THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]), { class: "theme" });
  let current = "auto";
  /** @param {string} theme */
  const use = (theme) => {
    current = THEMES.includes(theme) ? theme : "auto";
    document.documentElement.dataset.theme = current;
    made.textContent = `Colours: ${current}`;
    try {
      localStorage.setItem("tooleval-theme", current);
    } catch {
      // A browser may forbid storage for files; the choice then lasts as long as the page.
    }
  };
  let kept = null;
  try {
    kept = localStorage.getItem("tooleval-theme");
  } catch {
    // As above.
  }
  use(kept || "auto");
  return made;
}

// ---- the page ----

function start() {
  const index = /** @type {Index | null} */ (embedded("index"));
  const top = document.querySelector(".top");
  if (top) top.append(themeSwitch());
  for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", jump);
  const place = document.getElementById("matrix");
  if (index === null || place === null) return;
  let state = readState(location.hash);
  /** @type {Matrix} */
  let matrix;
  /** @type {Panel} */
  let panel;
  let waiting = false;

  /** @param {Partial<State>} changes @param {boolean} push whether Back should undo it */
  const change = (changes, push = false) => {
    const chosen = Object.keys(changes).some((key) => !["open", "on", "trial"].includes(key));
    state = { ...state, ...changes };
    history[push ? "pushState" : "replaceState"](null, "", writeState(state));
    if (chosen) later();
    panel.show(state);
  };
  // Keystrokes that come faster than the screen is drawn are handled together.
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      matrix.show(state);
      matrix.markOpen(matrix.names.cases.indexOf(state.open));
    });
  };
  matrix = new Matrix(index, place, change);
  panel = new Panel(matrix, change);
  matrix.show(state);
  panel.show(state);
  window.addEventListener("popstate", () => {
    state = readState(location.hash);
    matrix.show(state);
    panel.show(state);
  });
}

/** Go to a section without losing the state that the address holds. @param {Event} event */
function jump(event) {
  const link = event.currentTarget;
  const target = link instanceof HTMLAnchorElement && document.getElementById(link.hash.slice(1));
  if (!target) return;
  event.preventDefault();
  target.scrollIntoView();
}

start();
