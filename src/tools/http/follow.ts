import { errorMessage } from '../../contract/errors';
import { checkUrl, type HttpRequest, isReading, type Rules } from './request';
import { type HttpAnswer, type Network, send } from './send';

/** The last answer to a request, after the redirects that we followed. */
export interface FollowedAnswer {
  answer: HttpAnswer;
  /** The URL that gave the answer. */
  url: URL;
  /** The number of redirects that were followed. */
  redirects: number;
  /** The reason why we did not follow a redirect. */
  note?: string;
}

const MOST_REDIRECTS = 5;

/**
 * Sends a request, and follows allowed redirects: to the same origin, or to a host of the configuration's list. A
 * request with an effect is sent once, and its redirect is followed with a GET. If a redirect is not followed, or
 * cannot be followed, the answer so far is the answer.
 *
 * @throws what `send` throws for the first request.
 */
export async function follow(first: HttpRequest, rules: Rules, network: Network): Promise<FollowedAnswer> {
  let followed: FollowedAnswer = { answer: await send(first, network), url: first.url, redirects: 0 };
  let request = first;
  for (;;) {
    const next = nextRequest(request, followed, { rules, origin: first.url.origin });
    if (next === undefined) return followed;
    if (typeof next === 'string') return { ...followed, note: next };
    try {
      const answer = await send(next, network);
      followed = { answer, url: next.url, redirects: followed.redirects + 1 };
      request = next;
    } catch (error) {
      return { ...followed, note: errorMessage(error) };
    }
  }
}

interface Allowed {
  rules: Rules;
  /** The origin of the request that was allowed. */
  origin: string;
}

/** The request of a redirect, or the reason why we do not follow it. Undefined if the answer does not redirect. */
function nextRequest(request: HttpRequest, followed: FollowedAnswer, by: Allowed) {
  const { status, headers } = followed.answer;
  const [location, ...more] = headers.flatMap(([name, value]) => (name === 'location' ? [value] : []));
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  if (more.length > 0) return 'it names more than one place';
  if (followed.redirects === MOST_REDIRECTS) return `there were ${MOST_REDIRECTS} redirects before it`;
  const url = targetOf(location, request.url, by.rules);
  return typeof url === 'string' ? url : redirected(request, { status, url }, by);
}

function targetOf(location: string, from: URL, rules: Rules): URL | string {
  if (/[\\\s]/.test(location)) return 'the place it names cannot be read for certain';
  try {
    const url = new URL(location, from);
    url.hash = '';
    return checkUrl(url.href, rules);
  } catch (error) {
    return errorMessage(error);
  }
}

function redirected(
  request: HttpRequest,
  { status, url }: { status: number; url: URL },
  { rules, origin }: Allowed,
): HttpRequest | string {
  const isKept = isReading(request.method);
  if (!isKept && (status === 307 || status === 308))
    return 'a request with an effect is not sent a second time';
  if (request.url.protocol === 'https:' && url.protocol !== 'https:') return 'it leads from https to http';
  if (url.origin !== origin && !rules.hosts(url))
    return `it leads to ${url.host}, which nobody allowed; ask for it by a call of its own`;
  const headers = request.headers.filter(
    ([name]) =>
      (url.origin === request.url.origin || ANYWHERE.includes(name)) &&
      (isKept || !name.startsWith('content-')),
  );
  return { method: isKept ? request.method : 'GET', url, headers, body: undefined };
}

/** Headers that we also send to another origin. Other headers may hold values that only the first origin may get. */
const ANYWHERE: readonly string[] = ['accept', 'accept-language', 'user-agent'];
