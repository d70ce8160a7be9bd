import { isObject } from '../../contract/json';

/** What the body of an error says. */
export interface Explanation {
  message?: string;
  /** A word such as `content_filter` or `invalid_api_key`. */
  code?: string;
  /** An HTTP status, where the body of a reply with another status names one. */
  status?: number;
}

/**
 * Reads the body of an error in the forms that servers use: `{error: {message, type, code}}`, `{error: "…"}`,
 * `{message}`, `{detail}`, or a list of one of them. Never throws; empty where there is nothing to read.
 */
export function explain(body: string | undefined): Explanation {
  const value = first(parse(body));
  if (!isObject(value)) return {};
  const inner = first(value['error'] ?? value);
  if (typeof inner === 'string') return { message: inner, code: 'error' };
  return isObject(inner) ? explainObject(inner, inner !== value) : {};
}

function explainObject(inner: Record<string, unknown>, isError: boolean): Explanation {
  const message = [inner['message'], inner['detail']].find((text) => typeof text === 'string');
  const status = [inner['code'], inner['status']].map(Number).find((number) => number >= 400 && number < 600);
  const words = [innerCode(inner), inner['code'], inner['type']].filter((word) => typeof word === 'string');
  const code = words.join(' ') || (isError ? 'error' : undefined);
  return {
    ...(typeof message === 'string' ? { message } : {}),
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
  };
}

function innerCode(inner: Record<string, unknown>): unknown {
  const nested = inner['innererror'];
  return isObject(nested) ? nested['code'] : undefined;
}

/** The code that an error of the system or of fetch has; undefined for codes that are no such thing. */
export function codeOf(error: Error): string | undefined {
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : undefined;
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function parse(body: string | undefined): unknown {
  try {
    return JSON.parse(body ?? '');
  } catch {
    // A page of HTML explains nothing that a status does not.
    return undefined;
  }
}
