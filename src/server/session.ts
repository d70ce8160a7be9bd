import { getConnInfo } from '@hono/node-server/conninfo';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import { LIMITS, SECOND, TIMES } from '../contract/limits';
import { type Permit, type Role, isAtLeast } from '../authority/rules/permits';
import type { Authenticator, Credentials } from './auth/authenticator';
import type { SignedIn } from './auth/sessions';
import { isLoopback } from '../system/loopback';
import type { InboxSession, SignedOut, SignIn, Right } from './api';
import { CountersignError } from '../contract/errors';
import { USER_HEADER } from '../contract/names';
import type { AppDeps, Env } from './deps';
import { eventStream } from './sse';
import { checkInput, filterText, MOST_MS, readBody } from './request-body';
import type { Whom } from '../authority/votes/waits-for';

export type { Env } from './deps';

/**
 * Accepts only signed-in users.
 *
 * @throws CountersignError `signed_out`, `too_many_attempts`.
 */
export function requireSignedIn(
  { authenticator, readerOf }: Pick<AppDeps, 'authenticator' | 'readerOf'>,
  credentialsIn: (c: Context) => Credentials = (c) => credentialsOf(c, authenticator.assertedIn),
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const credentials = credentialsIn(c);
    const who = await authenticator.identify(credentials);
    requireShownUser(c, who.user, authenticator);
    const permit = await authenticator.permitOf(who);
    c.set('who', who);
    c.set('credentials', credentials);
    c.set('permit', permit);
    c.set('reader', readerOf(permit));
    await next();
  };
}

/**
 * Refuses what a page sends that shows another person as signed in. Somebody may have signed in since in another tab of
 * the browser, and both tabs have one cookie. A stream names that person in its address: no browser adds a header there.
 *
 * @throws CountersignError `signed_out`.
 */
function requireShownUser(c: Context, user: string, { signInAt }: Pick<Authenticator, 'signInAt'>) {
  const shown = c.req.header(USER_HEADER) ?? c.req.query(USER_HEADER);
  if (shown === undefined || shown === encodeURIComponent(user)) return;
  throw new CountersignError('signed_out', 'somebody else has signed in here since', {
    hint: 'sign in again; or load the page again to see who is signed in',
    data: { signInAt, signedIn: user },
  });
}

/** @throws CountersignError `not_allowed` for a person who may not start turns in conversations. */
export function checkConverse(c: Context<Env>): void {
  if (c.get('who').rights.includes('converse')) return;
  throw new CountersignError(
    'not_allowed',
    'you may not start turns in conversations',
    'ask whoever runs the web inbox for the right: countersign web user <name> --may-converse',
  );
}

/**
 * Makes the check whether an open stream may continue: its reader is still signed in, and sees the same as at the
 * beginning of the stream.
 */
export function mayGoOn(authenticator: Authenticator, c: Context<Env>): () => Promise<boolean> {
  const [credentials, before] = [c.get('credentials'), JSON.stringify(c.get('permit'))];
  return async () => {
    const who = await authenticator.stillSignedIn(credentials);
    return who !== undefined && JSON.stringify(await authenticator.permitOf(who)) === before;
  };
}

/** The sender of a message, from the session and never from the body. */
export function senderOf(c: Context<Env>): { approver: string; channel: string; authenticated: true } {
  return { approver: c.get('who').user, channel: 'web', authenticated: true };
}

/** The credentials of a request. A token in the URL is ignored. */
function credentialsOf(c: Context<Env>, header: string | undefined): Credentials {
  const asserted = header === undefined ? undefined : c.req.header(header);
  return { ...bearerOf(c), asserted, session: getCookie(c, cookieName(c)) };
}

/** The credentials of a request that signs in by a token alone, because any page may make a browser send a cookie. */
export function bearerOf(c: Context<Env>): Credentials {
  const [, bearer] = /^Bearer (\S+)$/i.exec(c.req.header('authorization') ?? '') ?? [];
  return { from: addressOf(c), bearer };
}

/** Opens a session for somebody who has just signed in. */
export function openInboxSession(c: Context<Env>, { secret }: { secret: string }): void {
  // No script and no other site can read it.
  setCookie(c, cookieName(c), secret, { ...flagsOf(c), sameSite: 'Strict' });
  if (signInCookie(c).isAnew()) deleteCookie(c, anewName(c), flagsOf(c));
}

