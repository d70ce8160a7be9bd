import { z } from 'zod';
import { isObject, type JsonObject } from '../../contract/json';
import { redactText } from '../../contract/text/redact';
import { plainEscapes } from '../../contract/text/spelling';
import { ToolError } from '../errors';
import type { Classified } from '../types';
import { isPrivateHost } from './address';
import type { HostList } from './hosts';
import { assertReferences, type Header, isHeaderValue, referencesIn, type secretRules } from './references';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** The arguments of `http_request`. */
export const parameters = z.strictObject({
  method: z.enum(METHODS).default('GET'),
  url: z
    .string()
    .min(1)
    .max(8192)
    .describe('The whole URL with http:// or https://, without a fragment (#…).'),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe('Headers of the request by name. Write {{secret:NAME}} where the value of a secret belongs.'),
  body: z
    .string()
    .optional()
    .describe('What is sent; not with GET and HEAD. Give its content-type as a header.'),
  body_encoding: z.enum(['text', 'base64']).default('text').describe('How `body` is written.'),
});
export type RequestArguments = z.output<typeof parameters>;

/** The rules of the configuration. */
export interface Rules {
  /** The hosts at which GET and HEAD are safe. */
  hosts: HostList;
  /** The hosts that may be reached although their addresses are private. */
  privateHosts: HostList;
  /** Whether a request to a host on neither list asks a person or is refused. */
  others: 'ask' | 'refuse';
  /** Headers that a safe request may carry, in lower case. */
  safeHeaders: readonly string[];
  secrets: ReturnType<typeof secretRules>;
}

/** A checked request. It may be sent once it is allowed. Its headers still have references in place of secrets. */
export interface HttpRequest {
  method: RequestArguments['method'];
  url: URL;
  headers: readonly Header[];
  body: Buffer | undefined;
}

/**
 * Checks a request. This is the only check, and it runs before a person is asked and again before the request is sent.
 *
 * @throws ToolError for the model; nothing was sent.
 */
export function checkRequest(args: RequestArguments, rules: Rules): HttpRequest {
  const url = checkUrl(args.url, rules);
  const headers = checkHeaders(args.headers);
  const { method, body } = args;
  if (body !== undefined && isReading(method)) throw new ToolError(`${method} carries no body.`);
  assertReferences({ url, headers, body }, rules.secrets, rules.privateHosts);
  return { method, url, headers, body: body === undefined ? undefined : bytesOf(body, args.body_encoding) };
}

/** Whether a method only reads, by HTTP's own definition. */
export function isReading(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * Classifies a request. A request is pure if it only reads and if the rules list all of its headers without
 * secrets: a header such as `x-http-method-override` can turn a GET into any other method. A pure request is also safe
 * if its host is listed and nothing in it looks like a key, which a person should see first.
 */
export function classifyRequest({ method, url, headers }: HttpRequest, rules: Rules): Classified | undefined {
  const plain = headers.filter(([, value]) => referencesIn(value).length === 0);
  if (!isReading(method) || !plain.every(([name]) => rules.safeHeaders.includes(name))) return undefined;
  const isOpen =
    rules.hosts(url) &&
    ![url.href, ...plain.map(([, value]) => value)].some((text) => redactText(text) !== text);
  return isOpen ? { safety: 'safe', effect: 'pure' } : { effect: 'pure' };
}

/** Control characters, blanks and invisible characters. `URL` silently drops some of them. */
const HIDDEN = /[\p{C}\p{Z}]/u;

/**
 * Reads a URL. Refuses text that another program could read as a different URL.
 *
 * @throws ToolError for the model.
 */
export function checkUrl(text: string, rules: Rules): URL {
  const url = readUrl(text);
  assertReachable(url, rules);
  return url;
}

/** The arguments with the URL and the names of headers in one spelling. A URL that is refused stays as it is. */
export function spellRequest(args: JsonObject): JsonObject {
  const { url, headers } = args;
  const spelled = { ...args };
  if (typeof url === 'string') spelled['url'] = spellUrl(url);
  if (isObject(headers))
    spelled['headers'] = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
  return spelled;
}

function spellUrl(text: string) {
  try {
    return plainEscapes(readUrl(text).href).replace(/\?$/, '');
  } catch {
    return text;
  }
}

function readUrl(text: string): URL {
  const scheme = /^https?:\/\//i.exec(text)?.[0];
  if (scheme === undefined) throw refused(text, 'a URL starts with http:// or https://');
  if (HIDDEN.test(text)) throw refused(text, 'it holds a control character, a blank or something invisible');
  if (text.includes('\\')) throw refused(text, 'it holds a backslash');
  if (text.includes('#')) throw refused(text, 'it has a fragment (#…), which is never sent; leave it out');
  const [authority = ''] = text.slice(scheme.length).split(/[/?]/);
  if (authority.includes('@')) throw refused(text, 'it holds a user or a password; use a header');
  const url = parsed(text);
  // `URL` skips further slashes, and takes a host and a user behind them.
  if (authority === '') throw refused(text, 'it names no host after //');
  if (url.hostname.endsWith('.')) throw refused(text, 'its host ends with a dot');
  return url;
}

function parsed(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw refused(text, 'it cannot be read');
  }
}

function assertReachable(url: URL, { hosts, privateHosts, others }: Parameters<typeof checkUrl>[1]) {
  if (privateHosts(url)) return;
  if (isPrivateHost(url)) throw new ToolError(`${url.host} is a private address. ${ONLY_PUBLIC}`);
  if (others === 'refuse' && !hosts(url))
    throw new ToolError(`${url.host} is not among the hosts that the configuration lists. Nothing was sent.`);
}

/** The sentence of errors about an address that is not public. */
export const ONLY_PUBLIC =
  'Only public addresses are reached, and private ones that the configuration lists.';

function refused(text: string, why: string) {
  return new ToolError(`The URL ${JSON.stringify(text.slice(0, 200))} is refused: ${why}.`);
}

const MOST_HEADERS = 50;
const MOST_HEADER_BYTES = 8192;
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/;
/** Headers that we set ourselves: they control the host, the length, the connection and the coding of the answer. */
const OURS =
  /^(host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|http2-settings|proxy-.*)$/;

function checkHeaders(given: Readonly<Record<string, string>>): Header[] {
  const headers = Object.entries(given).map(([name, value]): Header => [name.toLowerCase(), value]);
  if (headers.length > MOST_HEADERS) throw new ToolError(`A request has at most ${MOST_HEADERS} headers.`);
  for (const [index, [name, value]] of headers.entries()) {
    const shown = JSON.stringify(name.slice(0, 100));
    if (!TOKEN.test(name)) throw new ToolError(`${shown} cannot be the name of a header.`);
    if (OURS.test(name))
      throw new ToolError(`The header ${shown} is set by http_request itself; leave it out.`);
    if (headers.findIndex(([other]) => other === name) !== index)
      throw new ToolError(`The header ${shown} is given twice.`);
    if (!isHeaderValue(value))
      throw new ToolError(`The header ${shown} holds a line end or something other than printable ASCII.`);
    if (value.length > MOST_HEADER_BYTES) throw new ToolError(`The header ${shown} is too long.`);
  }
  return headers;
}

function bytesOf(body: string, encoding: RequestArguments['body_encoding']): Buffer {
  if (encoding === 'text') return Buffer.from(body);
  const bytes = Buffer.from(body, 'base64');
  if (bytes.toString('base64') === body) return bytes;
  throw new ToolError('The body is not base64: standard alphabet, with padding and without line ends.');
}
