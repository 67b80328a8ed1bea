// @ts-check
// The forms of a suite: settings, tools and cases. Each change edits the text.

import { field, select } from "./controls.js";
import { insertItem, moveItem, pathText, rawOf, removeAt, setRaw, spell } from "./json-text.js";
import { makeField } from "./suite-controls.js";
import { fieldAt, keysAt, heldBy, parametersAt, propertiesOf, toolsAt, valueAt } from "./suite-fields.js";
import { EXPECTATION, EXPECTATIONS, aboutOf, expectationOf, fieldsOf, keysReplaced, takenOver, text, titleOf } from "./suite-cases.js";
import { ItemList } from "./suite-items.js";
import { matchersOf, paramRows } from "./suite-params.js";
import { button, el, fold, outcomeText, shownNodes } from "./page/dom.js";
import { prettyJson } from "./page/json.js";
import { plural } from "./page/numbers.js";

/** @import { Problem } from "./api.js" */
/** @import { Path } from "./json-text.js" */
/** @import { Field, Schema } from "./suite-fields.js" */

const OF_SUITE = ["name", "description"];
const LAST_PART = /(\.[^.[\]]+|\[[^\]]*\])$/;

export class SuiteForms {
  /**
   * @param {{text: string, data: any, syntax: string, problems: Problem[], warnings: Problem[], change: (text: string) => void}} editor
   * @param {Schema} schema of the format
   * @param {HTMLElement} place
   */
  constructor(editor, schema, place) {
    this.schema = schema;
    this.matchers = matchersOf(schema);
    const keys = keysAt(schema, []).filter((key) => key !== "test_cases");
    this.settingKeys = keys.filter((key) => key !== "tools");
    // Long, so the settings stand before them.
    this.order = [...keys, "test_cases"];
    this.editor = editor;
    this.place = place;
    /** @type {Set<HTMLElement>} */
    this.broken = new Set();
    this.tools = new ItemList(this.toolKind(), () => editor.data?.tools);
    this.cases = new ItemList(this.caseKind(), () => editor.data?.test_cases);
    this.tools.changed = this.cases.changed = () => this.showProblems();
    this.settings = el("section", { class: "card form", "aria-label": "The suite" });
    this.moreIsOpen = false;
  }

  draw() {
    this.broken.clear();
    this.cases.states.forEach((state) => delete state.kept);
    const { data, syntax } = this.editor;
    if (data === undefined) {
      this.place.replaceChildren(el("div", { class: "empty" }, el("p", {}, "The form needs a JSON object. Fix the text in the JSON view."), el("p", { class: "muted" }, shownNodes(syntax))));
      return;
    }
    const more = this.details(this.settingKeys.filter((key) => !OF_SUITE.includes(key)), [], this.moreIsOpen);
    more.addEventListener("toggle", () => (this.moreIsOpen = more.open));
    this.settings.replaceChildren(...OF_SUITE.map((key) => this.field([key])), more);
    this.tools.draw();
    this.cases.draw();
    const parts = [this.settings, this.tools.node, this.cases.node];
    if (parts.some((part, i) => this.place.children[i] !== part)) this.place.replaceChildren(...parts);
    this.showProblems();
  }

  // ---- fields ----

  /**
   * The field of a value, by its kind in the schema.
   * @param {Path} path
   * @param {() => void} [written] called after a change
   * @returns {HTMLElement}
   */
  field(path, written = () => {}) {
    const spec = fieldAt(this.schema, path);
    const value = valueAt(this.editor.data, path);
    const parent = path.slice(0, -1);
    if (spec.kind === "calls" && Array.isArray(value?.$any_of)) return this.lists(path, spec, written);
    if (spec.kind === "calls" && [value ?? []].flat().every((each) => typeof each === "object" && each !== null)) return this.calls(path, spec, written);
    if (spec.kind === "mocks") return this.rows(path, spec, null, () => [{ properties: Object.fromEntries(this.toolNames(parent).map((name) => [name, {}])) }]);
    if (spec.kind === "arguments") return this.rows(path, spec, this.matchers, () => parametersAt(this.editor.data, path) ?? []);
    return this.plainField(path, spec, written);
  }

