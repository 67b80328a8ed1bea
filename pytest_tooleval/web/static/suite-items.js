// @ts-check
// A list of tools or cases: cards that open into forms, in chunks, so that thousands stay fast.

import { announce, input } from "./controls.js";
import { button, capitalized, el, shownNodes } from "./page/dom.js";
import { countText } from "./page/numbers.js";

/**
 * How tools and cases differ.
 * @typedef {{key: "tools" | "test_cases", one: string, many: string, empty: string,
 *   title: (item: any, index: number) => string, about: (item: any) => string,
 *   body: (item: any, index: number, redraw: () => void) => HTMLElement[],
 *   add: () => void, move: (from: number, to: number) => void,
 *   duplicate: (index: number) => void, remove: (index: number) => void, canChange: () => boolean}} Kind
 */

const CHUNK = 100;
const FILTER_FROM = 12;

export class ItemList {
  /** @param {Kind} kind @param {() => any} data the current list */
  constructor(kind, data) {
    this.kind = kind;
    this.data = data;
    /** By item; `kept` is for the forms. @type {{isOpen: boolean, kept?: any}[]} */
    this.states = [];
    this.limit = CHUNK;
    this.query = "";
    this.count = el("small", {});
    this.filter = input({ type: "search", placeholder: `Filter ${kind.many}`, "aria-label": `Filter ${kind.many}` });
    this.filter.addEventListener("input", () => {
      this.query = this.filter.value;
      this.limit = CHUNK;
      this.draw();
    });
    this.list = el("ol", { class: "items" });
    this.more = el("div", { class: "row" });
    const add = button(`Add a ${kind.one}`, () => this.act(() => kind.add(), this.items.length));
    this.node = el(
      "section",
      { class: "card", "data-path": kind.key, "aria-label": kind.many },
      el("div", { class: "row between" }, el("h2", {}, capitalized(kind.many), " ", this.count), this.filter),
      el("div", { class: "slot" }),
      this.list,
      this.more,
      el("div", { class: "row" }, add),
    );
  }

  /** @param {number} i */
  state(i) {
    return (this.states[i] ??= { isOpen: false });
  }

  /** @returns {any[]} */
  get items() {
    const found = this.data();
    return Array.isArray(found) ? found : [];
  }

  draw() {
    const items = this.items;
    const words = this.query.toLowerCase().split(/\s+/).filter(Boolean);
    const places = [...items.keys()].filter((i) => this.matches(items[i], i, words));
    this.filter.hidden = items.length < FILTER_FROM && !this.query;
    this.count.textContent = words.length ? `${places.length} of ${items.length}` : countText(items.length);
    this.list.replaceChildren(...places.slice(0, this.limit).map((i) => this.card(items[i], i)));
    const left = places.length - this.limit;
    const more = left > 0 ? button(`Show ${Math.min(left, CHUNK)} more (${countText(left)} left)`, () => this.showMore()) : null;
    this.more.replaceChildren(...(more ? [more] : []));
    if (items.length === 0) this.list.replaceChildren(el("li", { class: "muted" }, this.kind.empty));
  }

