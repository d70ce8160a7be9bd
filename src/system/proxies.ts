import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { isIP } from 'node:net';
import { unescape } from 'node:querystring';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import * as ipaddr from 'ipaddr.js';
import type * as Undici from 'undici';
import type { Dispatcher } from 'undici';
import { asError, CountersignError, errnoOf, errorMessage } from '../contract/errors';
import { isObject } from '../contract/json';

/** The variables that name proxies. The first one that is set counts. */
const FOR_HTTP = ['http_proxy', 'HTTP_PROXY'];
const FOR_HTTPS = ['https_proxy', 'HTTPS_PROXY', ...FOR_HTTP];

/** A proxy of the environment, and the variable that names it. */
interface Proxy {
  name: string;
  url: URL;
}

/**
 * The proxy through which a URL is reached. Undefined: it is reached directly.
 *
 * @throws CountersignError `proxy_failed` if the variable does not name a proxy. The error never shows its value.
 */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv = process.env): Proxy | undefined {
  const name = (url.protocol === 'https:' ? FOR_HTTPS : FOR_HTTP).find((one) => env[one]);
  const value = name && env[name];
  if (name === undefined || !value || isExempt(url, env['no_proxy'] || env['NO_PROXY'] || ''))
    return undefined;
  const proxy = URL.canParse(value) ? new URL(value) : undefined;
  if (proxy && /^https?:$/.test(proxy.protocol)) return { name, url: proxy };
  throw new CountersignError(
    'proxy_failed',
    `${name} is not the http(s) URL of a proxy`,
    `Write ${name} like http://proxy.example.com:3128, or remove it.`,
  );
}

/** Whether a list of `NO_PROXY` names the host of a URL: by its name or the end of it, by its address or a range. */
function isExempt({ protocol, hostname, port }: URL, list: string) {
  const host = hostname.replace(/[[\]]/g, '');
  const own = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const [, named = entry, only = own] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
      const name = named.replace(/^\*?\.|[[\]]/g, '');
      if (only !== own || name === '') return false;
      return name === '*' || host === name || host.endsWith(`.${name}`) || isInRange(host, name);
    });
}

/** Whether an address is in a range such as `10.0.0.0/8`. */
function isInRange(host: string, range: string) {
  if (isIP(host) === 0 || !ipaddr.isValidCIDR(range)) return false;
  const address = ipaddr.parse(host);
  const [start, bits] = ipaddr.parseCIDR(range);
  return address.kind() === start.kind() && address.match(start, bits);
}

/**
 * The `fetch` of everything that people configure: it goes through the proxies of `HTTPS_PROXY` and `HTTP_PROXY`, except
 * for what `NO_PROXY` names. A proxy that fails is the cause of the error, as `proxy_failed`.
 */
export const outgoingFetch: typeof fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  try {
    const proxy = proxyFor(url);
    return await (proxy ? fetchThrough(proxy, new Request(input, init), init) : fetch(input, init));
  } catch (error) {
    const fault = proxyFault(error);
    throw fault ? new TypeError('fetch failed', { cause: fault }) : error;
  }
};

async function fetchThrough(proxy: Proxy, asked: Request, init: RequestInit = {}): Promise<Response> {
  // Node's own `fetch` does not take the proxy of another copy of its library.
  const undici = await import('undici');
  try {
    const response = await undici.fetch(asked.url, {
      method: asked.method,
      redirect: asked.redirect,
      signal: init.signal ?? asked.signal,
      headers: [...asked.headers],
      body: asked.body === null ? null : await asked.arrayBuffer(),
      dispatcher: dispatcherFor(proxy, undici),
    });
    const { status, statusText, headers, body } = response;
    // Within a tunnel the server answers, and the proxy does not.
    if (status === 407 && asked.url.startsWith('http:')) throw refusedBy(proxy, status);
    // Libraries look whether they get a `Response` of Node itself.
    return new Response(body, { status, statusText, headers: [...headers] });
  } catch (error) {
    throw proxyFault(error) ?? faultOf(proxy, error) ?? error;
  }
}

const dispatchers = new Map<string, Dispatcher>();

