import type { History } from '../read-histories';
import { z } from 'zod';
import { defined } from '../defined';
import { tasksOf, type Deed, type RecordedTask } from './deeds';
import { firstDifference, type Difference, type DoneByTask } from './difference';
import { isThink, placeOf, wordsOf } from './words';

/**
 * Why a run does not replay.
 * `other`, `missing`, `extra`: the code goes another way than history, see `Difference`. `threw`: the code fails. `stuck`:
 * it does not come to rest, as in an endless loop. `no_workflow`: the code has no workflow of this type. `unreadable`: the history is of a newer version, or its key is
 * not here. `unknown`: Temporal says no, and all that can be compared agrees.
 */
export type FindingKind = Difference['kind'] | 'threw' | 'stuck' | 'no_workflow' | 'unreadable' | 'unknown';

/** Why a run does not replay, in the words of the agent, and what Temporal says. */
export interface Finding {
  kind: FindingKind;
  /** The event where they go apart, or the last one before. */
  eventId: number;
  /** Absent before the first step, and in workflows that have none. */
  step?: number;
  callId?: string;
  /** What history has there; absent where it has nothing. */
  history?: string;
  /** What the code does there; absent where it does nothing. */
  code?: string;
  /** With `unreadable`: why. */
  why?: string;
  /** Temporal's own message; absent where it was not asked. */
  message?: string;
}

/** What was seen while a run was replayed. */
export interface Observed {
  done: DoneByTask;
  /** How the code failed, and in which workflow task. */
  failure?: { message: string; place?: string; startedId: number };
  /** How it did not come to rest: `works for 20 s`. Nothing else is known of the run then. */
  stuck?: { how: string; place?: string; startedId: number };
}

/** Explains why a run does not replay. `said` is what Temporal says. */
export function explain(history: History, observed: Observed, said: string): Finding {
  const message = messageIn(said);
  const tasks = tasksOf(history.events ?? []);
  if (observed.stuck !== undefined) return notAtRest(observed.stuck, tasks);
  if (NO_WORKFLOW.test(message)) return { kind: 'no_workflow', eventId: 1, message };
  if (observed.failure !== undefined) return thrown(observed.failure, tasks, message);
  const difference = firstDifference(tasks, observed.done);
  if (difference !== undefined) return told(difference, tasks, message);
  const eventId = eventIn(message) ?? lastDone(observed);
  return { kind: 'unknown', eventId, ...stepAt(tasks, eventId), message };
}

/** Code that failed did nothing more in that task, so what it lacks there says nothing. */
function thrown(
  failure: NonNullable<Observed['failure']>,
  tasks: readonly RecordedTask[],
  message: string,
): Finding {
  const eventId = failure.startedId;
  const place = stepAt(tasks, eventId);
  return { kind: 'threw', eventId, ...place, code: `fails: ${failure.message}${at(failure)}`, message };
}

/** What history has next there is what the code did not get to, or goes on with for ever. */
function notAtRest(stuck: NonNullable<Observed['stuck']>, tasks: readonly RecordedTask[]): Finding {
  const eventId = stuck.startedId;
  const next = tasks.find(({ startedId }) => startedId === eventId)?.deeds[0]?.deed;
  const place = { ...stepAt(tasks, eventId), ...placeOf(next) };
  const said = defined({ history: next && wordsOf(next) });
  return { kind: 'stuck', eventId, ...place, ...said, code: `${stuck.how}${at(stuck)}` };
}

function at({ place }: { place?: string }): string {
  return place === undefined ? '' : `, at ${place}`;
}

const NO_WORKFLOW = /no such function is exported by the workflow bundle/;

/** The message itself: what the SDK's core hands over is the whole failure as text. */
export function messageIn(said: string): string {
  const [, quoted] = /Failure \{ message: ("(?:[^"\\]|\\.)*")/.exec(said) ?? [];
  const parsed = z.string().safeParse(quoted === undefined ? undefined : parse(quoted));
  return parsed.success ? parsed.data : said.replace(/^Replay failed[^]*?Details: /, '');
}

function parse(quoted: string): unknown {
  try {
    return JSON.parse(quoted);
  } catch {
    // Rust escapes a few characters otherwise than JSON does.
    return quoted.slice(1, -1);
  }
}

function told(difference: Difference, tasks: readonly RecordedTask[], message: string): Finding {
  const recorded = difference.kind === 'extra' ? undefined : difference.recorded;
  const done = difference.kind === 'missing' ? undefined : difference.done;
  const eventId = difference.kind === 'extra' ? difference.afterId : difference.recorded.eventId;
  const named = placeOf(recorded?.deed).step === undefined ? placeOf(done) : placeOf(recorded?.deed);
  const place = { ...stepAt(tasks, eventId), ...named };
  const words = (deed: Deed | undefined) => deed && wordsOf(deed);
  const said = defined({ history: words(recorded?.deed), code: words(done) });
  return { kind: difference.kind, eventId, ...place, ...said, message };
}

/** The step that the model was last asked for at an event. */
function stepAt(tasks: readonly RecordedTask[], eventId: number): { step?: number } {
  const asked = tasks
    .flatMap(({ deeds }) => deeds)
    .findLast(({ deed, eventId: at }) => at <= eventId && isThink(deed));
  return placeOf(asked?.deed);
}

/** Temporal names an event where it can: `HistoryEvent(id: 5, TimerStarted)`. */
function eventIn(message: string): number | undefined {
  const [, id] = /HistoryEvent\(id: (\d+)/.exec(message) ?? [];
  return id === undefined ? undefined : Number(id);
}

function lastDone({ done }: Observed): number {
  return Math.max(0, ...done.keys());
}