  /** @param {any} item @param {number} i @param {string[]} words */
  matches(item, i, words) {
    if (words.length === 0) return true;
    const text = `${this.kind.title(item, i)} ${this.kind.about(item)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  showMore() {
    const before = this.list.children.length;
    this.limit += CHUNK;
    this.draw();
    /** @type {HTMLElement | null} */ (this.list.children[before]?.querySelector("button"))?.focus();
  }

  /** @param {any} item @param {number} i */
  card(item, i) {
    const body = el("div", { class: "item-body form" });
    const toggle = button("", () => this.toggle(i), { class: "item-head", "aria-expanded": "false" });
    const card = el("li", { "data-item": i, "data-path": `${this.kind.key}[${i}]` }, el("h3", {}, toggle), el("div", { class: "slot" }), body);
    this.fillHead(card, item, i);
    if (this.state(i).isOpen) this.fillBody(card, item, i);
    else body.hidden = true;
    return card;
  }

  /** @param {Element} card @param {any} item @param {number} i */
  fillHead(card, item, i) {
    const title = el("span", { class: "item-title" }, el("bdi", {}, shownNodes(this.kind.title(item, i).slice(0, 300))));
    const about = el("small", {}, el("bdi", {}, shownNodes(this.kind.about(item).slice(0, 300))));
    const head = /** @type {Element} */ (card.querySelector(".item-head"));
    head.replaceChildren(el("span", { class: "item-number" }, String(i + 1)), title, el("span", { class: "badge" }), about);
  }

  /** @param {Element} card @param {any} item @param {number} i */
  fillBody(card, item, i) {
    const body = /** @type {HTMLElement} */ (card.querySelector(".item-body"));
    const count = this.items.length;
    const { one } = this.kind;
    const up = button("Move up", () => this.act(() => this.move(i, i - 1), i - 1), { "aria-label": `Move this ${one} up` });
    const down = button("Move down", () => this.act(() => this.move(i, i + 1), i + 1), { "aria-label": `Move this ${one} down` });
    up.toggleAttribute("disabled", i === 0);
    down.toggleAttribute("disabled", i === count - 1);
    const copy = button("Duplicate", () => this.act(() => this.duplicate(i), i + 1), { "aria-label": `Duplicate this ${one}` });
    const remove = button("Delete", () => this.act(() => this.remove(i), Math.min(i, count - 2)), { "aria-label": `Delete this ${one}` });
    const redraw = () => {
      this.fillBody(card, this.items[i], i);
      this.fillHead(card, this.items[i], i);
    };
    body.replaceChildren(...this.kind.body(item, i, redraw), el("div", { class: "row wide" }, up, down, copy, remove));
    body.hidden = false;
    card.querySelector(".item-head")?.setAttribute("aria-expanded", "true");
  }

  /** @param {number} i */
  toggle(i) {
    const card = this.cardOf(i);
    if (!card) return;
    const body = /** @type {HTMLElement} */ (card.querySelector(".item-body"));
    const state = this.state(i);
    if (state.isOpen) {
      if (!this.kind.canChange()) return;
      state.isOpen = false;
      body.replaceChildren();
      body.hidden = true;
      card.querySelector(".item-head")?.setAttribute("aria-expanded", "false");
    } else {
      state.isOpen = true;
      this.fillBody(card, this.items[i], i);
    }
    this.changed();
  }

  /** Called after a card was opened; set by the forms. */
  changed() {}

  /** @param {number} i */
  cardOf(i) {
    return this.list.querySelector(`:scope > [data-item="${i}"]`);
  }

  /** Update the head of a card after one of its fields changed. @param {number} i */
  refresh(i) {
    const card = this.cardOf(i);
    const badge = card?.querySelector(".badge");
    if (!card) return;
    this.fillHead(card, this.items[i], i);
    if (badge) card.querySelector(".badge")?.replaceWith(badge);
  }

  /** Open a card and show it. @param {number} i */
  reveal(i) {
    if (this.query) {
      this.query = this.filter.value = "";
      this.draw();
    }
    if (i >= this.limit) {
      this.limit = (Math.floor(i / CHUNK) + 1) * CHUNK;
      this.draw();
    }
    if (this.state(i).isOpen) this.changed();
    else this.toggle(i);
  }

  /**
   * Change the list, and focus the card that it concerns.
   * @param {() => void} action
   * @param {number} focus
   */
  act(action, focus) {
    if (!this.kind.canChange()) return;
    const before = this.items.length;
    action();
    this.draw();
    this.changed();
    const next = Math.max(0, focus);
    // After a deletion the filter stays, and the focus goes to the nearest card that it shows.
    if (this.items.length >= before && !this.cardOf(next)) this.reveal(next);
    const cards = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll(":scope > [data-item]")]);
    const near = cards.find((card) => Number(card.dataset.item) >= next) || cards[cards.length - 1];
    /** @type {HTMLElement | null | undefined} */ (near?.querySelector(".item-head"))?.focus();
    announce(`${countText(this.items.length)} ${this.kind.many}`);
  }

  /** @param {number} from @param {number} to */
  move(from, to) {
    this.kind.move(from, to);
    [this.states[from], this.states[to]] = [this.state(to), this.state(from)];
  }

  /** @param {number} i */
  duplicate(i) {
    this.kind.duplicate(i);
    this.state(i);
    this.states.splice(i + 1, 0, { isOpen: true });
  }

  /** @param {number} i */
  remove(i) {
    this.kind.remove(i);
    this.states.splice(i, 1);
  }
}