  /** @param {Path} path @param {Field} spec @param {() => void} written @returns {HTMLElement} */
  plainField(path, spec, written) {
    const { editor } = this;
    const parent = path.slice(0, -1);
    const made = makeField(spec, {
      value: valueAt(editor.data, path),
      get raw() {
        return rawOf(editor.text, path);
      },
      unset: this.unset(path, spec),
      tools: () => this.toolNames(parent),
      write: (raw) => {
        this.edit(raw === undefined ? removeAt(editor.text, path) : setRaw(editor.text, path, raw, parent.length ? [] : this.order));
        written();
      },
      broken: (control, isBroken) => this.setBroken(control, isBroken),
    });
    made.dataset.path = pathText(path);
    return made;
  }

  /** What holds where a field is not set: for a case, the suite's value. @param {Path} path @param {Field} spec */
  unset(path, spec) {
    const isOfCase = path[0] === "test_cases" && path.length === 3;
    const value = (isOfCase && this.settingKeys.includes(spec.key) ? this.editor.data[spec.key] : null) ?? spec.unset;
    return ["string", "number"].includes(typeof value) ? String(value) : "";
  }

  /** The tools that a case can expect. @param {Path} path of the case */
  toolNames(path) {
    return [...new Set(toolsAt(this.editor.data, path).map(({ name }) => name).filter(Boolean))];
  }

  /**
   * A fold of fields, with a count of those that are set.
   * @param {string[]} keys
   * @param {Path} parent
   * @param {boolean} isOpen
   */
  details(keys, parent, isOpen = false) {
    const set = keys.filter((key) => valueAt(this.editor.data, [...parent, key]) !== undefined).length;
    const summary = el("summary", {}, "More settings", set > 0 && el("small", {}, ` ${set} set`));
    const fields = keys.map((key) => this.field([...parent, key]));
    return /** @type {HTMLDetailsElement} */ (el("details", { class: "wide", open: isOpen ? "" : null }, summary, el("div", { class: "form" }, ...fields)));
  }

  // ---- expected calls, without JSON ----

  /**
   * A row for each member of an object, and the same as JSON in a fold.
   * @param {Path} path
   * @param {Field} spec
   * @param {import("./suite-params.js").Matchers | null} matchers
   * @param {() => Schema[]} schemas with the members that it may have
   */
  rows(path, spec, matchers, schemas) {
    const { editor } = this;
    const json = el("div", {});
    const drawJson = () => json.replaceChildren(this.plainField(path, { ...spec, kind: "json" }, () => made.draw()));
    const made = paramRows({
      path,
      text: () => editor.text,
      value: () => valueAt(editor.data, path),
      properties: () => propertiesOf(schemas()),
      required: () => schemas().flatMap(({ required }) => required ?? []),
      matchers,
      broken: (control, isBroken) => this.setBroken(control, isBroken),
      write: (name, raw) => {
        let { text } = editor;
        const value = valueAt(editor.data, path) ?? {};
        if (raw === undefined && !Object.hasOwn(value, name)) return;
        if (raw === undefined) text = removeAt(text, Object.keys(value).length === 1 ? path : [...path, name]);
        else text = setRaw(rawOf(text, path)?.startsWith("{") ? text : setRaw(text, path, "{}"), [...path, name], raw);
        this.edit(text);
        drawJson();
      },
    });
    // Other tools have other parameters.
    made.node.classList.add("tool-choice");
    made.node.addEventListener("tools", () => {
      if (!made.node.contains(document.activeElement)) made.draw();
    });
    drawJson();
    return el("fieldset", { class: "field wide" }, el("legend", {}, spec.label), el("small", {}, spec.hint), made.node, fold("As JSON", false, json));
  }

