import { CountersignError } from '../../contract/errors';
import type { SignIn } from '../api';
import type { Attempts } from './attempts';
import type { Codes } from './codes';
import type { SignedIn, Sessions } from './sessions';
import type { Users } from './users';

/** What a door is made of. */
export interface DoorParts {
  users: Users;
  sessions: Sessions;
  attempts: Attempts;
  /** Codes of the terminal's links, and who signs in with one; absent where the desk is not on loopback. */
  local?: { codes: Codes; user: string; onStale(): void };
}

/** What a request brings along to say who sends it. */
export interface Credentials {
  /** The cookie's value. */
  session?: string;
  /** The token of `Authorization: Bearer`. */
  bearer?: string;
  /** The address it comes from. */
  from: string;
}

/** Decides who is who. */
export interface Door {
  /** Signs in; returns who, and the secret for the cookie. Errors: `signed_out`, `too_many_attempts`. */
  signIn(signIn: SignIn, from: string): Promise<{ who: SignedIn; secret: string }>;
  /** Who sends a request. Errors: as `signIn`. */
  identify(credentials: Credentials): Promise<SignedIn>;
  /** Whether who sent a request is still signed in; does not count as use. */
  isStillIn(credentials: Credentials): Promise<boolean>;
  signOut(secret: string): void;
}

/** The one door of the desk. */
export function createDoor(parts: DoorParts): Door {
  return {
    signIn: async (signIn, from) => {
      parts.attempts.check(from);
      const who = 'token' in signIn ? await byToken(parts, signIn.token) : byCode(parts, signIn.code);
      if (who === undefined) {
        parts.attempts.failed(from);
        throw refused('code' in signIn);
      }
      return { who, secret: parts.sessions.open(who) };
    },
    identify: (credentials) => identify(parts, credentials),
    isStillIn: async ({ bearer, session }) => {
      if (bearer !== undefined) return (await byToken(parts, bearer)) !== undefined;
      const who = parts.sessions.peek(session ?? '');
      return who !== undefined && (await isStillUser(parts, who));
    },
    signOut: (secret) => parts.sessions.close(secret),
  };
}

async function identify(parts: DoorParts, { bearer, session, from }: Credentials): Promise<SignedIn> {
  if (bearer !== undefined) {
    // A token that is good goes, whatever others behind the same proxy try.
    const who = await byToken(parts, bearer);
    if (who !== undefined) return who;
    parts.attempts.check(from);
    parts.attempts.failed(from);
  } else if (session !== undefined) {
    const who = parts.sessions.use(session);
    if (who !== undefined && (await isStillUser(parts, who))) return who;
  }
  throw new CountersignError('signed_out', 'nobody is signed in here', {
    hint: 'sign in with your token, or with the link that countersign prints in the terminal',
  });
}

async function byToken({ users }: DoorParts, token: string): Promise<SignedIn | undefined> {
  const user = await users.withToken(token);
  return user === undefined ? undefined : { user: user.name, tokenDigest: user.tokenDigest };
}

function byCode({ local }: DoorParts, code: string): SignedIn | undefined {
  if (local === undefined) return undefined;
  const spent = local.codes.spend(code);
  // Whoever only guesses draws no links.
  if (spent === 'stale') local.onStale();
  return spent === 'good' ? { user: local.user } : undefined;
}

/** Whoever was removed from the users is signed out everywhere. */
async function isStillUser({ users }: DoorParts, { user, tokenDigest }: SignedIn): Promise<boolean> {
  if (tokenDigest === undefined) return true;
  return (await users.list()).some((one) => one.name === user && one.tokenDigest === tokenDigest);
}

function refused(byCode: boolean): CountersignError {
  if (!byCode) {
    const hint = 'ask whoever runs the desk: countersign web user add <name>';
    return new CountersignError('signed_out', 'this token is nobody’s', { hint });
  }
  const hint = 'a new one stands in the terminal that runs countersign';
  return new CountersignError('signed_out', 'this link was used before, or is older than 10 minutes', {
    hint,
  });
}
