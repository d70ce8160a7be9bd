import { EVERYTHING, type Permit } from '../../authority/rules/permits';
import { CountersignError } from '../../contract/errors';
import { TIMES } from '../../contract/limits';
import { span } from '../../contract/text/times';
import type { SignIn } from '../api';
import type { Attempts } from './attempts';
import type { Codes } from './codes';
import type { createDirectory, Identity, People } from './people';
import type { IdentityProxy } from './proxy';
import { type SignInSessions, type SignedIn } from './sessions';
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
  directory?: ReturnType<typeof createDirectory>;
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

/** The time for which a sign-in at an issuer counts, even if it is used all the time: the issuer may have closed the account since. */
const VOUCHED_MS = 12 * 3600 * 1000;

const IN_A_BROWSER = 'sign in with your token, or with the link that countersign prints in the terminal';

/** The parts of a token that an issuer signs. Our own tokens have no dot. */
const SIGNED_TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Finds out who sends a request. */
export class Authenticator {
  /** The name of the header with the reverse proxy's token. Undefined: no such header is read. */
  readonly assertedIn: string | undefined;
  /** Where an issuer signs people in. */
  readonly signInAt: string | undefined;

  constructor(private readonly parts: AuthenticatorParts) {
    this.signInAt = parts.signInAt;
    this.assertedIn = parts.proxy?.header;
  }

  /**
   * Signs somebody in. Returns the user, and the secret for the cookie.
   *
   * @throws CountersignError `signed_out`, `too_many_attempts`.
   */
  async signIn(signIn: SignIn, from: string): Promise<{ who: SignedIn; secret: string }> {
    const { attempts, sessions } = this.parts;
    attempts.check(from);
    const who = 'token' in signIn ? await this.byToken(signIn.token) : this.byCode(signIn.code);
    if (who === undefined) {
      attempts.failed(from);
      throw signInRefused('code' in signIn);
    }
    return { who, secret: sessions.open(who) };
  }

  /**
   * Signs in a person for whom an issuer vouches.
   *
   * @throws CountersignError `not_allowed`.
   */
  async signInAs(identity: Identity): Promise<{ who: SignedIn; secret: string }> {
    const who = await this.personOf({ identity, at: Date.now() });
    if (who === undefined) throw new Error('a web inbox without people has no issuer');
    return { who, secret: this.parts.sessions.open(who) };
  }

  /**
   * The sender of a request.
   *
   * @throws CountersignError as `signIn`.
   */
  async identify({ bearer, session, asserted, from }: Credentials): Promise<SignedIn> {
    const { attempts, proxy, sessions, signInAt, hint = IN_A_BROWSER } = this.parts;
    if (bearer !== undefined) {
      // A valid token is accepted even if many attempts through the same proxy failed.
      const who = await this.byBearer(bearer);
      if (who) return who;
      attempts.check(from);
      attempts.failed(from);
    } else if (asserted !== undefined) {
      // If the proxy sends a token, nothing else counts: a wrong token is refused and not ignored.
      const who = await this.vouchedBy(proxy, asserted);
      if (who) return who;
    } else if (session !== undefined) {
      const who = sessions.use(session);
      const today = who && (await this.withCurrentRights(who));
      if (today) return today;
    }
    throw new CountersignError('signed_out', 'nobody is signed in', { hint, data: { signInAt } });
  }

  /** The sender of a request, if they are still signed in. This does not extend the session. */
  async stillSignedIn({ bearer, session, asserted }: Credentials): Promise<SignedIn | undefined> {
    const { proxy, sessions } = this.parts;
    if (bearer !== undefined) return this.byBearer(bearer).catch(unlessRefused);
    if (asserted !== undefined) return this.vouchedBy(proxy, asserted).catch(unlessRefused);
    const who = sessions.peek(session ?? '');
    return who && this.withCurrentRights(who);
  }

  /** The permit of a signed-in person today: what they may do and see. */
  async permitOf(who: SignedIn): Promise<Permit> {
    // A person who can read the terminal's link can also do everything from the command line.
    const isLocal = who.tokenDigest === undefined && who.vouched === undefined;
    return isLocal ? EVERYTHING : ((await this.parts.people?.())?.permitOf(who.user) ?? EVERYTHING);
  }

  signOut(secret: string): void {
    this.parts.sessions.close(secret);
  }

  private async byToken(token: string): Promise<SignedIn | undefined> {
    const user = await this.parts.users.withToken(token);
    return user && signedInAs(user);
  }

  /** @throws CountersignError as `vouchedBy`. */
  private byBearer(token: string) {
    return SIGNED_TOKEN.test(token) ? this.vouchedBy(this.parts.tokens, token) : this.byToken(token);
  }

  /** @throws CountersignError as `IdentityProxy.identify` and `Directory.find`. */
  private async vouchedBy(by: Pick<IdentityProxy, 'identify'> | undefined, token: string) {
    const identity = await by?.identify(token);
    return identity && this.personOf({ identity, at: Date.now() });
  }

  private byCode(code: string): SignedIn | undefined {
    const { local } = this.parts;
    const spent = local?.codes.spend(code);
    // Only a code that was valid once leads to a new link. A guess does not.
    if (spent === 'stale') local?.onStale();
    // A person who can read the terminal's link can also do everything from the command line.
    return local && spent === 'good' ? { user: local.user, rights: RIGHTS } : undefined;
  }

  /** @throws CountersignError `not_allowed`. */
  private async personOf(vouched: NonNullable<SignedIn['vouched']>): Promise<SignedIn | undefined> {
    const found = await this.parts.directory?.find(vouched.identity);
    return found && { ...found, vouched };
  }

  /**
   * The same person by today's approvers file. Undefined if the person is no longer in the file, or signed in too long
   * ago.
   */
  private async stillThere(user: string, vouched: NonNullable<SignedIn['vouched']>) {
    if (Date.now() - vouched.at >= VOUCHED_MS) return undefined;
    const found = await this.personOf(vouched).catch((error: unknown) => {
      if (error instanceof CountersignError && error.code === 'not_allowed') return undefined;
      throw error;
    });
    return found?.user === user ? found : undefined;
  }

  /** The user with their current rights. Undefined if the user was removed, which signs them out everywhere. */
  private async withCurrentRights(who: SignedIn): Promise<SignedIn | undefined> {
    const { user: name, vouched, tokenDigest } = who;
    if (vouched) return this.stillThere(name, vouched);
    if (tokenDigest === undefined) return who;
    const known = await this.parts.users.list();
    const user = known.find((one) => one.name === name && one.tokenDigest === tokenDigest);
    return user && signedInAs(user);
  }
}

function unlessRefused(error: unknown): undefined {
  if (!(error instanceof CountersignError)) throw error;
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
