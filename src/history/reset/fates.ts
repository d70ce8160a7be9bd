import type { Effect } from '../../contract/tool';
import { isDenial } from '../fold/effects';
import type { CallEnded, CallStarted, RequestOpened, TurnEvent } from '../events';

/**
 * What becomes of a call after a reset.
 * - `asked_again`: it waits for a new decision. An unsafe one that ran is known by its key: once approved it goes in doubt.
 * - `in_doubt`: it is unsafe and had started, so it is never started again by us.
 * - `runs_again`: it is pure, or idempotent and runs with the same key.
 * - `starts`: it had not started; now it does.
 * - `forgotten`: it is of a later step; the model is asked anew, and what the call did stays done.
 */
export type ResetFate = 'asked_again' | 'in_doubt' | 'runs_again' | 'starts' | 'forgotten';

/** Everything on record about one call. */
interface CallRecord {
  asked?: RequestOpened;
  started?: CallStarted;
  ended?: CallEnded;
  /** The event by which a person approved it. */
  approvedAt?: number;
  /** The event by which it was denied or expired. */
  closedAt?: number;
}

function recordOf(events: readonly TurnEvent[], callId: string): CallRecord {
  const record: CallRecord = {};
  for (const event of events) if ('callId' in event && event.callId === callId) note(record, event);
  return record;
}

function note(record: CallRecord, event: TurnEvent): void {
  if (event.type === 'request_opened') record.asked ??= event;
  if (event.type === 'call_started') record.started ??= event;
  if (event.type === 'call_ended') record.ended = event;
  if (event.type === 'request_expired') record.closedAt = event.eventId;
  if (event.type !== 'decision' || event.judgement.accepted !== true) return;
  if (isDenial(event)) record.closedAt = event.eventId;
  else if (event.asksAgain !== true) record.approvedAt = event.eventId;
}

/** Where a call began to be more than a proposal: it was asked about, or, if nobody was asked, it started. */
export function anchorOf(
  events: readonly TurnEvent[],
  callId: string,
): RequestOpened | CallStarted | undefined {
  const { asked, started } = recordOf(events, callId);
  return asked ?? started;
}

/** Whether a call waits for a decision and nothing came of it yet. */
export function isWaiting(events: readonly TurnEvent[], callId: string): boolean {
  const { asked, approvedAt, closedAt, ended } = recordOf(events, callId);
  return asked !== undefined && approvedAt === undefined && closedAt === undefined && ended === undefined;
}

/** A call, and what is taken back. */
interface Question {
  callId: string;
  /** Events after this one are taken back. */
  taskEventId: number;
  /** It is of a later step than the one that is gone back to. */
  later: boolean;
}

/** What becomes of a call; undefined where it stays as it is. */
export function fateOf(
  events: readonly TurnEvent[],
  { callId, taskEventId, later }: Question,
): { fate: ResetFate; ran: boolean; effect: Effect } | undefined {
  const record = recordOf(events, callId);
  const { asked, started } = record;
  const of = { ran: started !== undefined, effect: started?.effect ?? asked?.effect ?? 'pure' };
  if (later) return of.ran ? { ...of, fate: 'forgotten' } : undefined;
  const stays = (eventId: number | undefined): boolean => eventId !== undefined && eventId < taskEventId;
  if (isOver(record, stays)) return undefined;
  if (asked !== undefined && !stays(record.approvedAt))
    return stays(asked.eventId) && isWaiting(events, callId) ? undefined : { ...of, fate: 'asked_again' };
  if (!of.ran) return { ...of, fate: 'starts' };
  return { ...of, fate: of.effect === 'unsafe' ? 'in_doubt' : 'runs_again' };
}

/** Its outcome was on record before what is taken back. The words of a denial may have come later; they come again. */
function isOver(
  { asked, started, ended, closedAt }: CallRecord,
  stays: (eventId: number | undefined) => boolean,
): boolean {
  if (stays(closedAt)) return true;
  return (started !== undefined || asked === undefined) && stays(ended?.eventId);
}
