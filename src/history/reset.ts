import { CountersignError } from '../contract/errors';
import { shellWord } from '../contract/text/shell-word';
import { stepOfCall } from '../contract/names';
import type { Effect } from '../contract/tool';
import type { DecodedEvent } from './decode/events';
import type {
  CallEnded,
  CallStarted,
  ProposedCall,
  QuestionOpened,
  RequestOpened,
  TurnEvent,
} from './events';
import { createFold } from './fold/fold';
import type { Runs } from './read';
import { effectOfDecision } from './decisions';

/** The effect of a reset on one call. */
export interface ResetCall {
  callId: string;
  tool: string;
  effect: Effect;
  /** Whether the call had started. Its effect stays, whatever the record says after the reset. */
  ran: boolean;
  outcome: ResetOutcome;
}

/** A reset that was planned from the record and is not done yet. */
export interface ResetPlan {
  turn: string;
  runId: string;
  /** The call before which the reset goes back. */
  before: string;
  /** The reset takes back this event, which completed a workflow task, and everything after it. */
  taskEventId: number;
  /**
   * The last event that changed the turn when the reset was planned. If later events have changed it, the reset is
   * planned anew.
   */
  lastEventId: number;
  /** The calls that the reset changes, in order. */
  calls: ResetCall[];
}

/**
 * Plans a reset of a turn to the point before one of its calls was asked about or, if nobody was asked, started. The
 * reply that asked for the call stays, and with it the keys of its calls. So a call that had started is found again by
 * its key.
 *
 * @throws CountersignError `not_found`; `refused` for a call of an earlier run, a call that never waited or
 * started, or a call that still waits while nothing came after it.
 */
export function planReset(runs: Runs, before: string): ResetPlan {
  const last = runs.at(-1) ?? [];
  const { earlier, events } = eventsByRun(runs);
  const started = events.find((event) => event.type === 'turn_started');
  if (started === undefined) throw new CountersignError('bad_history', 'this is not the history of a turn');
  const { turn } = started;
  if (!proposes(events, before))
    throw proposes(earlier, before)
      ? new CountersignError(
          'refused',
          `${before} is in an earlier run: ${turn} continued as new since, and only its last run can be reset`,
          `Fork it instead: countersign fork ${shellWord(turn)} --at ${shellWord(before)}`,
        )
      : new CountersignError(
          'not_found',
          `${turn} has no call ${before}`,
          `countersign show ${shellWord(turn)} lists its calls.`,
        );
  // Where the call became more than a proposal: somebody was asked about it or, if nobody was asked, it started.
  const record = recordOf(events, before);
  const anchor = record.asked ?? record.started;
  if (anchor === undefined) throw refused(`${before} never waited for a decision and never started`);
  if (isWaiting(events, before)) throw refused(`${before} waits for a decision as it is`);
  if (isInBurst(last, anchor))
    throw new CountersignError(
      'refused',
      `${before} ran in a burst, because its agent has durability 'gate': all of a burst is taken back or nothing of it`,
      `Fork it instead: countersign fork ${shellWord(turn)} --at ${shellWord(before)}. Or reset to a call that waited for a decision.`,
    );
  const taskEventId = taskOf(last, anchor.eventId);
  const calls = callsAfter(events, { before, taskEventId });
  return { turn, runId: runIdOf(events), before, taskEventId, lastEventId: lastChange(last), calls };
}

/**
 * The last event of a run that changed the turn. A workflow task that is only tried does not change it: while a task
 * fails, its events come and go at the end of the record.
 */
export function lastChange(run: readonly DecodedEvent[]): number {
  return run.findLast(({ kind }) => !['task_started', 'task_failed', 'other'].includes(kind))?.eventId ?? 0;
}

function eventsByRun(runs: Runs) {
  const fold = createFold();
  const byRun = runs.map((run) => run.flatMap((event) => fold.push(event)));
  return { earlier: byRun.slice(0, -1).flat(), events: byRun.at(-1) ?? [] };
}

function proposes(events: readonly TurnEvent[], callId: string) {
  return events.some((event) => event.type === 'step' && event.calls.some((call) => call.callId === callId));
}

/** The id of the run after its last reset. Each reset gives the run a new id. */
function runIdOf(events: readonly TurnEvent[]) {
  return events.reduce((runId, event) => {
    if (event.type === 'turn_started') return event.runId;
    return event.type === 'reset' ? event.newRunId : runId;
  }, '');
}

/** The workflow task whose commands made an event. It is the last task that was completed before the event. */
function taskOf(run: readonly DecodedEvent[], eventId: number) {
  const task = run.findLast((event) => event.kind === 'task_completed' && event.eventId < eventId);
  if (task === undefined) throw new CountersignError('bad_history', 'the record of this turn has a gap');
  return task.eventId;
}

function callsAfter(
  events: readonly TurnEvent[],
  { before, taskEventId }: Pick<ResetPlan, 'before' | 'taskEventId'>,
): ResetCall[] {
  const step = stepOfCall(before);
  const steps = events.flatMap((event) => (event.type === 'step' && event.step >= step ? [event] : []));
  return steps.flatMap((one) =>
    one.calls.flatMap(({ callId, tool }) => {
      const found = outcomeOf(events, { callId, taskEventId, later: one.step > step });
      return found === undefined ? [] : [{ callId, tool, ...found }];
    }),
  );
}

