import type { FetchLike, OAuthTokens } from '@modelcontextprotocol/client' with {
  'resolution-mode': 'import',
};
import { defined } from '../../contract/defined';
import { errnoOf, errorMessage } from '../../contract/errors';
import { isObject } from '../../contract/json';
import { escapeHidden } from '../../contract/text/unsafe-text';
import { isSecureUrl } from '../../system/loopback';
import { proxyFault } from '../../system/proxies';
import { isTransportError } from '../errors';
import { isPrivateHost } from '../http/address';
import type { HttpRequest } from '../http/request';
import { type HttpAnswer, type Lookup, systemLookup } from '../http/send';
import { sendOutside } from '../http/send-outside';
import type { Secrets } from '../secrets';
import type { LoginAccount, Login } from './logins';

/** The client of a login, with the secret from the config if the config has one. */
export function clientOf(
  { clientId, clientSecret }: Pick<Login, 'clientId' | 'clientSecret'>,
  given: string | undefined,
): { client_id: string; client_secret?: string } {
  return { client_id: clientId, client_secret: given ?? clientSecret };
}

/** A token is renewed this long before its end. A short-lived token is renewed after half of its life. */
const EARLY_SECONDS = 30;

/** Tokens in the form of a login. */
export function loginFields(
  tokens: OAuthTokens,
): Pick<Login, 'accessToken' | 'refreshToken' | 'expiresAt' | 'renewAt' | 'scopes'> {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds = 0, scope } = tokens;
  const now = Date.now();
  const inSeconds = (after: number) => now + Math.round(after * 1000);
  return {
    accessToken,
    ...(seconds > 0
      ? { expiresAt: inSeconds(seconds), renewAt: inSeconds(Math.max(seconds - EARLY_SECONDS, seconds / 2)) }
      : {}),
    ...defined({ refreshToken, scopes: scope === undefined ? undefined : readScopes(scope) }),
  };
}

/**
 * Requires bearer tokens that can be sent in a header.
 *
 * @throws Error for another kind of token, and for a token that a header cannot carry.
 */
export function requireBearer(tokens: OAuthTokens): OAuthTokens {
  if (tokens.token_type.toLowerCase() !== 'bearer') throw new Error('it gave a token of an unknown kind');
  if (!/^[\x21-\x7e]+$/.test(tokens.access_token)) throw new Error('it gave a token that cannot be sent');
  return tokens;
}

/** Why a request to an authorization server failed. Shows only the code and the message of the server's answer. */
export function oauthReason(error: unknown, secrets: Secrets): string {
  const fault = proxyFault(error);
  if (fault !== undefined) return fault.message;
  if (isTransportError(error))
    return `the authorization server ${error.nothingSent ? 'cannot be reached' : 'hung up'}`;
  // We read the name: Jest and some applications load the library into another context, where `instanceof` fails.
  const name = isObject(error) ? String(error['name']) : '';
  const code = errnoOf(error) ?? '';
  if (name === 'TimeoutError' || name === 'AbortError') return 'the authorization server did not answer';
  if (name === 'SyntaxError' || name === 'ZodError' || name === '$ZodError')
    return 'the answer of the authorization server cannot be understood';
  if (name === 'RegistrationRejectedError')
    return 'the authorization server does not register this client by itself';
  if (name === 'IssuerMismatchError') return 'the answer is not of the authorization server that was asked';
  // If the library cannot read an answer, it puts the whole answer into the message.
  const isRaw = /Raw body|^HTTP /.test(errorMessage(error));
  if (name === 'OAuthError') return isRaw ? 'it answered with an error' : oauthText(code, error, secrets);
  return secrets.hide(escapeHidden(errorMessage(error)).slice(0, 300));
}

function oauthText(code: string, error: unknown, secrets: Secrets) {
  const known = /^[a-z_]{1,64}$/.test(code) ? code : 'an unknown error';
  const words = errorMessage(error);
  return words === code ? known : `${known}: ${secrets.hide(escapeHidden(words.slice(0, 200)))}`;
}

/** A scope of RFC 6749. No other text of a server may become a part of a command. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const MOST_SCOPES = 32;

/** The scopes in a text of a server. Invalid scopes are left out. */
export function readScopes(text: string): string[] {
  const found = text.split(' ').filter((one) => SCOPE.test(one));
  return [...new Set(found)].slice(0, MOST_SCOPES);
}

const ANSWER_MS = 15_000;
const ANSWER_BYTES = 1024 * 1024;

/**
 * A `fetch` for the authorization server of an account, with a limit for the time and the size of an answer. A public
 * server must not make this machine send requests to private addresses, and secrets go over TLS. The addresses of a name
 * are checked, and the connection goes to one of these. A redirect is an answer like any other, and is not followed.
 */
export function safeFetch(
  account: LoginAccount,
  answerMs = ANSWER_MS,
  stop?: AbortSignal,
  lookup: Lookup = systemLookup,
): FetchLike {
  return async (place, init = {}) => {
    requireSafe(place, account);
    const url = new URL(place);
    const asked = new Request(url, init);
    const method = asked.method === 'POST' ? 'POST' : 'GET';
    const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer());
    const signals = [AbortSignal.timeout(answerMs), stop, init.signal].filter((one) => one != null);
    const signal = AbortSignal.any(signals);
    const privateHosts = () => mayBePrivate(url, account);
    try {
      const request: HttpRequest = { method, url, headers: [...asked.headers], body };
      return toResponse(await sendOutside(request, { privateHosts, lookup, maxBytes: ANSWER_BYTES, signal }));
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  };
}

function toResponse({ status, statusText, headers, body }: HttpAnswer): Response {
  if ('missing' in body) throw new Error(body.missing);
  const bytes = body.length === 0 ? null : new Uint8Array(body);
  return new Response(bytes, { status, statusText, headers: Object.fromEntries(headers) });
}

/** @throws Error for a URL to which a login of this account must not lead. */
export function requireSafe(place: string | URL, account: LoginAccount): void {
  const url = URL.canParse(String(place)) ? new URL(place) : undefined;
  if (url === undefined || !isSecureUrl(url))
    throw new Error(`${escapeHidden(String(place))} is neither https nor on this machine`);
  if (isPrivateHost(url) && !mayBePrivate(url, account))
    throw new Error(`the server leads to the private address ${escapeHidden(url.host)}`);
}

/** Whether a URL may lead to a private address: to the server itself or the issuer of the config, or for a private server. */
function mayBePrivate({ origin }: URL, { url, issuer }: LoginAccount) {
  const own = new URL(url);
  const isNamed = issuer !== undefined && URL.canParse(issuer) && new URL(issuer).origin === origin;
  return isNamed || own.origin === origin || isPrivateHost(own);
}
