// @ts-check
// New suite and Import JSON create a suite file; and the text of a new tool or case.

import { suiteHash } from "./address.js";
import { call } from "./api.js";
import { errorBox, field, input, pageHead, textArea } from "./controls.js";
import { el, link } from "./page/dom.js";

/** What a new tool looks like. */
export const NEW_TOOL = toolOf("new_tool", "", {});
const LARGEST = 30 * 1024 * 1024;

/** @param {string} name @param {string} description @param {Record<string, object>} properties */
function toolOf(name, description, properties) {
  return { type: "function", function: { name, description, parameters: { type: "object", properties, required: Object.keys(properties) } } };
}

/** What a new case looks like. @param {string | null} tool */
export function newCase(tool) {
  return { prompt: "", expected_tool: tool };
}

/** A suite to change: one tool, and one case that expects its call. @param {string} name @param {string} schema its address */
function example(name, schema) {
  const tool = toolOf("get_weather", "Get the weather in a city.", { city: { type: "string" } });
  const first = { prompt: "What's the weather in Paris?", expected_tool: "get_weather", expected_params: { city: "Paris" } };
  return { $schema: schema, name, tools: [tool], test_cases: [first] };
}

/** @param {import("./main.js").Visit} visit */
export async function showNew({ place, isGone }) {
  const { $id } = await call("GET", "/api/schema");
  if (isGone()) return;
  const name = input({ required: "", maxlength: 200 });
  const file = input({ placeholder: "from the name", spellcheck: "false" });
  const fileHint = "By default, “Refund desk” is saved as refund-desk.tooleval.json, where pytest collects suites. Can include a folder, such as shop/orders.";
  const fields = [field("Name", name, { hint: "The suite starts with an example of a tool and a case, which you change." }), field("File", file, { hint: fileHint })];
  const content = () => `${JSON.stringify(example(name.value, $id), null, 2)}\n`;
  const form = createForm(fields, file, "Create suite", content);
  form.classList.add("narrow");
  place.append(pageHead("New suite"), form);
  name.focus();
}

/** @param {import("./main.js").Visit} visit */
export async function showImport({ place }) {
  const chosen = input({ type: "file", accept: ".json,application/json" });
  const text = textArea({ rows: 16, class: "code", spellcheck: "false", wrap: "off" });
  const file = input({ placeholder: "from the suite's name", spellcheck: "false" });
  /** The file's text, as a text area would change its line ends. */
  let read = { shown: "", whole: "" };
  const fields = [
    field("File", chosen),
    field("Or paste its text", text, {
      hint: 'An object {"name": …, "tools": […], "test_cases": […]}; see docs/reference/suite-format.md.',
      wide: true,
    }),
    field("Save as", file, { hint: "Optional." }),
  ];
  const content = () => (text.value === read.shown ? read.whole : text.value);
  const form = createForm(fields, file, "Import", content);
  chosen.addEventListener("change", async () => {
    const picked = chosen.files?.[0];
    form.messages.replaceChildren();
    if (!picked) return;
    if (picked.size > LARGEST) {
      const problem = `${picked.name}: the file is larger than 30 MiB; copy it into the folder instead.`;
      form.messages.replaceChildren(errorBox(new Error(problem)));
      return;
    }
    const whole = await picked.text();
    text.value = whole;
    read = { shown: text.value, whole };
    if (!file.value && picked.name.endsWith(".tooleval.json")) file.value = picked.name;
  });
  place.append(pageHead("Import JSON"), form);
}

/** The name of a new file, whole; nothing for the server's choice. @param {HTMLInputElement} control */
export function fileIn({ value }) {
  const name = value.trim().replace(/(\.tooleval)?(\.json)?$/, "");
  return name ? { file: `${name}.tooleval.json` } : {};
}

/**
 * A form that creates a file and opens it in the editor.
 * @param {HTMLElement[]} fields
 * @param {HTMLInputElement} file its name; if empty, the server chooses one
 * @param {string} label of the button
 * @param {() => string} content the suite's text
 */
function createForm(fields, file, label, content) {
  const messages = el("div", {});
  const send = /** @type {HTMLButtonElement} */ (el("button", { type: "submit", class: "main" }, label));
  const buttons = el("div", { class: "row" }, send, link("#/suites", "Cancel", { class: "button" }));
  const form = el("form", { class: "card form" }, ...fields, messages, buttons);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    try {
      const made = await call("POST", "/api/suites", { body: { text: content(), ...fileIn(file) } });
      location.hash = suiteHash(made.file);
    } catch (error) {
      messages.replaceChildren(errorBox(error, "Could not create the suite"));
      send.disabled = false;
    }
  });
  return Object.assign(form, { messages });
}
