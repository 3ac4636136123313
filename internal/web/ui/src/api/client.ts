/** What the server refused, in its own sentence; `code` is stable, `message` is for people. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfter: number | null;

  constructor(status: number, code: string, message: string, retryAfter: number | null = null) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** Nobody answered: offline, the server is down, or the connection broke. */
export class NetworkError extends Error {
  constructor() {
    super("Mooring cannot be reached. Check your connection, or whether the server is running.");
    this.name = "NetworkError";
  }
}

export interface Options {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  body?: unknown;
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
  /** Lets the request outlive the page. */
  keepalive?: boolean;
}

let onUnauthorized: () => void = () => {};

/** Says once, at start, what happens when the server wants a key. */
export function whenUnauthorized(act: () => void) {
  onUnauthorized = act;
}

/** A request whose answer is 2xx; throws ApiError or NetworkError otherwise, and DOMException when aborted. */
export async function send(path: string, options: Options = {}): Promise<Response> {
  const init: RequestInit = {
    method: options.method ?? "GET",
    credentials: "same-origin",
    headers: { Accept: "application/json", ...options.headers },
    signal: options.signal ?? null,
    keepalive: options.keepalive ?? false,
  };
  if (options.body !== undefined) {
    init.body = JSON.stringify(options.body);
    init.headers = { ...init.headers, "Content-Type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new NetworkError();
  }
  if (response.ok) return response;
  const error = await refusal(response);
  if (error.status === 401 && path !== "/api/sign-in") onUnauthorized();
  throw error;
}

/** A request whose answer is JSON. */
export async function api<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send(path, options);
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new NetworkError();
  }
}

async function refusal(response: Response): Promise<ApiError> {
  const retry = Number(response.headers.get("Retry-After"));
  const retryAfter = Number.isFinite(retry) && retry > 0 ? retry : null;
  try {
    const body = (await response.json()) as { error?: { message?: unknown; code?: unknown } };
    const { message, code } = body.error ?? {};
    if (typeof message === "string" && message !== "") {
      return new ApiError(response.status, typeof code === "string" ? code : "error", message, retryAfter);
    }
  } catch {
    // No envelope: something between the page and Mooring answered.
  }
  return new ApiError(response.status, "error", `The server answered with status ${response.status}.`, retryAfter);
}

/** A query string of what is set: query({q: "a", cursor: undefined}) is "?q=a". */
export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

/** A session's address in the API; a key may hold anything. */
export const sessionPath = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;

/** The sentence of an error, whatever was thrown. */
export function sentence(error: unknown): string {
  return error instanceof ApiError || error instanceof NetworkError
    ? error.message
    : "Something went wrong in this page. Reload it; if it happens again, the browser's console says more.";
}
