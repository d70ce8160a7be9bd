import { createHmac, randomBytes } from 'node:crypto';
import type * as Client from 'openid-client';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { defined } from '../../contract/defined';
import { CountersignError } from '../../contract/errors';
import { isObject } from '../../contract/json';
import { TIMES } from '../../contract/limits';
import { span } from '../../contract/text/times';
import { isPlainLocal } from '../../system/loopback';
import { outgoingFetch, proxyFault } from '../../system/proxies';
import { CACHE_CLOCK } from './cache-clock';
import type { Identity } from './people';
import { digestSecret, drawSecret, sameDigest } from './secrets';

/** An OpenID provider at which people sign in. */
export interface OidcOptions {
  issuer: string;
  clientId: string;
  /** Absent: the client has no secret, and only PKCE protects it. */
  clientSecret?: string;
  /** The scopes that are requested. @default openid email profile */
  scopes?: readonly string[];
  /** The claim that lists groups. @default groups */
  groupsClaim?: string;
}

/** The data at the beginning of a sign-in. */
interface SignInStart {
  /** The address to which the browser goes. */
  url: string;
  /** The secret that the browser's cookie holds until the browser comes back. */
  secret: string;
}

/** Signs people in at an issuer: authorization code, PKCE, state and nonce. */
export interface Oidc {
  /**
   * Begins a sign-in. `anew`: the issuer asks for the password even if it knows the browser.
   *
   * @throws CountersignError `server_failed`.
   */
  begin(anew?: boolean): Promise<SignInStart>;
  /**
   * Ends a sign-in, once. `query` is what the issuer added to the address, and `secret` what the cookie held.
   *
   * @throws CountersignError `sign_in_failed`, `server_failed`.
   */
  finish(query: string, secret: string | undefined): Promise<Identity>;
  /**
   * The address at which the browser signs out at the issuer and then comes back here. Undefined if the issuer has no
   * such address.
   *
   * @throws CountersignError `server_failed`.
   */
  leave(idToken: string): Promise<string | undefined>;
  /**
   * The address of the issuer's public keys.
   *
   * @throws CountersignError `server_failed`.
   */
  keysAt(): Promise<string>;
  /** @throws CountersignError `server_failed`. */
  check(): Promise<void>;
}

/** The path to which the issuer sends the browser back. */
export const CALLBACK = '/sign-in/done';

/**
 * The most ended sign-ins that are remembered. If there are more, only the issuer keeps the oldest from ending twice: it
 * accepts a code once.
 */
const MOST_ENDED = 10_000;
const TIMEOUT_S = 10;
/** The largest difference that is allowed between the clocks of issuer and web inbox, in seconds. */
const CLOCK_S = 30;
/** The oldest id token that is accepted, in seconds: a token is made for this sign-in, so it cannot be older. */
const OLDEST_S = 300;
/**
 * The longest id token, in characters, that fits into an address. Without the token, the issuer asks the person to
 * confirm that they want to sign out.
 */
const LONGEST_HINT = 4_096;

/** The values of one sign-in. Only this process can work them out from the secret that the cookie holds. */
interface Begun {
  state: string;
  nonce: string;
  verifier: string;
}

