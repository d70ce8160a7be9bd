import { isIP } from 'node:net';
import type * as Tldts from 'tldts';
import type { CountersignError } from '../../contract/errors';
import { wrongOptions } from '../option-values';
import { requirePackage } from '../../system/missing-package';

/** Whether the host and the port of a URL are on a list of the configuration. */
export type HostList = (url: URL) => boolean;

/** One entry of a list. Without a port, it means the port of the scheme: 443 for https, 80 for http. */
interface Entry {
  name: string;
  port: string | undefined;
  /** True: the entry matches every name with one label in front of `name`, but not `name` itself. */
  isBelow: boolean;
}

/**
 * Reads a list of hosts: `api.example.com`, `api.example.com:8443`, `10.0.0.7`, `[fd00::7]:8080`, `*.example.com`.
 *
 * @param option the option that holds the list, for the message.
 * @param toError makes the error. @default one of `http_request`
 * @throws CountersignError `config_invalid` for an entry that names no host, and for a `*` below a public suffix.
 */
export function hostList(option: string, entries: readonly string[], toError = invalidOption): HostList {
  const known = entries.map((entry) => readEntry(entry, (message) => toError(option, message)));
  return (url) => known.some((entry) => matches(entry, url));
}

const ENTRY = /^(\*\.)?(.+?)(?::(\d{1,5}))?$/s;

function readEntry(entry: string, toError: (message: string) => Error): Entry {
  const [, below, host = '', port] = ENTRY.exec(entry) ?? [];
  const name = nameOf(host);
  if (name === undefined || Number(port ?? 1) > 65_535 || Number(port ?? 1) === 0)
    throw toError(`${JSON.stringify(entry)} names no host; write api.example.com or api.example.com:8443`);
  if (below !== undefined && !isRegistered(name))
    throw toError(`${JSON.stringify(entry)} would let in whoever has a name under that suffix`);
  return { name, port, isBelow: below !== undefined };
}

/** The host as a URL spells it: lower case, punycode, addresses in their usual form. */
function nameOf(host: string): string | undefined {
  if (!/^[^\s/?#@\\%*]+(?<!:)$/.test(host)) return undefined;
  try {
    const { hostname, port } = new URL(`http://${host}`);
    return port !== '' || hostname.endsWith('.') ? undefined : hostname;
  } catch {
    return undefined;
  }
}

/** True for a registered name or a name below it. False for a public suffix such as `com`, `co.uk` or `github.io`. */
function isRegistered(name: string) {
  if (isIP(name) !== 0 || name.startsWith('[')) return false;
  // Its list of public suffixes is large, and most configurations have no `*`.
  requirePackage('tldts');
  const { getDomain }: typeof Tldts = require('tldts');
  return getDomain(name, { allowPrivateDomains: true }) !== null;
}

function matches({ name, port, isBelow }: Entry, url: URL) {
  const isPort = port === undefined ? url.port === '' : port === portOf(url);
  const { hostname } = url;
  return isPort && name === (isBelow ? hostname.slice(hostname.indexOf('.') + 1) : hostname);
}

/** The port that a URL leads to. */
export function portOf({ port, protocol }: URL): string {
  return port === '' ? (protocol === 'https:' ? '443' : '80') : port;
}

/** The error for a wrong option of the pack. */
export function invalidOption(option: string, message: string): CountersignError {
  return wrongOptions('createHttpTools')(`\`${option}\`: ${message}`);
}
