import { defined } from '../contract/defined';
import { USER_HEADER } from '../contract/names';
import { queryOf } from './model/route';
import { takeServerTime } from './stream';
import type {
  Answer,
  ApiError,
  CallDetails,
  DecisionBody,
  InboxPage,
  InboxSession,
  SignedOut,
  SignIn,
} from '../server/api';

/** The answer of the server. `status` is 0 if no answer came. */
export type Reply<T> = { ok: true; data: T } | { ok: false; status: number; error: ApiError };

const NO_ANSWER = {
  code: 'no_answer',
  message: 'The web inbox does not answer.',
  hint: 'What you typed is kept. Try again when the connection is back.',
} satisfies ApiError;

/** Shown if a decision was not sent because the connection was already lost. */
export const NOT_SENT: ApiError = {
  code: 'no_answer',
  message: 'Not sent: the connection to the web inbox is lost.',
  hint: NO_ANSWER.hint,
};

/** Shown if the connection was lost after a decision was sent. */
const UNKNOWN: ApiError = {
  code: 'no_answer',
  message: 'The connection was lost before an answer came, so the web inbox may have taken it or not.',
  hint: 'What you typed is kept. The page shows which it is when the connection is back.',
};

/** The time to wait for the answer to a small request, in milliseconds. */
const ASK_MS = 2_500;

/** The time to wait for a part of the inbox, in milliseconds. The server has the inbox in memory. */
const READ_MS = 20_000;

/** The status where nobody is signed in. */
const SIGNED_OUT = 401;

/** The status of a refused decision. The body of such an answer is an Answer. */
const REFUSED = 409;

/** Reads who is signed in. A page where nobody is gets no error status, because a browser would log it. */
export async function readSession(signal?: AbortSignal): Promise<Reply<InboxSession>> {
  const reply = await send<InboxSession | ApiError>('GET', 'api/session?quiet', { signal });
  if (!reply.ok) return reply;
  const { data } = reply;
  return 'code' in data ? { ok: false, status: SIGNED_OUT, error: data } : { ok: true, data };
}

/** Reads the session for a caller who cannot wait long. The status is 0 if the web inbox does not answer in time. */
export const askSession = (): Promise<Reply<InboxSession>> => readSession(AbortSignal.timeout(ASK_MS));

export const signIn = (body: SignIn): Promise<Reply<InboxSession>> => send('POST', 'api/session', { body });

export const signOut = (): Promise<Reply<SignedOut | null>> => send('DELETE', 'api/session');

/**
 * Reads a part of the inbox. `seen` is the key of the page that is shown. The data is null if that page has not
 * changed. `query` has the other parameters of `InboxPageQuery`.
 */
export function readInbox(
  { query, offset, limit }: { query: string; offset: number; limit: number },
  seen = '',
): Promise<Reply<InboxPage | null>> {
  const place = queryOf({ offset: String(offset), limit: String(limit), seen });
  const path = `api/inbox?${query === '' ? '' : `${query}&`}${place}`;
  return send('GET', path, { signal: AbortSignal.timeout(READ_MS) });
}

export const readCall = (turn: string, callId: string): Promise<Reply<CallDetails>> =>
  send('GET', `${turnPath(turn)}/calls/${encodeURIComponent(callId)}`);

/** Makes a function that sends something about a turn. The signal ends the wait; what was sent may still count. */
export const poster =
  <B>(to: string) =>
  (turn: string, body: B, signal?: AbortSignal): Promise<Reply<Answer>> =>
    send('POST', `${turnPath(turn)}/${to}`, { body, signal });

export const sendDecision = poster<DecisionBody>('decisions');

export const conversationPath = (session: string): string =>
  `api/conversations/${encodeURIComponent(session)}`;

/** Bytes as base64url without padding. */
export function base64url(bytes: ArrayBuffer | null): string {
  const text = Array.from(new Uint8Array(bytes ?? []), (byte) => String.fromCharCode(byte)).join('');
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export const turnPath = (turn: string): string => `api/turns/${encodeURIComponent(turn)}`;

/** The user whom the page shows as signed in. Undefined: nobody. */
let shown: string | undefined;

/** Takes the user whom the page shows as signed in. */
export function showUser(user: string | undefined): void {
  shown = user;
}

/**
 * The header with which a request counts only for the user whom the page shows. Another tab may have signed in somebody
 * else, and all tabs have one cookie.
 */
export const shownUser = (): Record<string, string> =>
  shown === undefined ? {} : { [USER_HEADER]: encodeURIComponent(shown) };

/** The address of a stream, which counts only for the user whom the page shows, too. */
export const eventsAt = (path: string): string => `${path}/events?${queryOf(shownUser())}`;

interface SendOptions {
  /** The body, which is sent as JSON. */
  body?: unknown;
  /** Ends the wait for the answer. */
  signal?: AbortSignal;
}

/** Sends a request. The page and its server have the same version, so answers are not checked. */
export async function send<T>(
  method: string,
  path: string,
  { body, signal }: SendOptions = {},
): Promise<Reply<T>> {
  let status = 0;
  try {
    const type = body === undefined ? undefined : 'application/json';
    const response = await fetch(path, {
      method,
      credentials: 'same-origin',
      headers: { ...shownUser(), ...defined({ accept: 'application/json', 'content-type': type }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    takeServerTime(response.headers.get('date'), false);
    // A proxy that signs people in may say it in words of its own.
    if (response.status === SIGNED_OUT) status = SIGNED_OUT;
    const answer = response.status === 204 ? null : await response.json();
    if (
      response.ok ||
      (response.status === REFUSED && typeof answer === 'object' && answer !== null && 'status' in answer)
    )
      return { ok: true, data: answer };
    return { ok: false, status: response.status, error: answer };
  } catch {
    const wasSent = method === 'POST' && signal?.aborted === true;
    return { ok: false, status, error: wasSent ? UNKNOWN : NO_ANSWER };
  }
}

/** An id for a decision. A repeat with the same content gets the first answer again. */
export function newDecisionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