  /** A block for each expected call. @param {Path} path @param {Field} spec @param {() => void} written */
  calls(path, spec, written) {
    const { editor } = this;
    const node = el("fieldset", { class: "field wide", "data-path": pathText(path) });
    const draw = () => {
      const calls = valueAt(editor.data, path) ?? [];
      const blocks = calls.map((/** @type {any} */ _, /** @type {number} */ i) => {
        const remove = button("Remove this call", () => change(removeAt(editor.text, [...path, i])));
        const fields = keysAt(this.schema, [...path, i]).map((key) => this.field([...path, i, key], written));
        return el("li", { class: "card form" }, ...fields, el("div", { class: "row wide" }, remove));
      });
      const add = button("Add a call", () => {
        const call = { tool: this.toolNames(path)[0] ?? "*" };
        change(calls.length ? insertItem(editor.text, path, calls.length, spell(editor.text, call)) : setRaw(editor.text, path, spell(editor.text, [call])));
      });
      const other = path.at(-1) === "expected_calls" && calls.length > 0 && button("Add another right list", () => {
        this.edit(setRaw(editor.text, path, prettyJson(`{"$any_of": [${rawOf(editor.text, path)}, []]}`)));
        written();
        node.replaceWith(this.field(path, written));
        this.showProblems();
      });
      node.replaceChildren(el("legend", {}, spec.label), el("small", {}, spec.hint), el("ol", { class: "items" }, ...blocks), el("div", { class: "row" }, add, other), el("div", { class: "slot" }));
    };
    const change = (/** @type {string} */ text) => {
      this.edit(text);
      written();
      draw();
      this.showProblems();
      node.querySelector("button")?.focus();
    };
    draw();
    return node;
  }

  /** The lists of expected calls of which any is right. @param {Path} path @param {Field} spec @param {() => void} written @returns {HTMLElement} */
  lists(path, spec, written) {
    const { editor } = this;
    const at = [...path, "$any_of"];
    const lists = valueAt(editor.data, at);
    const node = el("fieldset", { class: "field wide", "data-path": pathText(path) });
    const change = (/** @type {string} */ text) => {
      this.edit(text);
      written();
      const drawn = this.field(path, written);
      node.replaceWith(drawn);
      this.showProblems();
      drawn.querySelector("button")?.focus();
    };
    const blocks = lists.map((/** @type {any} */ _, /** @type {number} */ i) => {
      const calls = this.calls([...at, i], { ...spec, label: `List ${i + 1}`, hint: "" }, written);
      const remove = button("Remove this list", () => {
        const left = rawOf(editor.text, [...at, 1 - i]) ?? "[]";
        change(lists.length > 2 ? removeAt(editor.text, [...at, i]) : setRaw(editor.text, path, prettyJson(left)));
      });
      return el("li", { class: "card form" }, calls, el("div", { class: "row wide" }, remove));
    });
    const add = button("Add a list", () => change(insertItem(editor.text, at, lists.length, "[]")));
    node.replaceChildren(el("legend", {}, spec.label), el("small", {}, spec.hint), el("ol", { class: "items" }, ...blocks), el("div", { class: "row" }, add), el("div", { class: "slot" }));
    return node;
  }

  /** @param {string} text */
  edit(text) {
    this.editor.change(text);
    for (const control of this.cases.list.querySelectorAll(".tool-choice")) control.dispatchEvent(new Event("tools"));
  }

  /** @param {HTMLElement} control @param {boolean} isBroken */
  setBroken(control, isBroken) {
    if (isBroken) this.broken.add(control);
    else this.broken.delete(control);
    this.showProblems();
    this.editor.change(this.editor.text);
  }

  hasBroken() {
    return [...this.broken].some((control) => control.isConnected);
  }

  /** Focus a field without its value or with invalid JSON. False if there is none. */
  focusBroken() {
    const control = [...this.broken].find((each) => each.isConnected);
    control?.focus();
    return control !== undefined;
  }

  // ---- messages beside the fields ----

  showProblems() {
    const { problems, warnings } = this.editor;
    const places = this.slots();
    /** @type {Map<Element, number>} */
    const counts = new Map();
    for (const place of places.values()) {
      slotOf(place)?.replaceChildren();
      controlOf(place)?.removeAttribute("aria-invalid");
      place.querySelector(":scope > h3 .badge")?.replaceChildren();
    }
    for (const [list, outcome] of /** @type {[Problem[], string][]} */ ([[problems, "failed"], [warnings, "warning"]])) {
      for (const problem of list) {
        const place = nearest(problem.field, places);
        if (!place) continue;
        const card = place.closest("[data-item]");
        if (card && outcome === "failed") counts.set(card, (counts.get(card) || 0) + 1);
        if (card === place && !place.querySelector(":scope > .item-body:not([hidden])")) continue;
        slotOf(place)?.append(el("p", {}, outcomeText(outcome, ""), shownNodes(problem.message)));
        if (outcome === "failed") controlOf(place)?.setAttribute("aria-invalid", "true");
      }
    }
    for (const [card, count] of counts) {
      card.querySelector(".badge")?.replaceChildren(outcomeText("failed", plural(count, "problem")));
    }
    for (const control of this.broken) {
      const place = control.closest("[data-path]");
      if (!place) continue;
      control.setAttribute("aria-invalid", "true");
      const isEmpty = "value" in control && control.value === "";
      slotOf(place)?.replaceChildren(el("p", {}, outcomeText("failed", isEmpty ? "enter a value" : "invalid JSON; the suite keeps the previous value")));
    }
  }