/** @param now The clock, in milliseconds. */
export function createOidc(options: OidcOptions, publicUrl: string, now: () => number = Date.now): Oidc {
  const underWay = createUnderWay(now);
  // The address may have a path, under which everything of the web inbox is.
  const home = publicUrl.replace(/\/*$/, '/');
  const redirect = new URL(CALLBACK.slice(1), home).href;
  const discover = remembered(() => discovered(options, now));
  return {
    check: async () => void (await discover()),
    keysAt: async () => {
      const { jwks_uri: url } = (await discover()).config.serverMetadata();
      if (url === undefined) throw unreachable(options.issuer);
      return url;
    },
    begin: async (anew = false) => {
      const { client, config } = await discover();
      const { secret, state, nonce, verifier } = underWay.begin();
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirect,
        scope: (options.scopes ?? ['openid', 'email', 'profile']).join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
        ...(anew ? { prompt: 'login' } : {}),
      });
      return { url: url.href, secret };
    },
    finish: async (query, secret) => {
      const returned = new URL(`${redirect}${query}`);
      const state = returned.searchParams.get('state') ?? '';
      // The sign-in is used up before the issuer is asked, so that a second request at the same moment is refused.
      const begun = underWay.end(state, secret);
      if (begun === undefined) throw stale();
      const { client, config } = await discover();
      try {
        const { verifier: pkceCodeVerifier, nonce: expectedNonce } = begun;
        const checks = { pkceCodeVerifier, expectedNonce, expectedState: state, idTokenExpected: true };
        const answer = await client.authorizationCodeGrant(config, returned, checks);
        const claims = answer.claims();
        const more = claims && (await fromUserInfo(client, config, { claims, token: answer.access_token }));
        const identity = identityOf(joinClaims(claims, more), options, now() / 1000);
        return { ...identity, ...defined({ idToken: answer.id_token }) };
      } catch (error) {
        throw inWords(error, options.issuer);
      }
    },
    leave: async (idToken) => leaving(await discover(), idToken, new URL(home)),
  };
}

/**
 * The sign-ins under way. Each is kept by its own browser alone, so that nobody can crowd out the sign-ins of others by
 * beginning many. The browser holds a secret with the time of the beginning. The state, the nonce and the PKCE verifier
 * follow from that secret and a key of this process.
 */
function createUnderWay(now: () => number) {
  const key = randomBytes(32);
  const ended = new LRUCache<string, true>({ max: MOST_ENDED, ttl: TIMES.signIn, ...CACHE_CLOCK });
  const derive = (use: keyof Begun, secret: string) =>
    createHmac('sha256', key).update(`${use}:${secret}`).digest('base64url');
  const begunWith = (secret: string): Begun => ({
    state: derive('state', secret),
    nonce: derive('nonce', secret),
    verifier: derive('verifier', secret),
  });
  return {
    begin: (): Begun & { secret: string } => {
      const secret = `${drawSecret()}.${now()}`;
      return { secret, ...begunWith(secret) };
    },
    /** Ends the sign-in that a browser began. Undefined if it did not, has ended it before, or began too long ago. */
    end: (state: string, secret = ''): Begun | undefined => {
      const begun = begunWith(secret);
      const digest = digestSecret(state);
      // Who knows the state of a secret got both from here, so the time in the secret is true.
      if (!sameDigest(digestSecret(begun.state), digest) || ended.has(digest)) return undefined;
      if (now() - Number(secret.split('.')[1]) >= TIMES.signIn) return undefined;
      ended.set(digest, true);
      return begun;
    },
  };
}

/**
 * The address that ends a session at the issuer. The browser goes there, so its scheme has to be the issuer's scheme.
 */
function leaving({ client, config }: Discovered, idToken: string, home: URL): string | undefined {
  const { issuer, end_session_endpoint: end } = config.serverMetadata();
  if (end === undefined || !URL.canParse(end) || new URL(end).protocol !== new URL(issuer).protocol)
    return undefined;
  const hint: Record<string, string> = idToken.length > LONGEST_HINT ? {} : { id_token_hint: idToken };
  return client.buildEndSessionUrl(config, { post_logout_redirect_uri: home.href, ...hint }).href;
}

/** The claims from the issuer's userinfo endpoint. Many issuers put no mail address into the token. */
async function fromUserInfo(
  { fetchUserInfo }: typeof Client,
  config: Client.Configuration,
  { claims, token }: { claims: Client.IDToken; token: string },
): Promise<Claims> {
  if (config.serverMetadata().userinfo_endpoint === undefined) return {};
  return fetchUserInfo(config, token, claims.sub);
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * The claims of the id token, and of the userinfo endpoint what the token lacks. The mail address comes from the one
 * that says that this address is verified.
 */
export function joinClaims(token: Claims = {}, more: Claims = {}): Claims {
  const one = [token, more].find((claims) => claims['email_verified'] === true && 'email' in claims);
  return { ...more, ...token, email: one?.['email'], email_verified: one !== undefined };
}

/** Runs a job once and remembers its result. After a failure the job runs again. */
function remembered<T>(job: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined;
  return () => {
    known ??= job().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}

interface Discovered {
  client: typeof Client;
  config: Client.Configuration;
}

/** Reads the issuer's metadata. The library is loaded only here, because most web inboxes have no issuer. */
async function discovered(
  { issuer, clientId, clientSecret }: OidcOptions,
  now: () => number,
): Promise<Discovered> {
  const client = await import('openid-client');
  const skew = Math.round((now() - Date.now()) / 1000);
  const metadata = { [client.clockTolerance]: CLOCK_S, [client.clockSkew]: skew };
  const isPlain = isPlainLocal(new URL(issuer));
  try {
    const config = await client.discovery(
      new URL(issuer),
      clientId,
      metadata,
      clientSecret === undefined ? client.None() : client.ClientSecretBasic(clientSecret),
      {
        timeout: TIMEOUT_S,
        execute: isPlain ? [client.allowInsecureRequests] : [],
        [client.customFetch]: (url, init) => outgoingFetch(url, defined(init)),
      },
    );
    // The token comes over TLS, but the signature proves more, because somebody who can answer at that address still
    // cannot sign.
    client.enableNonRepudiationChecks(config);
    return { client, config };
  } catch (error) {
    throw unreachable(issuer, error);
  }
}

const claimsSchema = z.object({
  sub: z.string().min(1).max(255),
  iat: z.number(),
  email: z.email().max(320).optional().catch(undefined),
  email_verified: z.literal(true).optional().catch(undefined),
});

/** The identity that a token names. An unverified mail address is left out. */
function identityOf(claims: Claims, { groupsClaim = 'groups' }: OidcOptions, nowS: number): Identity {
  const read = claimsSchema.safeParse(claims);
  if (!read.success) throw invalid('it does not say who signed in, or when');
  const { sub, iat, email, email_verified: isVerified } = read.data;
  if (iat > nowS + CLOCK_S || iat < nowS - OLDEST_S) throw clockWrong();
  return { subject: sub, groups: groupsIn(claims[groupsClaim]), ...defined({ mail: isVerified && email }) };
}

/** The group names in a claim. Everything else in the claim is ignored. */
export function groupsIn(claim: unknown): string[] {
  const all: unknown[] = Array.isArray(claim) ? claim : [claim];
  return all.filter((one): one is string => typeof one === 'string' && one !== '').slice(0, 1_000);
}

/** The error of a sign-in, in words. The original error may contain a token, so it is neither kept nor shown. */
function inWords(error: unknown, issuer: string): unknown {
  if (error instanceof CountersignError) return error;
  const { code, claim, answered } = factsOf(error);
  switch (code) {
    case 'OAUTH_AUTHORIZATION_RESPONSE_ERROR':
      return refused(issuer, answered);
    case 'OAUTH_WWW_AUTHENTICATE_CHALLENGE':
      return refused(issuer, 'invalid_client');
    case 'OAUTH_RESPONSE_BODY_ERROR':
      return answered === 'invalid_grant' ? stale() : refused(issuer, answered);
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return clockWrong();
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
      return invalid(`its claim \`${claim}\` is not that of this sign-in`);
    // An error without a code means that the issuer has not answered.
    case '':
    case 'OAUTH_TIMEOUT':
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
    case 'OAUTH_RESPONSE_IS_NOT_JSON':
    case 'OAUTH_PARSE_ERROR':
      return unreachable(issuer, proxyFault(error));
    default:
      return invalid('its form or its signature is wrong');
  }
}

/** The parts of an error of openid-client that contain no secret. */
function factsOf(error: unknown): { code: string; claim: string; answered: string } {
  const cause = isObject(error) ? error['cause'] : undefined;
  return {
    code: plainTextIn(error, 'code'),
    claim: plainTextIn(cause, 'claim'),
    answered: plainTextIn(error, 'error'),
  };
}

/** The text of a field of an error. Empty if it is not a short word: a longer text could contain a secret. */
export function plainTextIn(value: unknown, name: string): string {
  const text = isObject(value) ? value[name] : undefined;
  return typeof text === 'string' && /^[\w.-]{1,60}$/.test(text) ? text : '';
}

function stale() {
  return new CountersignError(
    'sign_in_failed',
    `this sign-in was used before, is older than ${span(TIMES.signIn)}, or began in another browser`,
    'start again from the page of the web inbox',
  );
}

function refused(issuer: string, answered: string): CountersignError {
  const isDenied = answered === 'access_denied';
  const what = isDenied
    ? 'the sign-in was denied'
    : `the issuer refused the sign-in: ${answered === '' ? 'it does not say why' : answered}`;
  const hint = isDenied
    ? 'start again, and agree to what the issuer asks'
    : `compare the client id, its secret and its redirect address with those at ${issuer}`;
  return new CountersignError('sign_in_failed', what, hint);
}

/** What a proxy on the way did wrong, to be appended to a message. */
export function whyNoProxy(error: unknown): string {
  const fault = proxyFault(error);
  return fault ? `: ${fault.message}` : '';
}

function unreachable(issuer: string, cause?: unknown): CountersignError {
  const message = `the issuer ${issuer} cannot be reached, or does not answer as one${whyNoProxy(cause)}`;
  return new CountersignError('server_failed', message, {
    hint: 'try again; `countersign doctor --sign-in <file>` looks at it from that machine',
    ...defined({ cause }),
  });
}

function clockWrong() {
  return new CountersignError(
    'sign_in_failed',
    'by the clock here, the id token is too old or from the future',
    'compare the clocks of the issuer and of the machine that runs the web inbox',
  );
}

function invalid(why: string) {
  return new CountersignError(
    'sign_in_failed',
    `the issuer's id token is not accepted: ${why}`,
    'start again; if it stays, the issuer or the client id of the web inbox is not the right one',
  );
}
