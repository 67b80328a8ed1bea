// @ts-check
// What came of a run, for lists of them.

import { countText } from "./page/numbers.js";
import { earlyEnd } from "./page/summary.js";

/**
 * The result of a run in a few words. What a gate tolerates fails no run. Where all cases were skipped, nothing
 * has passed or failed; what did not come to its end is no success, whatever came until then.
 * @param {any} run
 */
export function resultOf(run) {
  const asked = run.cases - run.skipped;
  const passed = `${countText(run.passed)}/${countText(asked)} passed`;
  const words = asked ? passed : run.skipped ? `${countText(run.skipped)} skipped` : "no results";
  const end = run.status === "running" ? "" : earlyEnd(run);
  if (end) return { outcome: "error", words: `${words} · ${end}` };
  if (run.failed + run.errors > run.tolerated) return { outcome: run.errors ? "error" : "failed", words };
  return { outcome: run.gates_failed ? "failed" : asked ? "passed" : "skipped", words };
}
