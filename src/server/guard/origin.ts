import type { Context, MiddlewareHandler } from 'hono';
import { CountersignError } from '../../contract/errors';
import type { Hosts } from './hosts';

/** What may come from another site: following a link to the page, which shows nothing without a cookie. */
const READS = ['GET', 'HEAD'];

/** Lets pass only what our own page, a person's address bar, or no browser at all sends. Errors: `forbidden`. */
export function requireOwnOrigin(hosts: Hosts): MiddlewareHandler {
  return async (c, next) => {
    const why = findStranger(c, hosts);
    if (why !== undefined) throw forbidden(why);
    await next();
  };
}

function findStranger(c: Context, hosts: Hosts): string | undefined {
  const host = c.req.header('host') ?? '';
  if (!hosts.knows(host)) return `this desk is not ${JSON.stringify(host)}`;
  const origin = c.req.header('origin');
  if (origin !== undefined && !isOwn(origin, host)) return 'a page of another origin asks';
  if (isFromOtherSite(c)) return 'another site asks';
  return origin === undefined && isBlindWrite(c) ? 'a change by cookie has to name its origin' : undefined;
}

/** The scheme is the proxy's business; name and port are those the browser used. */
function isOwn(origin: string, host: string): boolean {
  return [`http://${host}`, `https://${host}`].includes(origin);
}

function isFromOtherSite(c: Context): boolean {
  const site = c.req.header('sec-fetch-site') ?? 'none';
  if (site === 'same-origin' || site === 'none') return false;
  const followsLink =
    c.req.header('sec-fetch-mode') === 'navigate' && c.req.header('sec-fetch-dest') === 'document';
  return !(followsLink && READS.includes(c.req.method) && !c.req.path.startsWith('/api/'));
}

/** Every browser names the origin of what changes something; what has a bearer token is no browser. */
function isBlindWrite(c: Context): boolean {
  return !READS.includes(c.req.method) && c.req.header('cookie') !== undefined;
}

function forbidden(why: string): CountersignError {
  return new CountersignError('forbidden', `refused: ${why}`, {
    hint: 'open the address that countersign printed; behind a proxy name it with --allow-host',
  });
}
