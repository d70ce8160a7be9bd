import { EVERYTHING, type Permit } from '../../authority/rules/permits';
import { CountersignError } from '../../contract/errors';
import { TIMES } from '../../contract/limits';
import { span } from '../../contract/text/times';
import type { SignIn } from '../api';
import type { Attempts } from './attempts';
import type { Codes } from './codes';
import type { Directory, Identity, People } from './people';
import type { IdentityProxy } from './proxy';
import { isVouchedStill, type SignInSessions, type SignedIn } from './sessions';
import { RIGHTS, type User, type Users } from './users';

/** The parts of an authenticator. */
export interface AuthenticatorParts {
  users: Users;
  sessions: SignInSessions;
  attempts: Attempts;
  /**
   * The codes of the links that the terminal prints, and the user whom they sign in. Absent if the web inbox does not
   * listen on loopback.
   */
  local?: { codes: Codes; user: string; onStale(): void };
  /** Finds the person for whom an issuer vouches. Absent if people do not sign in at an issuer. */
  directory?: Directory;
  /** The approvers file, which says what people may do and see. Absent: everybody may do everything. */
  people?: () => Promise<Pick<People, 'permitOf'>>;
  /** A reverse proxy that signs people in. A proxy needs a directory. Absent if there is no proxy. */
  proxy?: IdentityProxy;
  /** An issuer whose tokens are taken as bearer tokens. Such an issuer needs a directory. Absent if there is none. */
  tokens?: Pick<IdentityProxy, 'identify'>;
  /** The page at which signing in at the issuer begins. */
  signInAt?: string;
  /** What helps somebody who is not signed in. @default what helps in a browser */
  hint?: string;
  /** The clock, in milliseconds. @default Date.now */
  now?(): number;
}

/** The parts of a request that prove who sends it. */
export interface Credentials {
  /** The value of the cookie. */
  session?: string;
  /** The token of `Authorization: Bearer`. */
  bearer?: string;
  /** The token that a reverse proxy put into its header. */
  asserted?: string;
  /** The address that the request comes from. */
  from: string;
}

/** Finds out who sends a request. */
export interface Authenticator {
  /** The name of the header with the reverse proxy's token. Undefined: no such header is read. */
  assertedIn: string | undefined;
  /** Where an issuer signs people in. */
  signInAt: string | undefined;
  /**
   * Signs somebody in. Returns the user, and the secret for the cookie.
   *
   * @throws CountersignError `signed_out`, `too_many_attempts`.
   */
  signIn(signIn: SignIn, from: string): Promise<{ who: SignedIn; secret: string }>;
  /**
   * Signs in a person for whom an issuer vouches.
   *
   * @throws CountersignError `not_allowed`.
   */
  signInAs(identity: Identity): Promise<{ who: SignedIn; secret: string }>;
  /**
   * The sender of a request.
   *
   * @throws CountersignError as `signIn`.
   */
  identify(credentials: Credentials): Promise<SignedIn>;
  /** The sender of a request, if they are still signed in. This does not extend the session. */
  stillSignedIn(credentials: Credentials): Promise<SignedIn | undefined>;
  /** The permit of a signed-in person today: what they may do and see. */
  permitOf(who: SignedIn): Promise<Permit>;
  signOut(secret: string): void;
}

/** The authenticator of the web inbox. */
export function createAuthenticator(parts: AuthenticatorParts): Authenticator {
  return {
    signInAt: parts.signInAt,
    assertedIn: parts.proxy?.header,
    signIn: async (signIn, from) => {
      parts.attempts.check(from);
      const who = 'token' in signIn ? await byToken(parts, signIn.token) : byCode(parts, signIn.code);
      if (who === undefined) {
        parts.attempts.failed(from);
        throw signInRefused('code' in signIn);
      }
      return { who, secret: parts.sessions.open(who) };
    },
    signInAs: async (identity) => {
      const who = await personOf(parts, { identity, at: clockOf(parts) });
      if (who === undefined) throw new Error('a web inbox without people has no issuer');
      return { who, secret: parts.sessions.open(who) };
    },
    identify: (credentials) => identify(parts, credentials),
    stillSignedIn: async ({ bearer, session, asserted }) => {
      if (bearer !== undefined) return byBearer(parts, bearer).catch(unlessRefused);
      if (asserted !== undefined) return vouchedBy(parts, parts.proxy, asserted).catch(unlessRefused);
      const who = parts.sessions.peek(session ?? '');
      return who && withCurrentRights(parts, who);
    },
    permitOf: async (who) => {
      // A person who can read the terminal's link can also do everything from the command line.
      const isLocal = who.tokenDigest === undefined && who.vouched === undefined;
      return isLocal ? EVERYTHING : ((await parts.people?.())?.permitOf(who.user) ?? EVERYTHING);
    },
    signOut: (secret) => parts.sessions.close(secret),
  };
}

