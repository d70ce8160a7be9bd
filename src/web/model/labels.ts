import { MINUTE, SECOND } from '../../contract/limits';
import { waitsText } from '../../contract/text/waits';
import type { RefusalCode, Refused } from '../../contract/decision';
import type { Answer, ApiError, InboxSession } from '../../server/api';
import type { Offers } from '../../history/offers';
import { isSameName } from '../../authority/votes/names';
import { dateTime, expiry } from '../../contract/text/times';
import { utf8Bytes } from '../../contract/text/bytes';

/** Who decides a request, for the person who looks at it. */
export function whoDecides(
  { offers, ownVote, whyNot, votesMissing = 1, votersLeft = [] }: Offers,
  { user, role }: Pick<InboxSession, 'user' | 'role'>,
): string {
  if (role === 'viewer') return 'you may only look';
  if (ownVote !== undefined) return 'you voted';
  if (!offers.includes('deny')) return whyNot === undefined ? 'it is over' : `not yours: ${whyNot}`;
  if (!offers.includes('approve') && whyNot !== undefined) return `you may only deny it: ${whyNot}`;
  const others = votersLeft.filter((name) => !isSameName(name, user));
  const who = others.length > 2 ? `${others.length} others` : others.join(' or ');
  if (votesMissing > 1) return `${votesMissing} votes: yours and ${who}`;
  return who === '' ? 'you decide' : `you or ${who} decide`;
}

/** Why a decision was refused, and what happens now. */
export const REFUSAL_LABELS: Readonly<Record<RefusalCode, string>> = {
  unknown_call: 'This request does not exist any more.',
  already_decided: 'It is decided already.',
  stale_args: 'It changed after you opened it. The page now shows the new version; look again.',
  validation: 'It does not fit. Correct the marked fields.',
  expired: 'Its deadline has passed; your decision starts nothing.',
  malformed: 'It cannot be decided like this.',
  cancelled: 'The turn was cancelled; your decision starts nothing.',
  not_allowed: 'By the rule of this request it is not yours to decide.',
};

/** Why a decision of this user was refused, with the code and with the decision that counts. */
export function refusalText({ code, message, standing }: Refused, user?: string): string {
  if (user !== undefined && standing && isSameName(standing.approver, user))
    return `You ${standing.decision} it at ${dateTime(standing.at)} already. (${code})`;
  const by = standing ? ` ${standing.approver} ${standing.decision} it at ${dateTime(standing.at)}.` : '';
  const more = code === 'malformed' || code === 'not_allowed' ? ` ${message}.` : '';
  return `${REFUSAL_LABELS[code]}${by}${more} (${code})`;
}

/**
 * A failure in one line, with what to do. The server's messages are not whole sentences, but the messages of this page
 * are.
 */
export function errorText({ message, hint }: ApiError): string {
  if (hint === undefined) return message;
  return message.endsWith('.') ? `${message} ${hint}` : `${message}; ${hint}`;
}

/**
 * How much of a limit a text takes, in bytes as the server counts them. Empty while the text is far below the limit.
 */
export function byteNote(text: string, most: number): { text: string; isOver: boolean } {
  const bytes = utf8Bytes(text.trim());
  if (bytes <= most * 0.75) return { text: '', isOver: false };
  const count = `${bytes.toLocaleString('en')} of ${most.toLocaleString('en')} bytes`;
  const isOver = bytes > most;
  return { isOver, text: isOver ? `${count}: make it shorter. A letter such as é takes two bytes.` : count };
}

const SOON_MS = 15 * MINUTE;

/** How near a deadline is: `soon` within a quarter of an hour. */
export function urgencyOf(deadline: string | null, now: number): 'none' | 'soon' | 'past' {
  if (deadline === null) return 'none';
  const left = Date.parse(deadline) - now;
  if (left <= 0) return 'past';
  return left <= SOON_MS ? 'soon' : 'none';
}

/** When a request expires, with seconds if that is soon: `in 4:05`, `in 3 h`, `expired 2 min ago`, `no deadline`. */
export function countdown(deadline: string | null, now: number): string {
  if (deadline === null) return 'no deadline';
  if (urgencyOf(deadline, now) !== 'soon') return expiry(deadline, now);
  const seconds = Math.ceil((Date.parse(deadline) - now) / SECOND);
  return `in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** Whether events of the web inbox arrive. */
export type Connection = 'connecting' | 'live' | 'lost';

/** The state of the connection to the web inbox, and to the Temporal server behind it. */
interface ConnectionStatus {
  /** `lost`: the content of the page may be old. */
  state: Connection;
  label: string;
  /** More about the state. */
  title: string;
}

const LABELS = { connecting: 'connecting', live: 'live', lost: 'connection lost, trying again' } as const;

/**
 * The state in words. If the Temporal server does not answer, the page is outdated, just as when the web inbox does not
 * answer. So the state is `lost` in both cases.
 */
export function connectionStatus(connection: Connection, trouble: ApiError | undefined): ConnectionStatus {
  const label = LABELS[connection];
  if (connection !== 'live' || trouble === undefined) return { state: connection, label, title: label };
  return {
    state: 'lost',
    label: trouble.code === 'no_server' ? 'no Temporal server, trying again' : 'the inbox cannot be read',
    title: errorText(trouble),
  };
}

/** The text for a person whose decision was taken. `what` names the decision in words. */
export function noticeText(answer: Exclude<Answer, { status: 'refused' }>, what: string): string {
  const done = /[.…]$/.test(what) ? what : `${what}.`;
  const waits = waitsText(answer);
  return waits === undefined ? done : `${done} ${waits}`;
}
