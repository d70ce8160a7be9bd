import type { Context, MiddlewareHandler } from 'hono';
import { CountersignError } from '../../contract/errors';
import { LOOPBACK_HOST } from '../../system/loopback';
import { inUrl } from '../address';

/** Methods that another site may use, but only to link to the page. The page shows nothing without a cookie. */
const READS = ['GET', 'HEAD'];

/**
 * Accepts only requests from our own page, from the address bar, and from programs that are not browsers. `header`
 * names a header that a reverse proxy adds to every request of a browser. Like a cookie, it identifies the user.
 *
 * @throws CountersignError `not_allowed`.
 */
export function requireOwnOrigin(hosts: Hosts, header?: string): MiddlewareHandler {
  return async (c, next) => {
    const why = findStranger(c, hosts, header);
    if (why !== undefined)
      throw new CountersignError(
        'not_allowed',
        `refused: ${why}`,
        'open the address that countersign printed; behind a proxy name it with --allow-host',
      );
    await next();
  };
}

function findStranger(c: Context, hosts: Hosts, header: string | undefined): string | undefined {
  const host = c.req.header('host') ?? '';
  if (!hosts.knows(host)) return `${JSON.stringify(host)} is not a name of this web inbox`;
  const origin = c.req.header('origin');
  if (origin !== undefined && !isOwn(origin, host)) return 'a page of another origin asks';
  if (isFromOtherSite(c)) return 'another site asks';
  return origin === undefined && isBlindWrite(c, header)
    ? 'a change by cookie or through a proxy has to name its origin'
    : undefined;
}

/**
 * Whether an origin is our own. Host name and port must equal the host name and port of the request. The scheme may
 * differ, because a proxy may change it.
 */
export function isOwn(origin: string, host: string): boolean {
  return [`http://${host}`, `https://${host}`].includes(origin);
}

function isFromOtherSite(c: Context) {
  const site = c.req.header('sec-fetch-site') ?? 'none';
  if (site === 'same-origin' || site === 'none') return false;
  const followsLink =
    c.req.header('sec-fetch-mode') === 'navigate' && c.req.header('sec-fetch-dest') === 'document';
  return !(followsLink && READS.includes(c.req.method) && !c.req.path.startsWith('/api/'));
}

/**
 * Whether a write has no origin although a browser may have sent it. Browsers name the origin of every write, and a
 * request with a bearer token does not come from a browser.
 */
function isBlindWrite(c: Context, header: string | undefined) {
  const isAsserted = header !== undefined && c.req.header(header) !== undefined;
  return !READS.includes(c.req.method) && (isAsserted || c.req.header('cookie') !== undefined);
}

/** The host names under which the web inbox is known. */
interface Hosts {
  /** Whether this value of a `Host` header is a name of this web inbox. */
  knows(host: string): boolean;
}

/** Where the web inbox listens, and its other names. */
interface ListenAddress {
  /** The address on which the web inbox listens. */
  host: string;
  port: number;
  /** Names of a reverse proxy, each with its port unless that is the default port of the scheme. */
  allowHosts: readonly string[];
}

const LOOPBACK_NAMES = ['localhost', LOOPBACK_HOST, '[::1]'];
/** Addresses that stand for every address of the machine. None of them is a host name. */
const EVERYWHERE = ['0.0.0.0', '::', '[::]'];

/**
 * The host names of a listen address. Any other name is refused, because a foreign page can point its own name at this
 * machine.
 */
export function createHosts({ host, port, allowHosts }: ListenAddress): Hosts {
  const own = EVERYWHERE.includes(host) ? [] : [inUrl(host)];
  const names = new Set([
    ...[...LOOPBACK_NAMES, ...own].map((name) => (port === 80 ? name : `${name}:${port}`)),
    ...allowHosts.flatMap((name) => [name, ...(/:\d+$/.test(name) ? [] : [`${name}:${port}`])]),
  ]);
  const known = new Set([...names].map((name) => name.toLowerCase()));
  return { knows: (name) => known.has(name.toLowerCase()) };
}
