import { digestSecret, drawSecret } from './secrets';

/** Somebody who is signed in. */
export interface SignedIn {
  user: string;
  /** Of the token it was done with; absent for who started the desk and used its link. */
  tokenDigest?: string;
}

/** Who is signed in, by the secret in their cookie. Kept in memory: a restart signs everybody out. */
export interface Sessions {
  /** Signs somebody in and returns the secret. */
  open(who: SignedIn): string;
  /** Who a secret belongs to, and starts the 12 hours of idleness anew. */
  use(secret: string): SignedIn | undefined;
  /** Who a secret belongs to; nothing else changes. */
  peek(secret: string): SignedIn | undefined;
  close(secret: string): void;
}

const IDLE_MS = 12 * 3600 * 1000;
/** More than people have browsers; the one that was idle longest gives way. */
const MOST = 1000;

/** No sessions yet. `now` is the clock, in milliseconds. */
export function createSessions(now: () => number = Date.now): Sessions {
  // In order of last use. By digest: finding one takes no longer for a secret that is nearly right.
  const sessions = new Map<string, { who: SignedIn; usedAt: number }>();
  const peek = (secret: string): SignedIn | undefined => {
    const found = sessions.get(digestSecret(secret));
    return found !== undefined && now() - found.usedAt < IDLE_MS ? found.who : undefined;
  };
  const keep = (secret: string, who: SignedIn): void => {
    const key = digestSecret(secret);
    sessions.delete(key);
    sessions.set(key, { who, usedAt: now() });
    const [oldest] = sessions.keys();
    if (sessions.size > MOST && oldest !== undefined) sessions.delete(oldest);
  };
  return {
    peek,
    open: (who) => {
      const secret = drawSecret();
      keep(secret, who);
      return secret;
    },
    use: (secret) => {
      const who = peek(secret);
      if (who === undefined) sessions.delete(digestSecret(secret));
      else keep(secret, who);
      return who;
    },
    close: (secret) => void sessions.delete(digestSecret(secret)),
  };
}