  /** @returns {Map<string, Element>} */
  slots() {
    const found = /** @type {NodeListOf<HTMLElement>} */ (this.place.querySelectorAll("[data-path]"));
    return new Map([...found].map((each) => [each.dataset.path || "", each]));
  }

  /**
   * Focus the field of a problem, and open its card. False if no form has it.
   * @param {string} name
   */
  focusField(name) {
    const found = /^(tools|test_cases)\[([0-9]+)\]/.exec(name);
    if (this.editor.data === undefined) return false;
    if (found) (found[1] === "tools" ? this.tools : this.cases).reveal(Number(found[2]));
    const place = nearest(name, this.slots());
    if (!place) return false;
    const hidden = place.closest("details:not([open])");
    if (hidden) hidden.toggleAttribute("open", true);
    const control = controlOf(place) || place.querySelector("button");
    control?.scrollIntoView({ block: "center" });
    control?.focus();
    return Boolean(control);
  }

  // ---- tools and cases ----

  /** What both lists do alike. @param {"tools" | "test_cases"} key */
  changes(key) {
    const { editor } = this;
    return {
      canChange: () => !this.focusBroken(),
      move: (/** @type {number} */ from, /** @type {number} */ to) => this.edit(moveItem(editor.text, [key], from, to)),
      remove: (/** @type {number} */ i) => this.edit(removeAt(editor.text, [key, i])),
    };
  }

  /** @param {"tools" | "test_cases"} key @param {unknown} item */
  add(key, item) {
    const { text, data } = this.editor;
    const raw = spell(text, item);
    this.edit(Array.isArray(data[key]) ? insertItem(text, [key], data[key].length, raw) : setRaw(text, [key], spell(text, [item]), this.order));
    const list = key === "tools" ? this.tools : this.cases;
    list.state(list.items.length - 1).isOpen = true;
  }

  /** @returns {import("./suite-items.js").Kind} */
  toolKind() {
    const { editor } = this;
    return {
      ...this.changes("tools"),
      key: "tools",
      one: "tool",
      many: "tools",
      get empty() {
        return editor.data.world ? `The world ${editor.data.world} defines the tools.` : "No tools yet. A tool is a function that the model can call.";
      },
      title: (tool) => text(tool?.[heldBy(tool)]?.name) || "(no name)",
      about: (tool) => text(tool?.[heldBy(tool)]?.description),
      body: (tool, i) => {
        const inside = ["tools", i, heldBy(tool)];
        const paths = [...keysAt(this.schema, inside).map((key) => [...inside, key]), ["tools", i, "namespace"]];
        return paths.map((path) => this.field(path, () => this.tools.refresh(i)));
      },
      add: () => {
        const name = unique("new_tool", this.toolNames([]), "_");
        this.add("tools", { type: "function", function: { name, description: "", parameters: { type: "object", properties: {}, required: [] } } });
      },
      duplicate: (i) => {
        const raw = rawOf(editor.text, ["tools", i]) || "{}";
        const tool = editor.data.tools[i];
        const name = unique(text(tool?.[heldBy(tool)]?.name), this.toolNames([]), "_");
        this.edit(insertItem(editor.text, ["tools"], i + 1, raw));
        this.edit(setRaw(editor.text, ["tools", i + 1, heldBy(tool), "name"], JSON.stringify(name)));
      },
    };
  }

