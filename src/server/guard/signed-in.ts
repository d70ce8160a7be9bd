import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { defined } from '../../history/defined';
import type { Credentials, Door } from '../auth/door';
import type { SignedIn } from '../auth/sessions';
import { isLoopback } from './hosts';

/** What a request carries once it passed. */
export type Env = { Variables: { who: SignedIn; credentials: Credentials } };

/** Lets nobody pass who is not signed in. Errors: `signed_out`, `too_many_attempts`. */
export function requireSignedIn(door: Door): MiddlewareHandler<Env> {
  return async (c, next) => {
    const credentials = credentialsOf(c);
    c.set('who', await door.identify(credentials));
    c.set('credentials', credentials);
    await next();
  };
}

/** Who says what is sent, as the session knows: never what a body claims. */
export function saidBy(c: Context<Env>): { approver: string; channel: string; authenticated: true } {
  return { approver: c.get('who').user, channel: 'web', authenticated: true };
}

/** Who a request says it is from. A token in the URL is never looked at. */
export function credentialsOf(c: Context): Credentials {
  const [, bearer] = /^Bearer (\S+)$/i.exec(c.req.header('authorization') ?? '') ?? [];
  return { from: addressOf(c), ...defined({ bearer, session: getCookie(c, cookieName(c)) }) };
}

/** Puts the secret of a session where no script and no other site can read it. */
export function setSession(c: Context, secret: string): void {
  setCookie(c, cookieName(c), secret, {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    secure: !isPlainLoopback(c),
  });
}

/** Takes it away again. */
export function clearSession(c: Context): void {
  deleteCookie(c, cookieName(c), { path: '/', secure: !isPlainLoopback(c) });
}

/**
 * Cookies know no ports: two desks on one machine would sign each other out. Off this machine the prefix keeps a
 * neighbouring name of the same domain from putting its own cookie there.
 */
function cookieName(c: Context): string {
  const { hostname, port } = hostOf(c);
  return `${isLoopback(hostname) ? '' : '__Host-'}countersign-${port || 'desk'}`;
}

/** Browsers keep a `Secure` cookie of plain http for nobody but, some of them, localhost. */
function isPlainLoopback(c: Context): boolean {
  const isHttps = c.req.header('origin')?.startsWith('https:') === true;
  return !isHttps && isLoopback(hostOf(c).hostname);
}

function hostOf(c: Context): URL {
  return new URL(`http://${c.req.header('host') ?? 'localhost'}`);
}

function addressOf(c: Context): string {
  // There is no connection where the app is called without a server.
  return c.env === undefined || !('incoming' in c.env) ? '' : (getConnInfo(c).remote.address ?? '');
}
