import { LRUCache } from 'lru-cache';
import { defined } from '../../contract/defined';
import { EVERYTHING, type Permit } from '../../contract/authority/permits';
import { CountersignError } from '../../contract/errors';
import type { Right, SignIn } from '../api';
import type { Directory, Identity, People } from './people';
import type { Proxy } from './proxy';
import { RIGHTS, type User, type Users } from './users';
import { digestSecret, drawSecret } from './secrets';

/** The parts of an authenticator. */
export interface AuthenticatorParts {
  users: Users;
  sessions: Sessions;
  attempts: Attempts;
  /** The codes of the terminal's links, and the user they sign in; absent when the web inbox does not listen on loopback. */
  local?: { codes: Codes; user: string; onStale(): void };
  /** Who somebody is that an issuer vouches for; absent where there is none. */
  directory?: Directory;
  /** The file that says what people may do and see. Absent: everybody may do everything. */
  people?: () => Promise<Pick<People, 'permitOf'>>;
  /** A reverse proxy that signs people in; absent where there is none. It needs a directory. */
  proxy?: Proxy;
  /** Where signing in at the issuer begins. */
  signInAt?: string;
  /** The clock, in milliseconds. @default Date.now */
  now?(): number;
}

/** What a request carries to prove who sends it. */
export interface Credentials {
  /** The cookie's value. */
  session?: string;
  /** The token of `Authorization: Bearer`. */
  bearer?: string;
  /** The token that a reverse proxy put into its header. */
  asserted?: string;
  /** The address it comes from. */
  from: string;
}

/** Finds out who sends a request. */
export interface Authenticator {
  /** The header of the reverse proxy's token; undefined: none is read. */
  assertedIn: string | undefined;
  /**
   * Signs in; returns the user, and the secret for the cookie.
   *
   * @throws CountersignError `signed_out`, `too_many_attempts`.
   */
  signIn(signIn: SignIn, from: string): Promise<{ who: SignedIn; secret: string }>;
  /**
   * Signs in whom an issuer vouches for.
   *
   * @throws CountersignError `person_unknown`.
   */
  signInAs(identity: Identity): Promise<{ who: SignedIn; secret: string }>;
  /**
   * Who sends a request.
   *
   * @throws CountersignError as `signIn`.
   */
  identify(credentials: Credentials): Promise<SignedIn>;
  /** The sender of a request where they are still signed in; does not count as use of the session. */
  stillSignedIn(credentials: Credentials): Promise<SignedIn | undefined>;
  /** What somebody who is signed in may do today, and what they see. */
  permitOf(who: SignedIn): Promise<Permit>;
  signOut(secret: string): void;
}

/** The authenticator of the web inbox. */
export function createAuthenticator(parts: AuthenticatorParts): Authenticator {
  return {
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
      if (bearer !== undefined) return byToken(parts, bearer);
      if (asserted !== undefined) return byProxy(parts, asserted).catch(unlessRefused);
      const who = parts.sessions.peek(session ?? '');
      return who && withCurrentRights(parts, who);
    },
    permitOf: async (who) => {
      // Whoever reads the terminal's link can do everything from the command line too.
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
    // A valid token is accepted, however many failures come from the same proxy.
    const who = await byToken(parts, bearer);
    if (who !== undefined) return who;
    parts.attempts.check(from);
    parts.attempts.failed(from);
  } else if (asserted !== undefined) {
    // Where the proxy speaks, nothing else counts: a wrong token is not taken for none.
    const who = await byProxy(parts, asserted);
    if (who !== undefined) return who;
  } else if (session !== undefined) {
    const who = parts.sessions.use(session);
    const today = who && (await withCurrentRights(parts, who));
    if (today !== undefined) return today;
  }
  const { signInAt } = parts;
  throw new CountersignError('signed_out', 'nobody is signed in', {
    hint: 'sign in with your token, or with the link that countersign prints in the terminal',
    data: defined({ signInAt }),
  });
}

async function byToken({ users }: AuthenticatorParts, token: string): Promise<SignedIn | undefined> {
  const user = await users.withToken(token);
  return user && signedInAs(user);
}

/** @throws CountersignError as `Proxy.identify` and `Directory.find`. */
async function byProxy(parts: AuthenticatorParts, token: string): Promise<SignedIn | undefined> {
  const identity = await parts.proxy?.identify(token);
  return identity && personOf(parts, { identity, at: clockOf(parts) });
}

function unlessRefused(error: unknown): undefined {
  if (!(error instanceof CountersignError)) throw error;
}

function byCode({ local }: AuthenticatorParts, code: string): SignedIn | undefined {
  if (local === undefined) return undefined;
  const spent = local.codes.spend(code);
  // Only a code that was valid once draws a new link; a guess does not.
  if (spent === 'stale') local.onStale();
  // Whoever reads the terminal's link can do everything from the command line too.
  return spent === 'good' ? { user: local.user, rights: RIGHTS } : undefined;
}

/** How long an issuer's word counts: it may have taken somebody's account since. Milliseconds. */
const VOUCHED_MS = 12 * 3600 * 1000;

const clockOf = ({ now = Date.now }: AuthenticatorParts): number => now();

/** @throws CountersignError `person_unknown`. */
async function personOf(
  { directory }: AuthenticatorParts,
  vouched: NonNullable<SignedIn['vouched']>,
): Promise<SignedIn | undefined> {
  const found = await directory?.find(vouched.identity);
  return found && { ...found, vouched };
}

