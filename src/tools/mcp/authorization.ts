import type { AuthorizationServerMetadata, FetchLike, OAuthTokens } from '@modelcontextprotocol/client' with {
  'resolution-mode': 'import',
};
import { CountersignError, errorMessage } from '../../contract/errors';
import { shellWord } from '../../contract/text/shell-word';
import { escapeHidden } from '../../contract/text/unsafe-text';
import { isTransportError, TransportError } from '../errors';
import type { Secrets } from '../secrets';
import { unlessAborted } from '../wait-within';
import { type LoginAccount, aloneWith, type Login, readLogin, removeLogin, writeLogin } from './logins';
import { clientOf, loginFields, oauthReason, readScopes, requireBearer, safeFetch } from './oauth';

/** The dependencies of authorized requests. */
interface AccessDeps {
  secrets: Secrets;
  /** The longest time that an authorization server may take for one answer, in milliseconds. @default 15 seconds */
  answerMs?: number;
}

/** A server wants a person to log in. Nothing was done, and another attempt does not help. */
export class LoginNeeded extends TransportError {
  constructor(server: string, why: string, args: readonly string[] = []) {
    super(`the MCP server ${server} ${why}; run \`${loginCommand(server, args)}\``, {
      nothingSent: true,
      retryable: false,
    });
  }
}

/** The command that logs in to a server. */
export function loginCommand(server: string, args: readonly string[] = []): string {
  return ['countersign mcp login', ...[server, ...args].map(shellWord)].join(' ');
}

/**
 * Makes a `fetch` that sends the token of an account, and only to the origin of the account's server. A token that
 * expires soon is renewed first; a token that the server refuses is renewed once. Rejects with LoginNeeded if a person
 * has to log in; never starts a login.
 */
export function authorizedFetch(base: FetchLike, account: LoginAccount, deps: AccessDeps): FetchLike {
  const { origin } = new URL(account.url);
  return async (url, init = {}) => {
    if (new URL(url).origin !== origin) return base(url, init);
    const send = (token: string | undefined) => base(url, withToken(init, token));
    const token = await ready(currentToken(account, deps), account, init.signal);
    const first = await send(token);
    if (first.status !== 401) return requireScopes(first, account);
    await first.body?.cancel();
    const second = await send(await ready(renewedToken(account, token, deps), account, init.signal));
    if (second.status !== 401) return requireScopes(second, account);
    await second.body?.cancel();
    throw new LoginNeeded(account.name, 'refuses the login');
  };
}

