import type { History } from '../read-histories';
import { defined } from '../defined';
import { tasksOf, type Deed, type RecordedTask } from './deeds';
import { firstDifference, type Difference, type DoneByTask } from './difference';
import { isThink, placeOf, wordsOf } from './words';

/**
 * Why a run does not replay.
 * `other`, `missing`, `extra`: the code goes another way than history, see `Difference`. `threw`: the code fails.
 * `no_workflow`: the code has no workflow of this type. `unreadable`: the history is of a newer version, or its key is
 * not here. `unknown`: Temporal says no, and all that can be compared agrees.
 */
export type FindingKind = Difference['kind'] | 'threw' | 'no_workflow' | 'unreadable' | 'unknown';

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
  /** Temporal's own message. */
  message: string;
}

/** What was seen while a run was replayed. */
export interface Observed {
  done: DoneByTask;
  /** How the code failed, and in which workflow task. */
  failure?: { message: string; startedId: number };
}

/** Explains why a run does not replay. `message` is what Temporal says. */
export function explain(history: History, observed: Observed, message: string): Finding {
  const tasks = tasksOf(history.events ?? []);
  const missing = /no such function is exported by the workflow bundle/.test(message);
  if (missing) return { kind: 'no_workflow', eventId: 1, message };
  const difference = firstDifference(tasks, observed.done);
  if (difference !== undefined) return told(difference, tasks, message);
  const { failure } = observed;
  const eventId = failure?.startedId ?? eventIn(message) ?? lastDone(observed);
  const place = stepAt(tasks, eventId);
  if (failure === undefined) return { kind: 'unknown', eventId, ...place, message };
  return { kind: 'threw', eventId, ...place, code: `fails: ${failure.message}`, message };
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
