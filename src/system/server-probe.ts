import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import type { ConnectionOptions, TLSConfig } from '@temporalio/client';
import type { SERVER_HINTS } from '../contract/text/server-hints';

/** The address of a server, and how to connect to it. */
interface ServerAddress {
  address: string;
  connection?: Pick<ConnectionOptions, 'tls' | 'apiKey'>;
}

/** Why a connection cannot be made. `SERVER_HINTS` says what to do about it. */
type NoAnswer = Exclude<keyof typeof SERVER_HINTS, 'keyRefused'>;

/** The outcome of a greeting: the server's settings, silence, or the code of the error. */
type Greeting = 'settings' | 'silence' | (string & {});

/** The longest wait for a server that sends nothing at all, in milliseconds. */
const SILENCE_MS = 10_000;

/** The longest wait if we only look for the reason of a failure, in milliseconds. */
const REASON_MS = 4_000;

/**
 * Whether a server sends nothing at all within `waitMs`, not even a refusal. A worker's own connection waits half a
 * minute for such a server, and that wait cannot be shortened.
 */
export async function isSilent(server: ServerAddress, waitMs = SILENCE_MS): Promise<boolean> {
  // We send nothing on this connection, and the worker's own connection checks certificates.
  const tls = tlsOptions(server) === undefined ? undefined : { rejectUnauthorized: false };
  return (await greet(server.address, tls, waitMs)) === 'silence';
}

/**
 * Why a connection could not be made. The SDK's client only reports that time ran out, and its core has no error codes.
 * So this function makes its own connection.
 */
export async function reasonOfNoAnswer(server: ServerAddress): Promise<NoAnswer> {
  const tls = tlsOptions(server);
  const greeting = await greet(server.address, tls, REASON_MS);
  const reason = BY_GREETING[greeting];
  if (reason !== undefined) return reason;
  return tls ? reasonWithTls(greeting) : reasonWithoutTls(server.address);
}

/** The reasons that are the same with and without TLS. */
const BY_GREETING: Partial<Record<Greeting, NoAnswer>> = {
  settings: 'unanswered',
  silence: 'silent',
  ENOTFOUND: 'unknownHost',
  EAI_AGAIN: 'unknownHost',
  ECONNREFUSED: 'nobody',
};

/**
 * The errors that occur when a server without TLS answers a TLS greeting with other bytes, or closes the connection.
 */
const NO_TLS = /^(EPROTO|ECONNRESET|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/;
const NO_CERTIFICATE = /CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE/;
const BAD_CERTIFICATE = /CERT|SIGNATURE|ISSUER/;

/**
 * The reason for a connection without TLS. A server with TLS closes the connection after a plain greeting. Servers
 * other than Temporal's do so, too.
 */
async function reasonWithoutTls(address: string): Promise<NoAnswer> {
  const greeting = await greet(address, { rejectUnauthorized: false }, REASON_MS);
  if (greeting === 'settings' || NO_CERTIFICATE.test(greeting)) return 'wantsTls';
  return greeting === 'silence' ? 'silent' : 'nobody';
}

function reasonWithTls(greeting: Greeting): NoAnswer {
  if (greeting === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'otherName';
  if (NO_CERTIFICATE.test(greeting)) return 'wantsCertificate';
  if (BAD_CERTIFICATE.test(greeting)) return 'untrusted';
  return NO_TLS.test(greeting) ? 'withoutTls' : 'nobody';
}

/** The TLS options. Undefined if TLS is off. With an API key, TLS is on unless it is switched off, as in the SDK. */
function tlsOptions({ connection }: ServerAddress): TlsOptions | undefined {
  const tls = connection?.tls ?? connection?.apiKey !== undefined;
  if (tls === false) return undefined;
  return tls === true ? {} : fromTemporal(tls);
}

function fromTemporal(tls: TLSConfig): TlsOptions {
  const { serverNameOverride, serverRootCACertificate, clientCertPair } = tls;
  return {
    servername: serverNameOverride,
    ca: serverRootCACertificate && Buffer.from(serverRootCACertificate),
    cert: clientCertPair && Buffer.from(clientCertPair.crt),
    key: clientCertPair && Buffer.from(clientCertPair.key),
  };
}

/** The first bytes of an HTTP/2 client: its preface, and an empty settings frame. */
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
/** The position of the type in a frame, and the type of a settings frame, with which a server begins. */
const TYPE_AT = 3;
const SETTINGS = 4;

/**
 * Connects like a gRPC client, waits for the first bytes of the answer, and closes the connection. Node's own HTTP/2
 * client is not used, because it does not report that a server asks for a certificate.
 */
function greet(address: string, tls: TlsOptions | undefined, waitMs: number): Promise<Greeting> {
  const place = splitAddress(address);
  // The SDK reports an address that is not valid.
  if (place === undefined) return Promise.resolve('ERR_INVALID_URL');
  return new Promise((resolve) => {
    const socket = tls ? connectTls({ ALPNProtocols: ['h2'], ...place, ...tls }) : connectTcp(place);
    const finish = (greeting: Greeting) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(greeting);
    };
    const timer = setTimeout(() => finish('silence'), waitMs);
    socket.once(tls ? 'secureConnect' : 'connect', () => socket.write(PREFACE));
    socket.once('data', (data) => finish(data[TYPE_AT] === SETTINGS ? 'settings' : 'EPROTO'));
    socket.once('close', () => finish('ECONNRESET'));
    socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'UNKNOWN'));
  });
}

/** Splits `host:port`. An IPv6 address is in brackets. Temporal's own port is the default. */
function splitAddress(address: string): { host: string; port: number } | undefined {
  const url = `http://${/:\d+$/.test(address) ? address : `${address}:7233`}`;
  if (!URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  // A URL leaves out the default port of its scheme.
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
}
