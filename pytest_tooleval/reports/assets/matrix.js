// @ts-check
// The matrix: a row per case, a column per model. Rows are made when they come into sight.

const CHUNK = 40;

/**
 * What a cell shows: the score, or the outcome when there is none, and what else one must know.
 * @param {Cell} cell
 * @returns {[string, string]}
 */
function cellTexts(cell) {
  const value = isKnown(cell.overall) && cell.scored > 0 ? scoreText(cell.overall) : cell.outcome;
  if (cell.below) return [value, shown(cell.below)];
  return [value, cell.trials > 1 && cell.scored ? `${cell.passes}/${cell.scored}` : ""];
}

/**
 * The same in words, for those who do not see the table.
 * @param {Cell} cell
 * @param {string} model
 */
function cellWords(cell, model) {
  const [value, more] = cellTexts(cell);
  const outcome = value === cell.outcome ? "" : `${cell.outcome} `;
  const meaning = cell.below ? "too low" : "trials passed";
  return `${shown(model)}: ${outcome}${value}${more && ` ${more} ${meaning}`}`;
}

/**
 * @param {Cell | null} cell
 * @param {string} model
 * @param {() => void} open
 */
function renderCell(cell, model, open) {
  if (cell === null) return el("td", { class: "cell" }, el("span", { class: "none", title: "not run" }, UNKNOWN));
  const mark = MARKS[/** @type {keyof typeof MARKS} */ (cell.outcome)] || "?";
  const [value, more] = cellTexts(cell);
  const made = button("", open, {
    class: `outcome-${cell.outcome}`,
    tabindex: -1,
    "aria-label": cellWords(cell, model),
    title: shown(cell.reason) || null,
  });
  made.append(
    el("span", { class: "mark", "aria-hidden": "true" }, mark),
    el("span", { class: "value" }, value),
    " ",
    more ? el("small", {}, more) : "",
  );
  return el("td", { class: "cell" }, made);
}

