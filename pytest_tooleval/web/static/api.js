// @ts-check
// Requests to the API, and its errors as one kind of exception.

/**
 * @typedef {{file: string, line: number, column: number, field: string, message: string}} Problem
 */

/** What the API answered instead of what was asked for. `status` is 0 when no answer came. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {Problem[]} [problems]
   * @param {any} [body]
   */
  constructor(status, message, problems = [], body = {}) {
    super(message);
    this.status = status;
    this.problems = problems;
    this.body = body;
  }
}

/**
 * The JSON of an answer; null for one without content. ApiError else.
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, etag?: string, signal?: AbortSignal, read?: (text: string) => any}} [options]
 * @returns {Promise<any>}
 */
export async function call(method, path, { body, etag, signal, read = JSON.parse } = {}) {
  /** @type {Record<string, string>} */
  const headers = { "X-Tooleval": "page" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (etag) headers["If-Match"] = `"${etag}"`;
  const sent = body === undefined ? undefined : JSON.stringify(body);
  let response, text;
  try {
    response = await fetch(path, { method, headers, body: sent, signal });
    text = await response.text();
  } catch (error) {
    if (signal && signal.aborted) throw error;
    throw new ApiError(0, "The server does not answer. Is tooleval ui still running?");
  }
  /** @type {any} */
  let data = null;
  try {
    data = text ? read(text) : null;
  } catch {
    throw new ApiError(response.status, `The server answered with something else than JSON (${response.status}).`);
  }
  if (response.ok) return data;
  const error = (data && data.error) || {};
  throw new ApiError(response.status, error.message || `The server answered ${response.status}.`, error.problems || [], data || {});
}

/**
 * The address of a suite file in the API.
 * @param {string} file
 */
export function suitePath(file) {
  return "/api/suites/" + file.split("/").map(encodeURIComponent).join("/");
}

/**
 * A query from the values that are there.
 * @param {Record<string, string | number | null | undefined>} values
 */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