/** The cookie that ties a sign-in at an issuer to the browser that began it. */
export function signInCookie(c: Context<Env>) {
  const flags = flagsOf(c);
  const name = `${cookieName(c)}-sign-in`;
  return {
    set: (secret: string) => setCookie(c, name, secret, { ...flags, maxAge: TIMES.signIn / SECOND }),
    read: () => getCookie(c, name),
    clear: () => void deleteCookie(c, name, flags),
    /**
     * Whether a person signed out in this browser. The issuer may still know that person, and the next person may be
     * another.
     */
    isAnew: () => getCookie(c, anewName(c)) !== undefined,
  };
}

const anewName = (c: Context<Env>): string => `${cookieName(c)}-anew`;

/**
 * The flags of a cookie that alone gives no access. It is Lax, because a browser comes back from an issuer's site. Other
 * programs of the host do not get it, because of its path.
 */
function flagsOf(c: Context<Env>) {
  const path = `${c.get('basePath')}/`;
  return { httpOnly: true, sameSite: 'Lax', path, secure: !isPlainLoopback(c) } as const;
}

/**
 * The name of the cookie. It contains the port, because cookies ignore ports and two web inboxes on one machine would
 * sign each other out. The prefix keeps another host of the same domain from setting this cookie if https is in use; browsers allow `__Host-` only for the whole host.
 */
function cookieName(c: Context<Env>) {
  const { hostname, port } = hostOf(c);
  const prefix = c.get('basePath') === '' ? '__Host-' : '__Secure-';
  return `${isLoopback(hostname) ? '' : prefix}countersign-${port || 'inbox'}`;
}

/**
 * Whether the page comes over plain http on this machine. There browsers drop a `Secure` cookie, although some make an
 * exception for localhost.
 */
function isPlainLoopback(c: Context) {
  const isHttps = c.req.header('origin')?.startsWith('https:') === true;
  return !isHttps && isLoopback(hostOf(c).hostname);
}

function hostOf(c: Context): URL {
  return new URL(`http://${c.req.header('host') ?? 'localhost'}`);
}

function addressOf(c: Context) {
  // Without a server, as in tests, the app has no connection.
  return c.env === undefined || !('incoming' in c.env) ? '' : (getConnInfo(c).remote.address ?? '');
}

const secret = z.string().min(1).max(200);
const signInSchema: z.ZodType<SignIn> = z.union([
  z.strictObject({ token: secret }),
  z.strictObject({ code: secret }),
]);

/** The route for signing in, the only one for people who are not signed in. */
export function signInRoutes(deps: AppDeps): Hono<Env> {
  return new Hono<Env>().post('/', async (c) => {
    const signIn = await readBody(c, signInSchema);
    const opened = await deps.authenticator.signIn(signIn, addressOf(c));
    openInboxSession(c, opened);
    return c.json(await sessionOf(deps, opened.who, await deps.authenticator.permitOf(opened.who)));
  });
}

/** The routes for the session of the sender. */
export function ownSessionRoutes(deps: AppDeps): Hono<Env> {
  return new Hono<Env>()
    .get('/', async (c) => c.json(await sessionOf(deps, c.get('who'), c.get('permit'))))
    .delete('/', async (c) => {
      deps.authenticator.signOut(c.get('credentials').session ?? '');
      deleteCookie(c, cookieName(c), flagsOf(c));
      if (deps.oidc) setCookie(c, anewName(c), '1', flagsOf(c));
      // The person is signed out here already, whatever the issuer says.
      const idToken = c.get('who').vouched?.identity.idToken;
      const signOutAt = idToken && (await deps.oidc?.leave(idToken).catch(() => undefined));
      return signOutAt === undefined ? c.body(null, 204) : c.json({ signOutAt } satisfies SignedOut);
    });
}

