import { getConnInfo } from '@hono/node-server/conninfo';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import { defined } from '../contract/defined';
import type { Authenticator, Credentials, SignedIn } from './auth/authenticator';
import { isLoopback } from './address';
import type { Session, SignIn } from './api';
import { CountersignError } from '../contract/errors';
import type { AppDeps } from './deps';
import { readBody } from './request-body';

/** What a signed-in request carries. */
export type Env = { Variables: { who: SignedIn; credentials: Credentials } };

/**
 * Accepts only signed-in users.
 *
 * @throws CountersignError `signed_out`, `too_many_attempts`.
 */
export function requireSignedIn(authenticator: Authenticator): MiddlewareHandler<Env> {
  return async (c, next) => {
    const credentials = credentialsOf(c);
    c.set('who', await authenticator.identify(credentials));
    c.set('credentials', credentials);
    await next();
  };
}

/** Starting turns in conversations needs a right: their calls run. @throws CountersignError `not_allowed`. */
export const requireConverse: MiddlewareHandler<Env> = async (c, next) => {
  checkConverse(c);
  await next();
};

/** @throws CountersignError `not_allowed` for who may not start turns in conversations. */
export function checkConverse(c: Context<Env>): void {
  if (c.get('who').rights.includes('converse')) return;
  throw new CountersignError('not_allowed', 'you may not start turns in conversations', {
    hint: 'ask whoever runs the web inbox for the right: countersign web user add <name> --may-converse',
  });
}

/** The sender of a message, from the session and never from the body. */
export function senderOf(c: Context<Env>): { approver: string; channel: string; authenticated: true } {
  return { approver: c.get('who').user, channel: 'web', authenticated: true };
}

/** The credentials of a request. A token in the URL is ignored. */
function credentialsOf(c: Context): Credentials {
  const [, bearer] = /^Bearer (\S+)$/i.exec(c.req.header('authorization') ?? '') ?? [];
  return { from: addressOf(c), ...defined({ bearer, session: getCookie(c, cookieName(c)) }) };
}

/** Opens a session for somebody who has just signed in. */
export function openSession(c: Context, { secret }: { secret: string }): void {
  setSession(c, secret);
  if (signInCookie(c).isAnew()) deleteCookie(c, anewName(c), { path: '/', secure: !isPlainLoopback(c) });
}

/** Ties a sign-in at an issuer to the browser that began it. */
export function signInCookie(c: Context) {
  // Lax, because the browser comes back from another site. It opens nothing by itself.
  const flags = { httpOnly: true, sameSite: 'Lax', path: '/', secure: !isPlainLoopback(c) } as const;
  const name = `${cookieName(c)}-sign-in`;
  return {
    set: (secret: string) => setCookie(c, name, secret, { ...flags, maxAge: SIGN_IN_S }),
    read: () => getCookie(c, name),
    clear: () => void deleteCookie(c, name, flags),
    /** Whether somebody signed out here: the issuer may still know them, and the next person may be another. */
    isAnew: () => getCookie(c, anewName(c)) !== undefined,
  };
}

/** Long enough to find a password. */
const SIGN_IN_S = 600;

const anewName = (c: Context): string => `${cookieName(c)}-anew`;

/** Sets the cookie of a session, which no script and no other site can read. */
function setSession(c: Context, secret: string): void {
  setCookie(c, cookieName(c), secret, {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    secure: !isPlainLoopback(c),
  });
}

/** Removes the cookie of a session. */
function clearSession(c: Context): void {
  deleteCookie(c, cookieName(c), { path: '/', secure: !isPlainLoopback(c) });
}

/**
 * The port is in the name because cookies ignore ports: two web inboxes on one machine would sign each other out. The
 * prefix keeps another host of the same domain from setting this cookie where https is in use.
 */
function cookieName(c: Context): string {
  const { hostname, port } = hostOf(c);
  return `${isLoopback(hostname) ? '' : '__Host-'}countersign-${port || 'inbox'}`;
}

/** Over plain http browsers drop a `Secure` cookie; some make an exception for localhost. */
function isPlainLoopback(c: Context): boolean {
  const isHttps = c.req.header('origin')?.startsWith('https:') === true;
  return !isHttps && isLoopback(hostOf(c).hostname);
}

function hostOf(c: Context): URL {
  return new URL(`http://${c.req.header('host') ?? 'localhost'}`);
}

function addressOf(c: Context): string {
  // Without a server, as in tests, the app has no connection.
  return c.env === undefined || !('incoming' in c.env) ? '' : (getConnInfo(c).remote.address ?? '');
}

const secret = z.string().min(1).max(200);
const signInSchema: z.ZodType<SignIn> = z.union([
  z.strictObject({ token: secret }),
  z.strictObject({ code: secret }),
]);

/** Signing in, the only route for people who are not signed in. */
export function signInRoutes(deps: AppDeps): Hono<Env> {
  return new Hono<Env>().post('/', async (c) => {
    const signIn = await readBody(c, signInSchema);
    const opened = await deps.authenticator.signIn(signIn, credentialsOf(c).from);
    openSession(c, opened);
    return c.json(sessionOf(deps, opened.who));
  });
}

/** The session of the sender. */
export function ownSessionRoutes(deps: AppDeps): Hono<Env> {
  return new Hono<Env>()
    .get('/', (c) => c.json(sessionOf(deps, c.get('who'))))
    .delete('/', (c) => {
      deps.authenticator.signOut(c.get('credentials').session ?? '');
      clearSession(c);
      if (deps.oidc !== undefined)
        setCookie(c, anewName(c), '1', {
          ...{ httpOnly: true, sameSite: 'Lax', path: '/', secure: !isPlainLoopback(c) },
        });
      return c.body(null, 204);
    });
}

function sessionOf({ client, version, undoMs, files }: AppDeps, { user, rights }: SignedIn): Session {
  return { user, rights, namespace: client.namespace, version, undoMs, takesFiles: files !== undefined };
}

/** What the signed-in user decided, and how it ended. */
export function decidedRoutes({ decided }: Pick<AppDeps, 'decided'>): Hono<Env> {
  return new Hono<Env>().get('/', async (c) => c.json(await decided.read(senderOf(c).approver)));
}
