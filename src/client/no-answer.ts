import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import { SERVER_HINTS } from '../contract/server-hints';
import type { Settings } from './settings';

const PROBE_MS = 2_000;
/** Nothing came back at all. */
const SILENT = 'ETIMEDOUT';
/** A plain server answers a TLS greeting with nonsense, or hangs up. */
const NO_TLS = ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ECONNRESET'];

/**
 * What to do about a connection that could not be made. gRPC's client tells no reason, only that time ran out, so this
 * knocks once more in plain sight.
 */
export async function hintForNoAnswer({ address, connection }: Settings): Promise<string> {
  const place = splitAddress(address);
  const tcp = await knock(place);
  if (tcp !== undefined)
    return tcp === 'ENOTFOUND' || tcp === 'EAI_AGAIN' ? SERVER_HINTS.unknownHost : SERVER_HINTS.nobody;
  const tls = tlsOptions(connection.tls);
  if (tls === undefined) return hintForPlain(place);
  return SERVER_HINTS[meaningOf(await knock(place, tls))];
}

async function hintForPlain(place: Place): Promise<string> {
  const failure = await knock(place, { rejectUnauthorized: false });
  if (failure === undefined) return SERVER_HINTS.wantsTls;
  return failure === SILENT ? SERVER_HINTS.silent : SERVER_HINTS.nobody;
}

function meaningOf(failure: string | undefined): keyof typeof SERVER_HINTS {
  if (failure === undefined) return 'nobody';
  if (failure === SILENT) return 'silent';
  if (failure === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'otherName';
  if (NO_TLS.includes(failure)) return 'withoutTls';
  return /CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE/.test(failure) ? 'wantsCertificate' : 'untrusted';
}

interface Place {
  host: string;
  port: number;
}

/** `host:port`; an IPv6 address stands in brackets. */
function splitAddress(address: string): Place {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}

/** Undefined when the connection is not to use TLS. */
function tlsOptions(tls: Settings['connection']['tls']): TlsOptions | undefined {
  if (tls === undefined || tls === null || tls === false) return undefined;
  if (tls === true) return {};
  const { serverNameOverride, serverRootCACertificate, clientCertPair } = tls;
  return {
    ...(serverNameOverride === undefined ? {} : { servername: serverNameOverride }),
    ...(serverRootCACertificate === undefined ? {} : { ca: Buffer.from(serverRootCACertificate) }),
    ...(clientCertPair
      ? { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) }
      : {}),
  };
}

/** Connects and hangs up; resolves with the code of what went wrong, or undefined. */
function knock(place: Place, tls?: TlsOptions): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket =
      tls === undefined ? connectTcp(place) : connectTls({ ALPNProtocols: ['h2'], ...place, ...tls });
    const tell = (failure?: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(failure);
    };
    const timer = setTimeout(() => tell(SILENT), PROBE_MS);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => tell());
    socket.once('error', (error: NodeJS.ErrnoException) => tell(error.code ?? 'UNKNOWN'));
    socket.once('close', () => tell('ECONNRESET'));
  });
}