async function sessionOf(
  { client, version, undoMs, files, voters }: AppDeps,
  { user, rights }: SignedIn,
  { role, agents }: Permit,
): Promise<InboxSession> {
  const file = await voters?.();
  const person = file?.personOf(user);
  const known = file?.people.find(({ name }) => name === person);
  return {
    user,
    rights: rightsOf(role, rights),
    role,
    agents: agents === 'all' ? undefined : agents,
    inFile: known && { person: known.name, groups: known.groups },
    namespace: client.namespace,
    version,
    undoMs,
    takesFiles: files !== undefined,
  };
}

/** The route for the decisions of the signed-in user or of everybody, and their outcomes. */
export function decidedRoutes({ decided }: Pick<AppDeps, 'decided'>): Hono<Env> {
  return new Hono<Env>().get('/', async (c) =>
    c.json(
      await decided.read(c.req.query('of') === 'all' ? undefined : senderOf(c).approver, c.get('permit')),
    ),
  );
}

/**
 * The route that says where the signed-in user may make a passkey. The passkey is not kept here: an administrator adds
 * its line to the file.
 */
export function passkeyRoutes({ passkeys }: Pick<AppDeps, 'passkeys'>): Hono<Env> {
  return new Hono<Env>().get('/', async (c) => {
    const place = await passkeys?.placeOf(senderOf(c).approver);
    if (place) return c.json(place);
    throw new CountersignError(
      'not_found',
      'the approvers file has no place for your passkeys',
      'ask whoever keeps it to add you to `people`, and the `rpId` and `origins` of this web inbox',
    );
  });
}

const whole = z.coerce.number().int();

const statsSchema = z.object({
  // The time is a duration, so that requests at different moments share one answer.
  since: whole.min(1).max(MOST_MS).optional(),
  agent: filterText,
  tool: filterText,
  limit: whole.min(1).max(500).default(200),
});

/** The route for stats of past turns. */
export function statsRoutes({ stats }: AppDeps): Hono<Env> {
  return new Hono<Env>().get('/', async (c) => {
    const { since: sinceMs, limit, ...filter } = checkInput(statsSchema, c.req.query());
    return c.json(await stats.read({ limit, sinceMs, ...filter }, c.get('permit')));
  });
}

const refusalsSchema = statsSchema.pick({ since: true });

/** The route for decisions and resolutions that were refused here, newest first. */
export function refusalRoutes({ client, refusals }: AppDeps): Hono<Env> {
  return new Hono<Env>().get('/', async (c) => {
    const { since: sinceMs } = checkInput(refusalsSchema, c.req.query());
    const since = sinceMs === undefined ? undefined : new Date(Date.now() - sinceMs).toISOString();
    const { agents } = c.get('permit');
    return c.json(await refusals.list({ namespace: client.namespace, agents, since }));
  });
}

const duration = whole.min(0).max(MOST_MS).optional();

const pageSchema = z.object({
  text: filterText,
  tool: filterText,
  agent: filterText,
  session: filterText,
  seen: filterText,
  doubt: z.literal('1').optional(),
  mine: z.literal('1').optional(),
  olderThan: duration,
  sort: z.enum(['deadline', 'newest']).optional(),
  offset: whole.min(0).max(1_000_000).optional(),
  limit: whole.min(1).max(LIMITS.inboxRows).optional(),
});

/** The routes for everything that waits for a person. */
export function inboxRoutes({ feed, authenticator, closing, formatError, voters }: AppDeps): Hono<Env> {
  return new Hono<Env>()
    .get('/', async (c) => {
      const query = checkInput(pageSchema, c.req.query());
      const whom = query.mine && (await whomOf(senderOf(c).approver, voters));
      const page = await feed.page(query, c.get('permit'), whom);
      return page ? c.json(page) : c.body(null, 204);
    })
    .get('/events', (c) =>
      eventStream({
        events: (signal) => feed.listen(signal, c.get('permit')),
        isAllowed: mayGoOn(authenticator, c),
        closing,
        formatError,
      }),
    );
}

async function whomOf(approver: string, voters: AppDeps['voters']): Promise<Whom> {
  const file = await voters?.();
  return { person: file?.personOf(approver) ?? approver, people: file?.people };
}

/** A right adds to the rights of a role. It does not help a viewer, who may only look. */
function rightsOf(role: Role, rights: readonly Right[]): readonly Right[] {
  return isAtLeast(role, 'approver') ? rights : [];
}