async function identify(
  parts: AuthenticatorParts,
  { bearer, session, asserted, from }: Credentials,
): Promise<SignedIn> {
  if (bearer !== undefined) {
    // A valid token is accepted even if many attempts through the same proxy failed.
    const who = await byBearer(parts, bearer);
    if (who !== undefined) return who;
    parts.attempts.check(from);
    parts.attempts.failed(from);
  } else if (asserted !== undefined) {
    // If the proxy sends a token, nothing else counts: a wrong token is refused and not ignored.
    const who = await vouchedBy(parts, parts.proxy, asserted);
    if (who !== undefined) return who;
  } else if (session !== undefined) {
    const who = parts.sessions.use(session);
    const today = who && (await withCurrentRights(parts, who));
    if (today !== undefined) return today;
  }
  const { signInAt, hint = IN_A_BROWSER } = parts;
  throw new CountersignError('signed_out', 'nobody is signed in', { hint, data: { signInAt } });
}

const IN_A_BROWSER = 'sign in with your token, or with the link that countersign prints in the terminal';

async function byToken({ users }: AuthenticatorParts, token: string): Promise<SignedIn | undefined> {
  const user = await users.withToken(token);
  return user && signedInAs(user);
}

/** The parts of a token that an issuer signs. Our own tokens have no dot. */
const SIGNED_TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** @throws CountersignError as `vouchedBy`. */
async function byBearer(parts: AuthenticatorParts, token: string) {
  return SIGNED_TOKEN.test(token) ? vouchedBy(parts, parts.tokens, token) : byToken(parts, token);
}

/** @throws CountersignError as `IdentityProxy.identify` and `Directory.find`. */
async function vouchedBy(
  parts: AuthenticatorParts,
  by: Pick<IdentityProxy, 'identify'> | undefined,
  token: string,
): Promise<SignedIn | undefined> {
  const identity = await by?.identify(token);
  return identity && personOf(parts, { identity, at: clockOf(parts) });
}

function unlessRefused(error: unknown): undefined {
  if (!(error instanceof CountersignError)) throw error;
}

function byCode({ local }: AuthenticatorParts, code: string): SignedIn | undefined {
  if (local === undefined) return undefined;
  const spent = local.codes.spend(code);
  // Only a code that was valid once leads to a new link. A guess does not.
  if (spent === 'stale') local.onStale();
  // A person who can read the terminal's link can also do everything from the command line.
  return spent === 'good' ? { user: local.user, rights: RIGHTS } : undefined;
}

const clockOf = ({ now = Date.now }: AuthenticatorParts): number => now();

/** @throws CountersignError `not_allowed`. */
async function personOf(
  { directory }: AuthenticatorParts,
  vouched: NonNullable<SignedIn['vouched']>,
): Promise<SignedIn | undefined> {
  const found = await directory?.find(vouched.identity);
  return found && { ...found, vouched };
}

/**
 * The same person by today's approvers file. Undefined if the person is no longer in the file, or signed in too long
 * ago.
 */
async function stillThere(
  parts: AuthenticatorParts,
  { user, vouched }: Required<Pick<SignedIn, 'user' | 'vouched'>>,
): Promise<SignedIn | undefined> {
  if (!isVouchedStill(vouched, clockOf(parts))) return undefined;
  const found = await personOf(parts, vouched).catch((error: unknown) => {
    if (error instanceof CountersignError && error.code === 'not_allowed') return undefined;
    throw error;
  });
  return found?.user === user ? found : undefined;
}

/** The user with their current rights. Undefined if the user was removed, which signs them out everywhere. */
async function withCurrentRights(parts: AuthenticatorParts, who: SignedIn): Promise<SignedIn | undefined> {
  const { users } = parts;
  const { user: name, vouched } = who;
  if (vouched !== undefined) return stillThere(parts, { user: name, vouched });
  if (who.tokenDigest === undefined) return who;
  const known = await users.list();
  const user = known.find((one) => one.name === who.user && one.tokenDigest === who.tokenDigest);
  return user && signedInAs(user);
}

function signedInAs({ name, tokenDigest, rights }: User): SignedIn {
  return { user: name, tokenDigest, rights };
}

function signInRefused(byCode: boolean): CountersignError {
  if (!byCode) {
    const hint = 'ask whoever runs the web inbox: countersign web user <name>';
    return new CountersignError('signed_out', 'no user has this token', hint);
  }
  const hint = 'the terminal that runs countersign shows a new one';
  return new CountersignError(
    'signed_out',
    `this link was used before, or is older than ${span(TIMES.signIn)}`,
    hint,
  );
}
