import { LRUCache } from 'lru-cache';
import type { Right } from '../api';
import { CACHE_CLOCK } from './cache-clock';
import type { Identity } from './people';
import { digestSecret, drawSecret } from './secrets';

/** A user who is signed in. */
export interface SignedIn {
  user: string;
  /** The digest of the token that was used. Absent for the person who started the web inbox and used its link. */
  tokenDigest?: string;
  /** The identity for which an issuer vouched, and when, in milliseconds. */
  vouched?: { identity: Identity; at: number };
  rights: readonly Right[];
}

const IDLE_MS = 12 * 3600 * 1000;
/** The most sessions: more than people have browsers. If there are more, the session that was idle longest ends. */
const MAX_SESSIONS = 1000;
/**
 * The most sessions of one person: more than a person has browsers. If there are more, the session of this person that
 * was idle longest ends. So nobody signs others out by signing in again and again.
 */
const MOST_OF_A_USER = 50;

/**
 * The users who are signed in, by the secret in their cookie. This is kept in memory: a restart signs everybody out. The
 * authenticator asks at each request whether such a user still exists, and with which rights.
 */
export class SignInSessions {
  /** By digest, so that the time of a lookup reveals nothing about the secret. */
  private readonly sessions = new LRUCache<string, SignedIn>({
    max: MAX_SESSIONS,
    // An entry whose age equals the ttl is still in the cache.
    ttl: IDLE_MS - 1,
    updateAgeOnGet: true,
    ...CACHE_CLOCK,
  });

  /** Signs a user in and returns the secret. */
  open(who: SignedIn): string {
    // The session that was used last comes first.
    const own = [...this.sessions.entries()].filter(([, { user }]) => user === who.user);
    for (const [key] of own.slice(MOST_OF_A_USER - 1)) this.sessions.delete(key);
    const secret = drawSecret();
    this.sessions.set(digestSecret(secret), who);
    return secret;
  }

  /** The user who belongs to a secret. The session now ends 12 hours after this call. */
  use(secret: string): SignedIn | undefined {
    return this.sessions.get(digestSecret(secret));
  }

  /** The user who belongs to a secret. This does not extend the session. */
  peek(secret: string): SignedIn | undefined {
    return this.sessions.peek(digestSecret(secret));
  }

  close(secret: string): void {
    this.sessions.delete(digestSecret(secret));
  }
}
