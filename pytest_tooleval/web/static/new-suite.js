// @ts-check
// New Suite: a name, and then the editor.

import { go, suiteHash } from "./address.js";
import { call } from "./api.js";
import { errorBox, field, input, pageHead, textArea } from "./controls.js";
import { el, link } from "./page/dom.js";

/** @param {import("./main.js").Visit} visit */
export async function show({ place }) {
  const name = input({ required: "", maxlength: 200 });
  const description = textArea({ rows: 3 });
  const file = input({ placeholder: "made from the name", spellcheck: "false" });
  const messages = el("div", {});
  const make = /** @type {HTMLButtonElement} */ (el("button", { type: "submit", class: "main" }, "Create suite"));
  const form = el(
    "form",
    { class: "card form narrow" },
    field("Name", name),
    field("Description", description, { hint: "What the suite tests. May stay empty." }),
    field("File", file, { hint: "Ends in .tooleval.json; may lie in a folder, such as shop/orders.tooleval.json." }),
    messages,
    el("div", { class: "row" }, make, link("#/suites", "Cancel", { class: "button" })),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    make.disabled = true;
    const suite = { name: name.value, ...(description.value ? { description: description.value } : {}), tools: [], test_cases: [] };
    try {
      const made = await call("POST", "/api/suites", { body: { suite, ...(file.value.trim() ? { file: file.value.trim() } : {}) } });
      go(suiteHash(made.file));
    } catch (error) {
      messages.replaceChildren(errorBox(error, "The suite was not made"));
      make.disabled = false;
    }
  });
  place.append(pageHead("New suite"), form);
  name.focus();
}
