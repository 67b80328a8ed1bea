// @ts-check
// Requests to the API.

/**
 * @typedef {{file: string, line: number, column: number, field: string, message: string}} Problem
 */

/** An error of the API. `status` is 0 if there was no response. */
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
 * The JSON of a response; null for one without content. Throws ApiError.
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, etag?: string, read?: (text: string) => any}} [options]
 * @returns {Promise<any>}
 */
export async function call(method, path, { body, etag, read = JSON.parse } = {}) {
  /** @type {Record<string, string>} */
  const headers = { "X-Tooleval": "page" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (etag) headers["If-Match"] = `"${etag}"`;
  const sent = body === undefined ? undefined : JSON.stringify(body);
  let response, text;
  try {
    response = await fetch(path, { method, headers, body: sent });
    text = await response.text();
  } catch (error) {
    throw new ApiError(0, "No response from the server. Is tooleval ui still running?");
  }
  /** @type {any} */
  let data = null;
  try {
    data = text ? read(text) : null;
  } catch {
    throw new ApiError(response.status, `Expected JSON from the server, got another format (status ${response.status}).`);
  }
  if (response.ok) return data;
  const error = data?.error ?? {};
  throw new ApiError(response.status, error.message || `The server responded with status ${response.status}.`, error.problems || [], data || {});
}

/**
 * The address of a suite file in the API, or of something about it.
 * @param {string} file
 * @param {"" | "/check"} about
 */
export function suitePath(file, about = "") {
  return `/api/suite${about}${query({ file })}`;
}

/** The address of a run in the history. @param {string} id */
export function historyPath(id) {
  return `/api/history/${encodeURIComponent(id)}`;
}

/** The address of a run that the server started. @param {string} id */
export function runPath(id) {
  return `/api/runs/${encodeURIComponent(id)}`;
}

/**
 * A query string; empty values are left out.
 * @param {Record<string, string | number | null | undefined>} values
 */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
