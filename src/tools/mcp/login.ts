import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuthorizationServerMetadata, FetchLike } from '@modelcontextprotocol/client' with {
  'resolution-mode': 'import',
};
import { CountersignError } from '../../contract/errors';
import { escapeHidden } from '../../contract/text/unsafe-text';
import type { Secrets } from '../secrets';
import type { McpOAuth } from './declare';
import { type LoginAccount, aloneWith, type Login, writeLogin } from './logins';
import {
  clientOf,
  loginFields,
  oauthReason,
  readScopes,
  requireBearer,
  requireSafe,
  safeFetch,
} from './oauth';

/** The options of a login. */
interface LoginRequest {
  account: LoginAccount;
  /** The config's headers for every request to the server. */
  headers: Readonly<Record<string, string>>;
  oauth: McpOAuth;
  /** Scopes to request in addition to the scopes of the config or of the server. */
  scopes: readonly string[];
  /** The URL to which the browser returns. */
  redirectUrl: string;
  secrets: Secrets;
  /** An abort ends the login, and then nothing of the login is kept. */
  stop: AbortSignal;
  /** The longest time that a server may take for one answer, in milliseconds. @default 15 seconds */
  answerMs?: number;
}

/** A login that waits for a person. */
export interface OpenLogin {
  /** The URL at which the person agrees. */
  url: string;
  issuer: string;
  /** The requested scopes; empty if the server chooses. */
  scopes: string[];
  /** Whether an answer belongs to this login. Other answers are ignored. */
  isFor(answer: URLSearchParams): boolean;
  /**
   * Fetches the tokens and stores them. The new tokens replace an earlier login.
   *
   * @throws CountersignError `sign_in_failed`
   */
  finish(answer: URLSearchParams): Promise<Login>;
}

/**
 * Finds the authorization server of an MCP server, registers a client there unless the config has one, and returns the
 * URL at which the person agrees. Opens no browser.
 *
 * @throws CountersignError `sign_in_failed`
 */
export async function beginLogin(request: LoginRequest): Promise<OpenLogin> {
  return orFailed(request, async () => {
    const { startAuthorization } = await import('@modelcontextprotocol/client');
    const found = await discover(request);
    const { metadata, resource, scopes } = found;
    const client = await clientFor(request, found);
    const state = randomBytes(32).toString('base64url');
    const { authorizationUrl, codeVerifier } = await startAuthorization(metadata.issuer, {
      metadata,
      clientInformation: clientOf(client, undefined),
      redirectUrl: request.redirectUrl,
      state,
      resource,
      scope: scopeOf(scopes),
    });
    return {
      url: authorizationUrl.href,
      issuer: metadata.issuer,
      scopes,
      isFor: (answer) => isSame(answer.get('state') ?? '', state),
      finish: (answer) =>
        orFailed(request, () => exchange(request, { ...found, client, codeVerifier, answer })),
    };
  });
}

/** The authorization server of an MCP server. */
interface Found {
  metadata: AuthorizationServerMetadata;
  /** RFC 7009. Undefined if the server offers no revocation. */
  revocationEndpoint: string | undefined;
  /** The resource of the tokens, as the server writes it. Undefined if the server names no resource. */
  resource: string | undefined;
  /** The scopes to request; empty if the server chooses. */
  scopes: string[];
}

/**
 * Asks an MCP server and its authorization server for all that a login needs.
 *
 * @throws Error if one of the servers cannot be asked, or leads to an address that does not belong to it.
 */
async function discover(request: LoginRequest): Promise<Found> {
  const { checkResourceAllowed, discoverOAuthServerInfo } = await import('@modelcontextprotocol/client');
  const { account, oauth } = request;
  const fetchFn = fetchFor(request);
  const asked = await challenge(request, fetchFn);
  const info = await discoverOAuthServerInfo(account.url, { ...asked.at, fetchFn });
  const { authorizationServerMetadata: metadata, resourceMetadata } = info;
  const resource = resourceMetadata?.resource;
  const isOther =
    resource !== undefined &&
    !checkResourceAllowed({ requestedResource: account.url, configuredResource: resource });
  if (isOther) throw new Error('the server says that its tokens are for another server');
  if (metadata === undefined) throw new Error('the server names no authorization server that can be asked');
  if (account.issuer !== undefined && account.issuer !== metadata.issuer)
    throw new Error(
      `the server names the authorization server ${escapeHidden(metadata.issuer)}, and the config names another`,
    );
  const { authorization_endpoint, token_endpoint, registration_endpoint } = metadata;
  const revocationEndpoint =
    'revocation_endpoint' in metadata ? optionalText(metadata.revocation_endpoint) : undefined;
  for (const endpoint of [authorization_endpoint, token_endpoint, registration_endpoint, revocationEndpoint])
    if (endpoint !== undefined) requireSafe(endpoint, account);
  const wanted = asked.scopes ?? readScopes((resourceMetadata?.scopes_supported ?? []).join(' '));
  const offline = metadata.scopes_supported?.includes('offline_access') === true && wanted.length > 0;
  const own = oauth.scopes ?? [...wanted, ...(offline ? ['offline_access'] : [])];
  return { metadata, revocationEndpoint, resource, scopes: [...new Set([...own, ...request.scopes])] };
}

