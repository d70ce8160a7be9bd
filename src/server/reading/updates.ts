import { LIST_PAGE } from '../../client/list';
import type { Waiting } from '../../client/types';
import { EVERYTHING, type Permit } from '../../authority/rules/permits';
import type { Pauses } from '../../authority/pauses/pause';
import { CountersignError } from '../../contract/errors';
import { SERVER_HINTS } from '../../contract/text/server-hints';
import type { ApiError, InboxPulse } from '../api';
import type { FormatError } from '../failure';
import { heldBy, type InboxShares } from '../inbox-filter';
import type { ServerEvent } from '../sse';

/** The inbox as it was read, and the time of the last read of visibility. */
export interface Read {
  waiting: Waiting;
  at: string;
}

/** Everything that was read so far. */
interface Known {
  read: Read | undefined;
  paused: Pauses | undefined;
  shares: InboxShares;
}

/** The event that a person gets for a read, and a key that changes with its content. */
interface Pulse {
  key: string;
  event: ServerEvent;
}

/** The result of a read, and a key that changes with its content. */
export interface Update {
  key: string;
  seenBy(permit: Permit): Pulse;
  /** Set if visibility could not be read. */
  error?: unknown;
  /** Whether there is more to read. */
  isPart?: boolean;
  /** Whether more items wait than one read returns. */
  isLong?: boolean;
}

/** The update after a read. `trouble`: only named turns were read, because visibility could not be read. */
export function pulse(known: Known & { read: Read }, trouble?: ApiError): Update {
  const { waiting, at } = known.read;
  const seenBy = (permit: Permit): Pulse => {
    const share = known.shares.of(permit);
    const { waiting: count, doubts } = share.totalsOf(waiting);
    const version = share.versionOf(waiting);
    const held = known.paused === undefined ? [] : heldBy(known.paused, permit);
    const data: InboxPulse = {
      version,
      waiting: count,
      doubts,
      complete: waiting.isComplete,
      at,
      paused: held.length > 0 ? held : undefined,
      trouble,
    };
    return { key: version + JSON.stringify([held, trouble]), event: { event: 'waiting', data } };
  };
  const { items, isComplete } = waiting;
  return { key: seenBy(EVERYTHING).key, seenBy, isPart: !isComplete, isLong: items.length > LIST_PAGE };
}

/** The update after a read that failed. */
export function troubled(error: unknown, formatError: FormatError, known: Known): Update {
  const { body } = formatError(error);
  const event: ServerEvent = { event: 'trouble', data: body };
  const { read } = known;
  if (read === undefined)
    return { key: JSON.stringify(body), seenBy: () => ({ key: JSON.stringify(body), event }), error };
  // A person who already saw the trouble gets no event for a turn that they do not see.
  const { key, seenBy } = pulse({ ...known, read }, body);
  return { key, seenBy: (permit) => ({ key: seenBy(permit).key, event }), error };
}

/** The update after named turns were read while visibility could not be read. */
export function stillTroubled(
  error: unknown,
  formatError: FormatError,
  known: Known & { read: Read },
): Update {
  return { ...pulse(known, formatError(error).body), error };
}

export function isTrouble(update: Update | undefined): boolean {
  return update?.error !== undefined;
}

export function noAnswerYet(): CountersignError {
  return new CountersignError(
    'no_server',
    'the Temporal server has not answered yet',
    SERVER_HINTS.unanswered,
  );
}