/** The same person as they are in the file today; undefined when they are not, or their sign-in is too long ago. */
async function stillThere(
  parts: AuthenticatorParts,
  { user, vouched }: Required<Pick<SignedIn, 'user' | 'vouched'>>,
): Promise<SignedIn | undefined> {
  if (clockOf(parts) - vouched.at >= VOUCHED_MS) return undefined;
  const found = await personOf(parts, vouched).catch((error: unknown) => {
    if (error instanceof CountersignError && error.code === 'person_unknown') return undefined;
    throw error;
  });
  return found?.user === user ? found : undefined;
}

/** The user with their current rights; undefined when they were removed, which signs them out everywhere. */
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
    const hint = 'ask whoever runs the web inbox: countersign web user add <name>';
    return new CountersignError('signed_out', 'no user has this token', { hint });
  }
  const hint = 'the terminal that runs countersign shows a new one';
  return new CountersignError('signed_out', 'this link was used before, or is older than 10 minutes', {
    hint,
  });
}

/** Counts failed attempts to sign in, by address. */
interface Attempts {
  /** @throws CountersignError `too_many_attempts` after 10 failures within a minute. */
  check(from: string): void;
  failed(from: string): void;
}

const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;
/** Addresses that are remembered. */
const MAX_ADDRESSES = 10_000;

/** No failures yet. `now` is the clock, in milliseconds. */
export function createAttempts(now: () => number = Date.now): Attempts {
  // When the last failures of an address were: each counts for one minute.
  const failures = new LRUCache<string, number[]>({
    max: MAX_ADDRESSES,
    ttl: WINDOW_MS,
    ...cacheClock(now),
  });
  const recent = (from: string): number[] =>
    (failures.peek(from) ?? []).filter((at) => now() - at < WINDOW_MS);
  return {
    check: (from) => {
      if (recent(from).length >= MAX_FAILURES) throw tooMany();
    },
    failed: (from) => void failures.set(from, [...recent(from), now()].slice(-MAX_FAILURES)),
  };
}

function tooMany(): CountersignError {
  return new CountersignError('too_many_attempts', 'too many failed attempts to sign in', {
    hint: 'wait a minute, then try again',
  });
}

/** `stale`: the code was drawn, and is used or too old. `unknown`: it was never drawn. */
type CodeState = 'good' | 'stale' | 'unknown';

/** One-time codes of the links that the terminal prints. */
export interface Codes {
  /** Draws a code that is valid once, and for 10 minutes. */
  draw(): string;
  /** Uses a code up; `good` the first time and within 10 minutes. */
  spend(code: string): CodeState;
}

const CODE_LIFETIME_MS = 10 * 60 * 1000;
/** Codes that are remembered. */
const MAX_CODES = 20;

/** No codes yet. `now` is the clock, in milliseconds. */
export function createCodes(now: () => number = Date.now): Codes {
  // A code that is used or too old stays known: its link was real.
  const codes = new LRUCache<string, { isSpent: boolean }>({
    max: MAX_CODES,
    ttl: CODE_LIFETIME_MS,
    allowStale: true,
    ...cacheClock(now),
  });
  return {
    draw: () => {
      const code = drawSecret();
      codes.set(digestSecret(code), { isSpent: false });
      return code;
    },
    spend: (code) => {
      const key = digestSecret(code);
      const known = codes.peek(key);
      if (known === undefined) return 'unknown';
      const isGood = !known.isSpent && codes.getRemainingTTL(key) > 0;
      known.isSpent = true;
      return isGood ? 'good' : 'stale';
    },
  };
}

/** A user who is signed in. */
export interface SignedIn {
  user: string;
  /** The digest of the token that was used; absent for the person who started the web inbox and used its link. */
  tokenDigest?: string;
  /** What an issuer said of them, and when; milliseconds. */
  vouched?: { identity: Identity; at: number };
  rights: readonly Right[];
}

/** The users who are signed in, by the secret in their cookie. Kept in memory: a restart signs everybody out. */
interface Sessions {
  /** Signs a user in and returns the secret. */
  open(who: SignedIn): string;
  /** The user of a secret. The session now ends 12 hours after this use. */
  use(secret: string): SignedIn | undefined;
  /** The user of a secret. Does not count as use. */
  peek(secret: string): SignedIn | undefined;
  close(secret: string): void;
}

const IDLE_MS = 12 * 3600 * 1000;
/** More sessions than people have browsers; beyond it the one that was idle longest ends. */
const MAX_SESSIONS = 1000;

/** No sessions yet. `now` is the clock, in milliseconds. */
export function createSessions(now: () => number = Date.now): Sessions {
  // By digest, so that the time of a lookup says nothing about the secret.
  const sessions = new LRUCache<string, SignedIn>({
    max: MAX_SESSIONS,
    // An entry whose age equals the ttl is still in the cache.
    ttl: IDLE_MS - 1,
    updateAgeOnGet: true,
    ...cacheClock(now),
  });
  return {
    peek: (secret) => sessions.peek(digestSecret(secret)),
    open: (who) => {
      const secret = drawSecret();
      sessions.set(digestSecret(secret), who);
      return secret;
    },
    use: (secret) => sessions.get(digestSecret(secret)),
    close: (secret) => void sessions.delete(digestSecret(secret)),
  };
}

/** The clock of an `LRUCache`, asked each time: by default the cache remembers the time for a millisecond, by a timer. */
function cacheClock(now: () => number) {
  return { perf: { now }, ttlResolution: 0 };
}