function dispatcherFor(proxy: Proxy, { Pool, ProxyAgent }: typeof Undici): Dispatcher {
  const { url } = proxy;
  const known = dispatchers.get(url.href);
  if (known) return known;
  const made = new ProxyAgent({
    uri: url.origin,
    headers: authorizationOf(url),
    // Proxies of companies take CONNECT for https only, so they get the whole address of what is plain http.
    proxyTunnel: false,
    // The library would never cease to try a proxy that hangs up.
    clientFactory: (origin, options) => {
      const client = new Pool(origin, options);
      const connect = (to: Dispatcher.ConnectOptions) => tunnelOf(proxy, client.connect(to));
      return Object.assign(new Pool(origin, options), { connect });
    },
  });
  dispatchers.set(url.href, made);
  return made;
}

function authorizationOf({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const pair = `${unescape(username)}:${unescape(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

/** An agent for clients that take no `fetch`. It reaches hosts as `outgoingFetch` does. Undefined: directly. */
export function outgoingAgent(url: URL): Agent | undefined {
  const proxy = proxyFor(url);
  if (proxy === undefined) return undefined;
  const isSecure = url.protocol === 'https:';
  const agent = isSecure ? new TlsAgent() : new Agent();
  agent.createConnection = ({ host: named, port }, callback) => {
    const host = named ?? url.hostname;
    const servername = isIP(host) === 0 ? host : '';
    openTunnel(proxy, `${host}:${port}`).then(
      ({ socket }) => callback?.(null, isSecure ? connectTls({ socket, host, servername }) : socket),
      (error: unknown) => callback?.(asError(error), new Duplex()),
    );
    return undefined;
  };
  return agent;
}

async function openTunnel(proxy: Proxy, path: string): Promise<Dispatcher.ConnectData> {
  const { Client } = await import('undici');
  const headers = { host: path, ...authorizationOf(proxy.url) };
  return tunnelOf(proxy, new Client(proxy.url.origin).connect({ path, headers }));
}

/** A tunnel, once it is open. If it is not, the proxy failed, because nobody else was asked. */
async function tunnelOf(
  proxy: Proxy,
  opening: Promise<Dispatcher.ConnectData>,
): Promise<Dispatcher.ConnectData> {
  const opened = await opening.catch((error: unknown) => {
    throw unreached(proxy, error);
  });
  if (opened.statusCode === 200) return opened;
  opened.socket.destroy();
  throw refusedBy(proxy, opened.statusCode);
}

/** Codes of errors after which a proxy cannot have passed anything on. */
const UNREACHED: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];

/** What a proxy did wrong, by an error of a request without a tunnel. Undefined: the proxy did its part. */
function faultOf(proxy: Proxy, error: unknown): CountersignError | undefined {
  const cause = isObject(error) ? error['cause'] : undefined;
  if (UNREACHED.includes(errnoOf(cause))) return unreached(proxy, cause);
  return errorMessage(cause).includes('(407)') ? refusedBy(proxy, 407) : undefined;
}

/** The `proxy_failed` among the causes of an error. An error may be its own cause, so only so many are looked at. */
export function proxyFault(error: unknown, most = 10): CountersignError | undefined {
  if (error instanceof CountersignError && error.code === 'proxy_failed') return error;
  return isObject(error) && most > 0 ? proxyFault(error['cause'], most - 1) : undefined;
}

function unreached(proxy: Proxy, error: unknown) {
  return failure(proxy, `cannot be reached (${errnoOf(error) ?? errorMessage(error)})`, true);
}

function refusedBy(proxy: Proxy, status: number): CountersignError {
  if (status !== 407) return failure(proxy, `answers HTTP ${status}`, status >= 500);
  const said = 'wants a name and a password, or others (HTTP 407)';
  return failure(
    proxy,
    said,
    false,
    `Write ${proxy.name} like ${proxy.url.protocol}//name:password@${proxy.url.host}.`,
  );
}

function failure({ name, url }: Proxy, said: string, retryable: boolean, hint = `Look at ${name}.`) {
  return new CountersignError('proxy_failed', `the proxy ${url.host} of ${name} ${said}; nothing was sent`, {
    hint: `${hint} NO_PROXY names the hosts that are reached without it.`,
    data: { retryable },
  });
}
