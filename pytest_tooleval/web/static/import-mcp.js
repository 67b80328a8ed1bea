// @ts-check
// Import from MCP: choose a server, preview its tools, and save them as a suite.

import { suiteHash } from "./address.js";
import { call } from "./api.js";
import { announce, checkbox, errorBox, field, input, pageHead, select } from "./controls.js";
import { fileIn } from "./create.js";
import { button, el, link, shown, shownNodes } from "./page/dom.js";
import { prettyJson } from "./page/json.js";
import { plural } from "./page/numbers.js";
import { longText } from "./page/trial.js";

/** @typedef {{type: string, function: {name: string, description?: string, parameters?: object}}} Tool */

/** @type {[string, string][]} */
const WAYS = [
  ["http", "URL (streamable HTTP)"],
  ["sse", "URL (HTTP with SSE, older)"],
  ["stdio", "Command"],
];

/** @param {import("./main.js").Visit} visit */
export async function show({ place, isGone }) {
  const way = select(WAYS, "http");
  const target = input({ required: "", spellcheck: "false" });
  const env = input({ spellcheck: "false", placeholder: "API_KEY, REGION" });
  const name = input({ placeholder: "the server's name" });
  const file = input({ placeholder: "from the name", spellcheck: "false" });
  const drafts = checkbox("Draft a test case for each tool (skipped until you write its prompt)", true);
  const headers = headerRows();
  const messages = el("div", {});
  const preview = el("section", { "aria-label": "Tools found" });
  const find = /** @type {HTMLButtonElement} */ (el("button", { type: "submit", class: "main" }, "Find tools"));
  const targetField = field("URL", target, { wide: true });
  const envField = field("Environment variables", env, { hint: "Names only. The values come from the environment of tooleval ui." });
  const headersField = el("fieldset", { class: "field wide" }, el("legend", {}, "Headers"), headers.node, el("small", {}, "Each value comes from an environment variable, so you never enter or store a secret here."));
  const into = el("div", { class: "field" });
  const intoList = await suiteChoice();
  if (isGone()) return;
  into.append(...field("Into", intoList).childNodes);

  const adapt = () => {
    const isCommand = way.value === "stdio";
    const label = targetField.querySelector("label");
    if (label) label.textContent = isCommand ? "Command" : "URL";
    target.placeholder = isCommand ? "python my_server.py" : "http://127.0.0.1:8000/mcp";
    envField.hidden = !isCommand;
    headersField.hidden = isCommand;
  };
  way.addEventListener("change", adapt);
  adapt();
  const adaptTarget = () => {
    for (const each of [name, file]) each.toggleAttribute("disabled", intoList.value !== "");
  };
  intoList.addEventListener("change", adaptTarget);

  /** @param {boolean} save */
  const body = (save) => {
    const names = env.value.split(",").map((each) => each.trim()).filter(Boolean);
    const isCommand = way.value === "stdio";
    return {
      [way.value]: target.value.trim(),
      ...(isCommand ? (names.length ? { env: names } : {}) : headers.value()),
      ...(intoList.value ? { file: intoList.value } : fileIn(file)),
      ...(name.value.trim() && !intoList.value ? { name: name.value.trim() } : {}),
      drafts: drafts.box.checked,
      save,
    };
  };
  let isSending = false;
  /** @param {boolean} save */
  const send = async (save) => {
    if (isSending) return;
    isSending = true;
    find.disabled = true;
    messages.replaceChildren(el("p", { class: "muted" }, save ? "Saving…" : "Getting the server's tools…"));
    try {
      const found = await call("POST", "/api/import/mcp", { body: body(save) });
      if (isGone()) return;
      messages.replaceChildren();
      if (save && found.file) {
        location.hash = suiteHash(found.file);
        return;
      }
      preview.replaceChildren(...previewOf(found, () => void send(true), Boolean(intoList.value)));
    } catch (error) {
      if (isGone()) return;
      if (!save) preview.replaceChildren();
      messages.replaceChildren(errorBox(error, save ? "Could not save the suite" : "Could not get the tools"));
    }
    find.disabled = false;
    isSending = false;
  };
  const form = el(
    "form",
    { class: "card form" },
    field("Server", way),
    targetField,
    headersField,
    envField,
    into,
    field("Suite name", name),
    field("Save as", file, { hint: "Optional." }),
    el("div", { class: "field wide" }, drafts.node),
    messages,
    el("div", { class: "row wide" }, find, link("#/suites", "Cancel", { class: "button" })),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(false);
  });
  form.addEventListener("input", () => preview.replaceChildren());
  place.append(pageHead("Import from MCP"), form, preview);
}

/** The suites that can be updated. */
async function suiteChoice() {
  const suites = await call("GET", "/api/suites");
  const rows = suites.filter((/** @type {any} */ row) => row.name !== null);
  return select([["", "a new suite"], ...rows.map((/** @type {any} */ row) => [row.file, `${row.name} (${row.file})`])]);
}

/** Pairs of a header and an environment variable. */
function headerRows() {
  const list = el("div", { class: "pairs" });
  const add = () => {
    const name = input({ placeholder: "Authorization", "aria-label": "Header", spellcheck: "false" });
    const variable = input({ placeholder: "MCP_TOKEN", "aria-label": "Environment variable", spellcheck: "false" });
    const row = el("div", { class: "row pair" }, name, " from ", variable);
    row.append(button("Remove", () => row.remove(), { "aria-label": "Remove this header" }));
    list.append(row);
    return name;
  };
  const more = button("Add a header", () => add().focus());
  const value = () => {
    /** @type {Record<string, string>} */
    const headers = {};
    for (const row of list.children) {
      const [name, variable] = [...row.querySelectorAll("input")].map((each) => each.value.trim());
      if (name) headers[name] = variable;
    }
    return Object.keys(headers).length ? { headers } : {};
  };
  return { node: el("div", {}, list, more), value };
}

/**
 * @param {{server: {name: string, version: string}, tools: Tool[], left_out: string[], changes: string[]}} found
 * @param {() => void} save
 * @param {boolean} isUpdate
 */
function previewOf(found, save, isUpdate) {
  announce(`${plural(found.tools.length, "tool")} found`);
  const tools = found.tools.map((tool) => {
    const parameters = Object.keys(/** @type {any} */ (tool.function.parameters)?.properties || {});
    return el(
      "li",
      {},
      el("details", {},
        el("summary", {}, el("code", {}, shownNodes(tool.function.name)), " ", el("small", {}, `(${shown(parameters.join(", "))})`)),
        tool.function.description && longText(tool.function.description, ""),
        longText(prettyJson(JSON.stringify(tool.function.parameters ?? null)), "code block"),
      ),
    );
  });
  const list = (/** @type {string} */ title, /** @type {string[]} */ lines) =>
    lines.length > 0 && el("div", {}, el("h3", {}, title), el("ul", {}, ...lines.map((line) => el("li", {}, shownNodes(line)))));
  return [
    el("h2", {}, `${plural(found.tools.length, "tool")} from `, el("bdi", {}, shownNodes(found.server.name)), " ", el("small", {}, shownNodes(found.server.version || ""))),
    el("ul", { class: "tool-list card" }, ...tools),
    list("Left out", found.left_out),
    list("Changes", found.changes),
    el("div", { class: "row" }, button(isUpdate ? "Update the suite" : "Save as a new suite", save, { class: "main" })),
  ].filter((each) => each !== false);
}