  /** @returns {import("./suite-items.js").Kind} */
  caseKind() {
    const { editor } = this;
    return {
      ...this.changes("test_cases"),
      key: "test_cases",
      one: "case",
      many: "cases",
      empty: "No cases yet. A case is a prompt and the calls that you expect.",
      title: titleOf,
      about: aboutOf,
      body: (item, i, redraw) => this.caseBody(item, i, redraw),
      add: () => this.add("test_cases", { prompt: "", expected_tool: this.toolNames([])[0] ?? null }),
      duplicate: (i) => {
        const id = editor.data.test_cases[i]?.id;
        const ids = editor.data.test_cases.map((/** @type {any} */ each) => each?.id);
        this.edit(insertItem(editor.text, ["test_cases"], i + 1, rawOf(editor.text, ["test_cases", i]) || "{}"));
        if (typeof id === "string") this.edit(setRaw(editor.text, ["test_cases", i + 1, "id"], JSON.stringify(unique(id, ids, "-"))));
      },
    };
  }

  /** @param {any} item @param {number} i @param {() => void} redraw */
  caseBody(item, i, redraw) {
    /** @type {Path} */
    const path = ["test_cases", i];
    if (typeof item !== "object" || item === null) return [el("p", {}, "Expected an object. Fix it in the JSON view.")];
    const written = () => this.cases.refresh(i);
    const again = (/** @type {string} */ focused) => {
      redraw();
      this.showProblems();
      /** @type {HTMLElement | null | undefined} */ (this.cases.cardOf(i)?.querySelector(focused))?.focus();
    };
    const kind = expectationOf(item);
    const choice = select(EXPECTATIONS, kind);
    choice.addEventListener("change", () => {
      if (this.focusBroken()) {
        choice.value = kind;
        return;
      }
      this.expect(i, kind, choice.value);
      again("select");
    });
    const expectation = field("Expected answer", choice);
    const { first, more } = fieldsOf(item, keysAt(this.schema, path));
    const changed = (/** @type {string} */ key) => (key === "multi_turn" ? () => again('[data-path$=".multi_turn"] input') : written);
    return [...first.map((key) => (key === EXPECTATION ? expectation : this.field([...path, key], changed(key)))), this.details(more, path)];
  }

  /**
   * Change the kind of expectation of a case. The values of the old kind are remembered, for switching back.
   * @param {number} i
   * @param {string} old
   * @param {string} kind
   */
  expect(i, old, kind) {
    const { editor } = this;
    /** @type {Path} */
    const path = ["test_cases", i];
    const item = valueAt(editor.data, path);
    const kept = (this.cases.state(i).kept ??= { order: Object.keys(item), kinds: new Map() });
    const keys = keysReplaced(old, kind);
    kept.kinds.set(old, new Map(keys.map((key) => [key, rawOf(editor.text, [...path, key])])));
    const derived = Object.entries(takenOver(item, kind, this.toolNames(path)[0] ?? "*")).map(([key, value]) => [key, spell(editor.text, value)]);
    const made = new Map(/** @type {[string, string][]} */ (derived));
    const values = kept.kinds.get(kind) || made;
    let { text } = editor;
    for (const key of keys) {
      const raw = values.get(key) ?? (key === "prompt" ? made.get(key) : undefined);
      text = raw === undefined ? removeAt(text, [...path, key]) : setRaw(text, [...path, key], raw, kept.order);
    }
    this.edit(text);
  }
}

/** A name that is not taken. @param {string} name @param {unknown[]} taken @param {string} sign */
function unique(name, taken, sign) {
  if (!taken.includes(name)) return name;
  let number = 1;
  let made = `${name}${sign}copy`;
  while (taken.includes(made)) made = `${name}${sign}copy${sign}${++number}`;
  return made;
}

/**
 * The place of a field, else the closest one that encloses it.
 * @param {string} name
 * @param {Map<string, Element>} places
 */
function nearest(name, places) {
  for (let path = name; path; ) {
    const place = places.get(path);
    if (place) return place;
    const shorter = path.replace(LAST_PART, "");
    if (shorter === path) return undefined;
    path = shorter;
  }
  return undefined;
}

/** @param {Element} place */
function slotOf(place) {
  return place.querySelector(":scope > .slot");
}

/** @param {Element} place @returns {HTMLElement | null} */
function controlOf(place) {
  return place.matches(".field, .param") ? place.querySelector("input, textarea, select") : null;
}