function refused(message: string) {
  return new CountersignError('refused', `there is nothing to reset: ${message}`);
}

/** Whether a call ran in a burst. Such a call starts with the event that completed the burst. */
function isInBurst(run: readonly DecodedEvent[], { type, eventId }: TurnEvent) {
  if (type !== 'call_started') return false;
  return run.find((event) => event.eventId === eventId)?.kind === 'activity_completed';
}

/**
 * What a reset does to a call.
 * - `asked_again`: it waits for a new decision. An unsafe call that ran is known by its key: if it is approved, it goes
 *   in doubt.
 * - `in_doubt`: it is unsafe, and what allowed it is before the reset. Another run may have started it, so we do not.
 * - `runs_again`: nobody had to decide on it, and it is pure, or it is idempotent and runs with the same key.
 * - `starts`: the same for a call that had not started.
 * - `forgotten`: it is of a later step. The model is asked anew, and what the call did stays done.
 */
export type ResetOutcome = 'asked_again' | 'in_doubt' | 'runs_again' | 'starts' | 'forgotten';

/** Everything on record about one call. */
interface CallRecord {
  effect?: Effect;
  asked?: RequestOpened | QuestionOpened;
  started?: CallStarted;
  ended?: CallEnded;
  /** The event by which a person approved the call. */
  approvedAt?: number;
  /** The event by which the call was denied or expired. */
  closedAt?: number;
}

function recordOf(events: readonly TurnEvent[], callId: string): CallRecord {
  const record: CallRecord = {};
  for (const event of events) {
    const effect = proposalIn(event, callId)?.effect;
    if (effect !== undefined) record.effect = effect;
    if ('callId' in event && event.callId === callId) addEvent(record, event);
  }
  return record;
}

function proposalIn(event: TurnEvent, callId: string): ProposedCall | undefined {
  const calls = event.type === 'step' ? event.calls : event.type === 'call_prepared' ? [event.call] : [];
  return calls.find((call) => call.callId === callId);
}

function addEvent(record: CallRecord, event: TurnEvent) {
  if (event.type === 'request_opened' || event.type === 'question_opened') record.asked ??= event;
  if (event.type === 'call_started') record.started ??= event;
  if (event.type === 'call_ended') record.ended = event;
  if (event.type === 'request_expired') record.closedAt = event.eventId;
  if (event.type === 'answered' && event.judgement.accepted === true) record.closedAt = event.eventId;
  if (event.type === 'decision_void') {
    delete record.started;
    delete record.approvedAt;
  }
  if (event.type !== 'decision') return;
  const effect = effectOfDecision(event);
  if (effect === 'denies') record.closedAt = event.eventId;
  if (effect === 'approves') record.approvedAt = event.eventId;
}

/** Whether a call waits for a decision and nothing has come after that. */
function isWaiting(events: readonly TurnEvent[], callId: string) {
  const { asked, approvedAt, closedAt, ended } = recordOf(events, callId);
  return asked !== undefined && approvedAt === undefined && closedAt === undefined && ended === undefined;
}

/** A call, and the events that are taken back. */
interface CallToReset {
  callId: string;
  /** Events after this event are taken back. */
  taskEventId: number;
  /** The call is of a later step than the step that the reset goes back to. */
  later: boolean;
}

/** What the reset does to a call. Undefined if the reset does not change the call. */
function outcomeOf(
  events: readonly TurnEvent[],
  { callId, taskEventId, later }: CallToReset,
): { outcome: ResetOutcome; ran: boolean; effect: Effect } | undefined {
  const record = recordOf(events, callId);
  const { asked, started } = record;
  const of = { ran: started !== undefined, effect: started?.effect ?? record.effect ?? 'pure' };
  if (later) return of.ran ? { ...of, outcome: 'forgotten' } : undefined;
  const stays = (eventId: number | undefined) => eventId !== undefined && eventId < taskEventId;
  if (isOver(record, stays)) return undefined;
  if (asked !== undefined && !stays(record.approvedAt))
    return stays(asked.eventId) && isWaiting(events, callId) ? undefined : { ...of, outcome: 'asked_again' };
  // The reply or decision that allowed the call is before the reset, and proves nothing afterwards.
  if (of.effect === 'unsafe') return { ...of, outcome: 'in_doubt' };
  if (asked !== undefined) return { ...of, outcome: 'asked_again' };
  return { ...of, outcome: of.ran ? 'runs_again' : 'starts' };
}

/**
 * Whether the outcome of a call stays on record. The reason of a denial may have come later, and is then applied again.
 */
function isOver(
  { asked, started, ended, closedAt }: CallRecord,
  stays: (eventId: number | undefined) => boolean,
) {
  if (stays(closedAt)) return true;
  return (started !== undefined || asked === undefined) && stays(ended?.eventId);
}