function optionalText(value: unknown) {
  return typeof value === 'string' ? value : undefined;
}

/** The server's URL for its metadata, and the scopes that it asks for. */
interface Challenge {
  at: { resourceMetadataUrl?: URL };
  scopes?: string[];
}

/** The answer of a server to a request without a login. */
async function challenge({ account, headers }: LoginRequest, fetchFn: FetchLike): Promise<Challenge> {
  const { extractWWWAuthenticateParams, LATEST_PROTOCOL_VERSION } =
    await import('@modelcontextprotocol/client');
  const params = {
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: 'countersign', version: '1' },
  };
  const response = await fetchFn(account.url, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await response.body?.cancel();
  if (response.status !== 401) return { at: {} };
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  if (resourceMetadataUrl !== undefined && resourceMetadataUrl.origin !== new URL(account.url).origin)
    throw new Error('the server says that its metadata is at another server');
  return {
    at: { resourceMetadataUrl },
    scopes: scope === undefined ? undefined : readScopes(scope),
  };
}

type Client = Pick<Login, 'clientId' | 'clientSecret'>;

async function clientFor(request: LoginRequest, { metadata, scopes }: Found): Promise<Client> {
  const { account, redirectUrl } = request;
  if (account.clientId !== undefined) return { clientId: account.clientId };
  if (metadata.registration_endpoint === undefined)
    throw new CountersignError(
      'sign_in_failed',
      `logging in to ${account.name} failed: its authorization server registers no clients by itself`,
      `Register one at ${escapeHidden(metadata.issuer)} with the redirect http://127.0.0.1:<port>/callback, and write \`oauth: { clientId, callbackPort }\` for the server.`,
    );
  const { registerClient } = await import('@modelcontextprotocol/client');
  const registered = await registerClient(metadata.issuer, {
    metadata,
    clientMetadata: {
      client_name: 'Countersign',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    scope: scopeOf(scopes),
    fetchFn: fetchFor(request),
  });
  request.secrets.keep(registered.client_secret ?? '');
  return { clientId: registered.client_id, clientSecret: registered.client_secret };
}

interface Exchange extends Found {
  client: Client;
  codeVerifier: string;
  answer: URLSearchParams;
}

async function exchange(request: LoginRequest, open: Exchange): Promise<Login> {
  const { exchangeAuthorization } = await import('@modelcontextprotocol/client');
  const { account, redirectUrl, secrets, stop } = request;
  const { metadata, resource, client, codeVerifier, answer, scopes } = open;
  const iss = answer.get('iss') ?? undefined;
  const code = await codeIn(answer, metadata, secrets);
  const tokens = await exchangeAuthorization(metadata.issuer, {
    metadata,
    clientInformation: clientOf(client, await account.clientSecret(stop)),
    authorizationCode: code,
    codeVerifier,
    redirectUri: redirectUrl,
    iss,
    resource,
    fetchFn: fetchFor(request),
  });
  for (const secret of [tokens.access_token, tokens.refresh_token]) secrets.keep(secret ?? '');
  const { token_endpoint_auth_methods_supported: authMethods } = metadata;
  const login: Login = {
    version: 1,
    url: account.url,
    issuer: metadata.issuer,
    tokenEndpoint: metadata.token_endpoint,
    ...client,
    resource,
    authMethods,
    revocationEndpoint: open.revocationEndpoint,
    scopes: scopes.length === 0 ? undefined : scopes,
    ...loginFields(requireBearer(tokens)),
  };
  await aloneWith(account, () => {
    stop.throwIfAborted();
    return writeLogin(account, login);
  });
  return login;
}

/** The code in an answer. Checks the issuer first (RFC 9207), so that no words of another server are shown. */
async function codeIn(answer: URLSearchParams, metadata: AuthorizationServerMetadata, secrets: Secrets) {
  const { OAuthError, validateAuthorizationResponseIssuer } = await import('@modelcontextprotocol/client');
  validateAuthorizationResponseIssuer({
    iss: answer.get('iss') ?? undefined,
    expectedIssuer: metadata.issuer,
    issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
  });
  const error = answer.get('error');
  if (error !== null) throw new OAuthError(error, answer.get('error_description') ?? error);
  const code = answer.get('code');
  if (code === null || code === '')
    throw new Error('the authorization server sent neither a code nor an error');
  secrets.keep(code);
  return code;
}

function scopeOf(scopes: readonly string[]) {
  return scopes.length === 0 ? undefined : scopes.join(' ');
}

function isSame(one: string, other: string) {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

async function orFailed<T>({ account, secrets, stop }: LoginRequest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    stop.throwIfAborted();
    if (error instanceof CountersignError) throw error;
    throw new CountersignError(
      'sign_in_failed',
      `logging in to ${account.name} failed: ${oauthReason(error, secrets)}`,
    );
  }
}

function fetchFor({ account, answerMs, stop }: LoginRequest) {
  return safeFetch(account, answerMs, stop);
}
