import { CountersignError } from '../contract/errors';
import type { Effect } from '../contract/tool';
import type { DecodedEvent } from './decode/events';
import type { TurnEvent } from './events';
import { createFold } from './fold';
import type { Runs } from './read-record';
import { anchorOf, fateOf, isWaiting, type ResetFate } from './reset/fates';

export type { ResetFate } from './reset/fates';

/** What a reset would do to one call. */
export interface ResetCall {
  callId: string;
  tool: string;
  effect: Effect;
  /** It had started: what it did stays done, whatever the record says then. */
  ran: boolean;
  fate: ResetFate;
}

/** A reset that was planned from the record and not done yet. */
export interface ResetPlan {
  turn: string;
  runId: string;
  /** The call that it goes back to. */
  before: string;
  /** The workflow task that is taken back, with everything after it, by the event that completed it. */
  taskEventId: number;
  /** The last event on record when it was planned; with more there, it is planned anew. */
  lastEventId: number;
  /** Calls that are not as they were afterwards, in order. */
  calls: ResetCall[];
}

/**
 * Plans a reset of a turn to before one of its calls was asked about or, if it needed nobody, started. The reply that
 * asked for it stays, and with it the keys of its calls: what had started under one is found again.
 *
 * @throws CountersignError `call_not_found`; `reset_refused` for a call of an earlier run, one that never waited or
 * started, or one that still waits with nothing behind it.
 */
export function planReset(runs: Runs, before: string): ResetPlan {
  const last = runs.at(-1) ?? [];
  const { earlier, events } = eventsByRun(runs);
  const started = events.find((event) => event.type === 'turn_started');
  if (started === undefined) throw new CountersignError('bad_history', 'this is no record of a turn');
  const { turn } = started;
  if (!proposes(events, before))
    throw proposes(earlier, before) ? inEarlierRun(turn, before) : notThere(turn, before);
  const anchor = anchorOf(events, before);
  if (anchor === undefined) throw refused(`${before} never waited for a decision and never started`);
  if (isWaiting(events, before)) throw refused(`${before} waits for a decision as it is`);
  const taskEventId = taskOf(last, anchor.eventId);
  const calls = callsAfter(events, { before, taskEventId });
  return { turn, runId: runIdOf(events), before, taskEventId, lastEventId: last.at(-1)?.eventId ?? 0, calls };
}

function eventsByRun(runs: Runs): { earlier: TurnEvent[]; events: TurnEvent[] } {
  const fold = createFold();
  const told = runs.map((run) => run.flatMap((event) => fold.push(event)));
  return { earlier: told.slice(0, -1).flat(), events: told.at(-1) ?? [] };
}

function proposes(events: readonly TurnEvent[], callId: string): boolean {
  return events.some((event) => event.type === 'step' && event.calls.some((call) => call.callId === callId));
}

/** A reset of this run before was told by the event that began it anew. */
function runIdOf(events: readonly TurnEvent[]): string {
  return events.reduce((runId, event) => {
    if (event.type === 'turn_started') return event.runId;
    return event.type === 'reset' ? event.newRunId : runId;
  }, '');
}

/** The task whose commands made an event: the last one that was completed before it. */
function taskOf(run: readonly DecodedEvent[], eventId: number): number {
  const task = run.findLast((event) => event.kind === 'task_completed' && event.eventId < eventId);
  if (task === undefined) throw new CountersignError('bad_history', 'the record of this turn has a gap');
  return task.eventId;
}

function callsAfter(
  events: readonly TurnEvent[],
  { before, taskEventId }: Pick<ResetPlan, 'before' | 'taskEventId'>,
): ResetCall[] {
  const step = Number.parseInt(before, 10);
  const steps = events.flatMap((event) => (event.type === 'step' && event.step >= step ? [event] : []));
  return steps.flatMap((one) =>
    one.calls.flatMap(({ callId, tool }) => {
      const found = fateOf(events, { callId, taskEventId, later: one.step > step });
      return found === undefined ? [] : [{ callId, tool, ...found }];
    }),
  );
}

function refused(message: string): CountersignError {
  return new CountersignError('reset_refused', `there is nothing to reset: ${message}`);
}

function inEarlierRun(turn: string, callId: string): CountersignError {
  return new CountersignError(
    'reset_refused',
    `${callId} is in an earlier run: ${turn} continued as new since, and only its last run can be reset`,
    { hint: `Fork it instead: countersign fork ${turn} --at ${callId}` },
  );
}

function notThere(turn: string, callId: string): CountersignError {
  return new CountersignError('call_not_found', `${turn} has no call ${callId}`, {
    hint: `countersign show ${turn} lists its calls.`,
  });
}