function withToken(init: RequestInit, token: string | undefined): RequestInit {
  if (token === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${token}`);
  return { ...init, headers };
}

/** Waits for a token. An error here proves that nothing was sent. */
async function ready<T>(
  token: Promise<T>,
  { name }: LoginAccount,
  signal: AbortSignal | null = null,
): Promise<T> {
  try {
    return await (signal === null ? token : unlessAborted(token, signal));
  } catch (error) {
    if (isTransportError(error) || signal?.aborted === true) throw error;
    const hint = error instanceof CountersignError && error.hint !== undefined ? `; ${error.hint}` : '';
    throw unsent(`the login at the MCP server ${name} cannot be used: ${errorMessage(error)}${hint}`);
  }
}

async function requireScopes(response: Response, { name }: LoginAccount): Promise<Response> {
  if (response.status !== 403) return response;
  const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
  const { error, scope = '' } = extractWWWAuthenticateParams(response);
  if (error !== 'insufficient_scope') return response;
  await response.body?.cancel();
  const scopes = readScopes(scope);
  if (scopes.length === 0) throw new LoginNeeded(name, 'asks for more scopes and does not say which');
  const list = scopes.map((one) => escapeHidden(one)).join(', ');
  throw new LoginNeeded(name, `asks for the scopes ${list}`, ['--scopes', ...scopes]);
}

/** The current token. Undefined if nobody has logged in, because the server may not need a login. */
async function currentToken(account: LoginAccount, deps: AccessDeps) {
  const login = readLogin(account, deps.secrets);
  if (login === undefined) return undefined;
  requireIssuer(account, login);
  const { accessToken, refreshToken, renewAt = Infinity, expiresAt = Infinity } = login;
  if (refreshToken === undefined || Date.now() < renewAt) return accessToken;
  try {
    return await renew(account, accessToken, deps);
  } catch (error) {
    if (error instanceof LoginNeeded || Date.now() >= expiresAt) throw error;
    return accessToken;
  }
}

/** A new token, after the server has refused a token. */
async function renewedToken(account: LoginAccount, refused: string | undefined, deps: AccessDeps) {
  const login = readLogin(account, deps.secrets);
  if (login === undefined) throw new LoginNeeded(account.name, 'asks for a login');
  requireIssuer(account, login);
  if (login.accessToken !== refused) return login.accessToken;
  if (login.refreshToken === undefined) throw new LoginNeeded(account.name, 'refuses the login');
  return renew(account, refused, deps);
}

function requireIssuer({ name, issuer }: LoginAccount, login: Login) {
  if (issuer !== undefined && issuer !== login.issuer)
    throw new LoginNeeded(name, 'has a login of another authorization server than the config names');
}

/**
 * Renews a token, unless another process has renewed it. A refresh token works once, so one process at a time sends it.
 */
function renew(account: LoginAccount, stale: string, deps: AccessDeps) {
  return aloneWith(account, async () => {
    const login = readLogin(account, deps.secrets);
    if (login === undefined) throw new LoginNeeded(account.name, 'asks for a login');
    if (login.accessToken !== stale) return login.accessToken;
    if (login.refreshToken === undefined) throw new LoginNeeded(account.name, 'refuses the login');
    const tokens = await refresh(account, { ...login, refreshToken: login.refreshToken }, deps);
    // If the server sends no expiry times now, the old ones must not stay.
    const { expiresAt: _, renewAt: __, ...kept } = login;
    const renewed: Login = { ...kept, ...loginFields(tokens) };
    for (const secret of [renewed.accessToken, renewed.refreshToken]) deps.secrets.keep(secret ?? '');
    await writeLogin(account, renewed);
    return renewed.accessToken;
  });
}

const SECRET_MS = 15_000;

async function refresh(
  account: LoginAccount,
  login: Login & { refreshToken: string },
  deps: AccessDeps,
): Promise<OAuthTokens> {
  const { OAuthError, refreshAuthorization } = await import('@modelcontextprotocol/client');
  const { answerMs, secrets } = deps;
  const given = await account.clientSecret(AbortSignal.timeout(SECRET_MS));
  try {
    const tokens = await refreshAuthorization(login.issuer, {
      metadata: metadataOf(login),
      clientInformation: clientOf(login, given),
      refreshToken: login.refreshToken,
      resource: login.resource,
      fetchFn: safeFetch(account, answerMs),
    });
    return requireBearer(tokens);
  } catch (error) {
    const why = oauthReason(error, secrets);
    const code = error instanceof OAuthError ? error.code : '';
    if (code === 'invalid_client' || code === 'unauthorized_client')
      throw new LoginNeeded(account.name, `has a login whose client is refused (${why})`);
    // The cause may hold the answer, and the answer may hold a token.
    if (code !== 'invalid_grant')
      throw unsent(`the login at the MCP server ${account.name} could not be renewed: ${why}`);
    // The refresh token would be refused again, and some servers end all logins of a person who sends a used token.
    const { refreshToken: _, ...rest } = login;
    await writeLogin(account, rest);
    throw new LoginNeeded(account.name, `has ended the login (${why})`);
  }
}

function unsent(message: string) {
  return new TransportError(message, { nothingSent: true });
}

/** The metadata of the authorization server, as it was at the login, in the client library's form. */
function metadataOf({ issuer, tokenEndpoint, authMethods }: Login): AuthorizationServerMetadata {
  return {
    issuer,
    authorization_endpoint: issuer,
    token_endpoint: tokenEndpoint,
    response_types_supported: ['code'],
    token_endpoint_auth_methods_supported: authMethods,
  };
}

/** The result of a logout. */
interface Logout {
  /** `none`: nobody was logged in. `failed`: the login is removed here, but it may still be valid at the server. */
  revoked: 'none' | 'yes' | 'not_offered' | 'failed';
  why?: string;
}

/** Removes a login here first, and then asks the authorization server to revoke it. */
export async function logOut(account: LoginAccount, secrets: Secrets, answerMs?: number): Promise<Logout> {
  let login: Login | undefined;
  try {
    login = await aloneWith(account, async () => {
      try {
        return readLogin(account, secrets);
      } finally {
        await removeLogin(account);
      }
    });
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return { revoked: 'failed', why: error.message };
  }
  if (login === undefined) return { revoked: 'none' };
  if (login.revocationEndpoint === undefined) return { revoked: 'not_offered' };
  try {
    await revoke(account, { ...login, endpoint: login.revocationEndpoint }, answerMs);
    return { revoked: 'yes' };
  } catch (error) {
    return { revoked: 'failed', why: oauthReason(error, secrets) };
  }
}

/** RFC 7009. The revocation of a refresh token also revokes the tokens that came from it. */
async function revoke(
  account: LoginAccount,
  login: Login & { endpoint: string },
  answerMs: number | undefined,
) {
  const { selectClientAuthMethod } = await import('@modelcontextprotocol/client');
  const secret = await account.clientSecret(AbortSignal.timeout(SECRET_MS));
  const client = clientOf(login, secret);
  const isBasic = selectClientAuthMethod(client, login.authMethods ?? []) === 'client_secret_basic';
  const pair = Buffer.from(`${client.client_id}:${client.client_secret ?? ''}`).toString('base64');
  const kinds = { refresh_token: login.refreshToken, access_token: login.accessToken };
  for (const [kind, token] of Object.entries(kinds)) {
    if (token === undefined) continue;
    const response = await safeFetch(account, answerMs)(login.endpoint, {
      method: 'POST',
      redirect: 'error',
      headers: isBasic ? { authorization: `Basic ${pair}` } : {},
      body: new URLSearchParams({ token, token_type_hint: kind, ...(isBasic ? {} : client) }),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`it answered with the status ${response.status}`);
  }
}
