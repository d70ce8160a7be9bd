import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { defined } from '../../contract/defined';
import { errnoOf, errorMessage } from '../../contract/errors';
import { isToolError, nothingDone, ToolError, TransportError } from '../errors';
import { unlessAborted } from '../wait-within';
import { addressIn, isPublicAddress } from './address';
import { type HostList, portOf } from './hosts';
import { type HttpRequest, isReading, ONLY_PUBLIC } from './request';
import { readAtMost } from '../../system/read-at-most';

/** Finds all addresses of a name. Contract: rejects if the name has no address. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>;

/** The look-up by this machine's own resolver. */
export const systemLookup: Lookup = (host) => lookup(host, { all: true });

/** The settings for sending requests. */
export interface Network {
  /** The hosts that may be reached although their addresses are private. */
  privateHosts: HostList;
  lookup: Lookup;
  /** The certificates to trust. Absent: the certificates that Node trusts. */
  trust?: SecureContext;
  /** The most bytes of a body, packed and unpacked. A longer body is not kept. */
  maxBytes: number;
  signal: AbortSignal;
}

/** The answer of a server. */
export interface HttpAnswer {
  status: number;
  statusText: string;
  /** The headers in the order in which they came, with names in lower case. */
  headers: readonly (readonly [name: string, value: string])[];
  /** The unpacked body, or the reason why the body is missing. */
  body: Buffer | { missing: string };
}

/**
 * Sends one request, over a connection of its own to an address that was checked, and reads the whole answer.
 *
 * @throws TransportError if the connection broke; `nothingSent` is true if it was never established.
 * @throws ToolError if the host may not be reached; `nothingDone` after an abort before anything was sent.
 */
export async function send(request: HttpRequest, network: Network): Promise<HttpAnswer> {
  const { url, method } = request;
  const socket = await unsent(url, network.signal, () => openConnection(url, network));
  try {
    return await toAnswer(await exchange(socket, request, network.signal), network.maxBytes);
  } catch (error) {
    const what = `the connection to ${url.host} broke after ${method} was sent`;
    throw new TransportError(`${what} (${reasonOf(error)})`, { cause: error });
  } finally {
    socket.destroy();
  }
}

/** Does work before a request is sent. If this work fails, nothing was sent, and the error proves this. */
export async function unsent<T>(url: URL, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted();
    return await unlessAborted(work(), signal);
  } catch (error) {
    if (signal.aborted) throw nothingDone('it was stopped before anything was sent', { cause: error });
    if (isToolError(error)) throw error;
    const message = `no connection to ${url.host} (${reasonOf(error)}); nothing was sent`;
    throw new TransportError(message, { nothingSent: true, cause: error });
  }
}

function reasonOf(error: unknown) {
  return errnoOf(error) ?? errorMessage(error);
}

/** Opens a connection to a checked address. Later answers of the resolver have no effect. */
async function openConnection(url: URL, network: Network): Promise<Socket> {
  const addresses = await checkedAddresses(url, network);
  const socket = dial(url, addresses, network);
  try {
    await unlessAborted(untilOpen(socket, url.protocol === 'https:'), network.signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}

/**
 * The addresses of a URL's host, after a check that each of them may be reached.
 *
 * @throws ToolError if an address may not be reached; Error if there is no address.
 */
export async function checkedAddresses(
  url: URL,
  { privateHosts, lookup }: Pick<Network, 'privateHosts' | 'lookup'>,
): Promise<readonly LookupAddress[]> {
  const address = addressIn(url);
  const found =
    address === undefined ? await lookup(url.hostname) : [{ address, family: address.includes(':') ? 6 : 4 }];
  // One private address among public ones is a trick, or a mistake that somebody could use.
  if (!privateHosts(url) && !found.every((one) => isPublicAddress(one.address)))
    throw new ToolError(`${url.host} leads to a private address. ${ONLY_PUBLIC} Nothing was sent.`);
  if (found.length === 0) throw new Error('it has no address');
  return found;
}

function dial(url: URL, addresses: readonly LookupAddress[], { trust }: Network): Socket {
  const way = wayTo(url, addresses);
  if (url.protocol !== 'https:') return connectTcp(way);
  const servername = addressIn(url) === undefined ? way.host : undefined;
  return connectTls({
    ...way,
    ALPNProtocols: ['http/1.1'],
    servername,
    secureContext: trust,
  });
}

/** The options of a connection to checked addresses, without another look-up. */
export function wayTo(url: URL, addresses: readonly LookupAddress[]) {
  const [first] = addresses;
  const lookup: LookupFunction = (_, { all }, callback) =>
    all === true ? callback(null, [...addresses]) : callback(null, first?.address ?? '', first?.family);
  return { host: addressIn(url) ?? url.hostname, port: Number(portOf(url)), lookup };
}

function untilOpen(socket: Socket, isTls: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(isTls ? 'secureConnect' : 'connect', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('it was closed at once')));
  });
}

function exchange(
  socket: Socket,
  { method, url, headers, body }: HttpRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const length = body === undefined && isReading(method) ? undefined : String(body?.length ?? 0);
    const all = {
      'user-agent': 'countersign',
      accept: '*/*',
      ...Object.fromEntries(headers),
      host: url.host,
      'accept-encoding': 'gzip, br',
      ...defined({ 'content-length': length }),
    };
    const path = `${url.pathname}${url.search}`;
    const request = httpRequest({ createConnection: () => socket, method, path, headers: all, signal });
    request.once('response', resolve);
    request.once('error', reject);
    request.once('upgrade', () => reject(new Error('the server switched protocols')));
    request.end(body);
  });
}

async function toAnswer(response: IncomingMessage, maxBytes: number): Promise<HttpAnswer> {
  const { statusCode = 0, statusMessage = '', rawHeaders } = response;
  const headers = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? ''] as const] : [],
  );
  const packed = await readAtMost(response, maxBytes);
  const codings = response.headers['content-encoding'] ?? '';
  const body = packed === undefined ? overLimit(maxBytes) : await unpack(packed, codings, maxBytes);
  return { status: statusCode, statusText: statusMessage, headers, body };
}

/** The body of an answer that has too many bytes. */
export function overLimit(maxBytes: number): { missing: string } {
  return { missing: `the body has more than ${maxBytes} bytes and is not shown` };
}

const UNPACK = new Map([
  ['gzip', promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)],
  ['x-gzip', promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)],
  ['deflate', promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate)],
  ['br', promisify<Buffer, { maxOutputLength: number }, Buffer>(brotliDecompress)],
]);

/** The most codings of a body. There is no good reason to pack a body more than once. */
const MOST_CODINGS = 2;

async function unpack(packed: Buffer, codings: string, maxBytes: number) {
  const names = codings.split(',').map((name) => name.trim().toLowerCase());
  const steps = names.filter((name) => name !== '' && name !== 'identity').reverse();
  if (packed.length === 0 || steps.length === 0) return packed;
  let body = packed;
  try {
    for (const step of steps) {
      const unpackOne = UNPACK.get(step);
      if (unpackOne === undefined || steps.length > MOST_CODINGS)
        return { missing: `the body is packed as ${JSON.stringify(codings.slice(0, 100))} and is not shown` };
      body = await unpackOne(body, { maxOutputLength: maxBytes });
    }
    return body;
  } catch (error) {
    if (errnoOf(error) === 'ERR_BUFFER_TOO_LARGE') return overLimit(maxBytes);
    return { missing: `the body cannot be unpacked (${reasonOf(error)})` };
  }
}
