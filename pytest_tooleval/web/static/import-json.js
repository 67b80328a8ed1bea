// @ts-check
// Import JSON: the text of a suite, pasted or from a file, becomes a file of the folder as it is.

import { go, suiteHash } from "./address.js";
import { call } from "./api.js";
import { errorBox, field, input, pageHead, textArea } from "./controls.js";
import { el, link } from "./page/dom.js";

const LARGEST = 30 * 1024 * 1024;

/** @param {import("./main.js").Visit} visit */
export async function show({ place }) {
  const chosen = input({ type: "file", accept: ".json,application/json" });
  const text = textArea({ rows: 16, class: "code", spellcheck: "false", wrap: "off" });
  const file = input({ placeholder: "made from the suite's name", spellcheck: "false" });
  const messages = el("div", {});
  const send = /** @type {HTMLButtonElement} */ (el("button", { type: "submit", class: "main" }, "Import"));
  /** What was read from the file as it is: a text area would change its line ends. */
  let read = { shown: "", whole: "" };
  chosen.addEventListener("change", async () => {
    const picked = chosen.files && chosen.files[0];
    messages.replaceChildren();
    if (!picked) return;
    if (picked.size > LARGEST) {
      messages.replaceChildren(errorBox(new Error(`${picked.name}: the file is larger than 30 MiB; copy it into the folder instead.`)));
      return;
    }
    const whole = await picked.text();
    text.value = whole;
    read = { shown: text.value, whole };
    if (!file.value && picked.name.endsWith(".tooleval.json")) file.value = picked.name;
  });
  const form = el(
    "form",
    { class: "card form" },
    field("A file", chosen),
    field("Or its text", text, { hint: 'An object {"name": …, "tools": […], "test_cases": […]}, as docs/reference/suite-format.md has it.', wide: true }),
    field("Save as", file, { hint: "Ends in .tooleval.json. May stay empty." }),
    messages,
    el("div", { class: "row" }, send, link("#/suites", "Cancel", { class: "button" })),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    const whole = text.value === read.shown ? read.whole : text.value;
    try {
      const made = await call("POST", "/api/suites", { body: { text: whole, ...(file.value.trim() ? { file: file.value.trim() } : {}) } });
      go(suiteHash(made.file));
    } catch (error) {
      messages.replaceChildren(errorBox(error, "Nothing was imported"));
      send.disabled = false;
    }
  });
  place.append(pageHead("Import JSON"), form);
}
