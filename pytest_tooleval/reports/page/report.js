// @ts-check
// The HTML report: the view of a run, from the data in the file.

import "./theme.js";
import { shortened, shown } from "./dom.js";
import { exactJson } from "./json.js";
import { RunView } from "./view.js";

/** @param {string} line zlib-compressed JSON as base64 */
async function unpacked(line) {
  const bytes = Uint8Array.from(atob(line), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

async function start() {
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  const [first, ...blocks] = (document.getElementById("data")?.textContent || "").split("\n");
  const { document: run, trends, together } = JSON.parse(await unpacked(first));
  const places = new Map(run.cases.map((/** @type {any} */ row, /** @type {number} */ i) => [row, i]));
  const query = () => location.hash.slice(1);
  const view = new RunView(
    run,
    trends,
    {
      heading: "h1",
      load: async (row) => {
        const place = places.get(row);
        return exactJson(await unpacked(blocks[Math.floor(place / together)]))[place % together];
      },
      options: run.run.options,
      columns: run.columns,
      write: (text, isPushed) => history[isPushed ? "pushState" : "replaceState"](null, "", `#${text}`),
      address: (text) => `#${text}`,
      runHref: () => "",
    },
    query(),
  );
  const names = [...new Set(run.suites.map((/** @type {any} */ row) => row.suite))];
  document.title = `${run.summary.verdict}: ${shown(shortened(names.join(", ") || "no cases", 100))} - tooleval`;
  document.querySelector("header nav")?.replaceChildren(...view.links);
  view.show(main);
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  window.addEventListener("popstate", () => view.cases.go(query()));
}

void start();