class Matrix {
  /**
   * @param {Index} index
   * @param {HTMLElement} place
   * @param {(changes: Partial<State>, push?: boolean) => void} change
   */
  constructor(index, place, change) {
    this.index = index;
    this.names = namesOf(index);
    this.texts = index.cases.map(searchText);
    this.change = change;
    /** @type {number[]} */
    this.view = [];
    this.drawn = 0;
    /** @type {number[]} */
    this.columns = [];
    /** @type {Map<number, HTMLElement>} */
    this.rows = new Map();
    this.head = el("thead");
    this.body = el("tbody");
    this.status = el("p", { class: "status", role: "status" });
    this.end = el("div", { class: "end" });
    this.table = el("table", { class: "matrix" }, this.head, this.body);
    this.scroller = el(
      "div",
      { class: "scrolling tall", role: "region", "aria-label": "Cases by model; arrow keys move between the results" },
      this.table,
      this.end,
    );
    this.tools = new Toolbar(index, this.names, change);
    place.append(this.tools.node, this.status, this.scroller);
    this.body.addEventListener("keydown", (event) => this.move(event));
    new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) this.drawMore();
      },
      { root: this.scroller, rootMargin: "400px" },
    ).observe(this.end);
    window.addEventListener("beforeprint", () => this.drawMore(this.view.length));
  }

  /** @param {State} state */
  show(state) {
    const chosen = this.names.models.indexOf(state.model);
    const columns = chosen < 0 ? this.index.models.map((_, i) => i) : [chosen];
    if (columns.join() !== this.columns.join()) this.rows.clear();
    this.columns = columns;
    this.view = chosenCases(this.index, this.names, this.texts, state);
    this.drawHead(state.sort);
    this.drawn = 0;
    this.body.replaceChildren();
    this.scroller.scrollTop = 0;
    this.drawMore();
    this.tools.show(state);
    this.tell();
  }

  tell() {
    const all = this.index.cases.length;
    const words = `${this.view.length.toLocaleString("en")} of ${all.toLocaleString("en")} cases`;
    this.status.replaceChildren(this.view.length ? words : `No case matches; ${all.toLocaleString("en")} are hidden.`);
  }

  /** @param {string} sort */
  drawHead(sort) {
    const names = this.columns.map((i) => this.sortHeader(`model:${this.names.models[i]}`, sort, this.index.models[i]));
    this.head.replaceChildren(el("tr", {}, this.sortHeader("name", sort, "Case"), ...names));
    const count = this.columns.length;
    this.table.style.setProperty("--models", String(count));
    this.table.style.setProperty("--column", count <= 3 ? "9.5rem" : count <= 6 ? "7.5rem" : "5.5rem");
  }

  /**
   * @param {string} key
   * @param {string} sort
   * @param {string} label
   */
  sortHeader(key, sort, label) {
    const up = sort === key;
    const down = sort === `-${key}`;
    const next = up ? `-${key}` : down ? "suite" : key;
    const text = shown(label) || "no model named";
    const made = button("", () => this.change({ sort: next }), { title: `${text}: sort` });
    made.append(el("bdi", {}, text), el("span", { class: "arrow", "aria-hidden": "true" }, up ? " ▲" : down ? " ▼" : ""));
    return el("th", { scope: "col", "aria-sort": up ? "ascending" : down ? "descending" : null }, made);
  }

  drawMore(count = CHUNK) {
    const next = this.view.slice(this.drawn, this.drawn + count);
    this.body.append(...next.map((i) => this.row(i)));
    if (this.drawn === 0 && next.length) this.makeReachable(this.body.querySelector(".cell button"));
    this.drawn += next.length;
    this.end.hidden = this.drawn >= this.view.length;
  }

  /** @param {number} i */
  row(i) {
    const made = this.rows.get(i);
    if (made) return made;
    const each = this.index.cases[i];
    const cells = this.columns.map((model) =>
      renderCell(each.cells[model], this.index.models[model], () =>
        this.change({ open: this.names.cases[i], on: this.names.models[model], trial: 0 }, true),
      ),
    );
    const suite = this.index.suites.length > 1 ? this.names.suiteLabels[each.suite] : "";
    const about = [suite, each.prompt].filter(Boolean).join(" · ");
    const name = el("bdi", { class: "id" }, shown(each.id) || "(no name)");
    const row = el(
      "tr",
      { "data-case": i },
      el("th", { scope: "row" }, name, el("span", { class: "about", dir: "auto" }, shown(about.slice(0, 200)))),
      ...cells,
    );
    this.rows.set(i, row);
    return row;
  }

  /** Of all cells one can be reached by Tab; arrow keys go on from there. @param {Element | null} cell */
  makeReachable(cell) {
    for (const other of this.body.querySelectorAll('.cell button[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    if (cell) cell.setAttribute("tabindex", "0");
  }

  /** @param {KeyboardEvent} event */
  move(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    const cell = event.target instanceof Element ? event.target.closest("td") : null;
    if (!step || !cell || !(cell.parentElement instanceof HTMLTableRowElement)) return;
    event.preventDefault();
    const row = [...this.body.children].indexOf(cell.parentElement) + step[0];
    if (row >= this.drawn) this.drawMore();
    const target = this.body.children[row];
    const next = target && target.children[cell.cellIndex + step[1]];
    const found = next && next.querySelector("button");
    if (found) {
      this.makeReachable(found);
      found.focus();
    }
  }

  /** Mark the row of the case that is open, and bring it into view within the table. @param {number} i */
  markOpen(i) {
    for (const row of this.body.querySelectorAll("tr.open")) row.classList.remove("open");
    const at = this.view.indexOf(i);
    if (at < 0) return;
    if (at >= this.drawn) this.drawMore(at + CHUNK - this.drawn);
    const row = this.row(i);
    row.classList.add("open");
    const top = row.offsetTop - this.head.offsetHeight;
    const bottom = row.offsetTop + row.offsetHeight - this.scroller.clientHeight;
    if (this.scroller.scrollTop > top) this.scroller.scrollTop = top;
    if (this.scroller.scrollTop < bottom) this.scroller.scrollTop = bottom;
  }

  /** @param {number} i @param {number} model */
  focusCell(i, model) {
    const row = this.rows.get(i);
    const cell = row && row.isConnected ? row.children[this.columns.indexOf(model) + 1] : null;
    const found = cell && cell.querySelector("button");
    if (found) {
      this.makeReachable(found);
      found.focus();
    }
  }
}
