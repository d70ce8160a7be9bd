import type { History } from '../decode/decode';
import { z } from 'zod';

import { type Command, isSame, type RecordedTask, tasksOf, type RecordedCommand } from './commands';
import { gateMemoKey, MEMO, ACTIVITIES, stepOfCall } from '../../contract/names';
import { purposeOf } from '../fold/activities';
import { parseJson } from '../../contract/json';

/**
 * Why a run does not replay.
 * `other`, `missing`, `extra`: the code takes another way than history, see `Difference`. `threw`: the code fails.
 * `stuck`: the code does not come to rest, as in an endless loop. `no_workflow`: the code has no workflow of this type.
 * `unreadable`: the history is of a newer version, or its key is missing here. `unknown`: Temporal refuses the run,
 * although everything that can be compared agrees.
 */
type FindingKind = Difference['kind'] | 'threw' | 'stuck' | 'no_workflow' | 'unreadable' | 'unknown';

/** Why a run does not replay, in the terms of the agent, and the message of Temporal. */
export interface ReplayFinding {
  kind: FindingKind;
  /** The event where code and history differ, or the last event before that. */
  eventId: number;
  /** The step of the turn. Absent before the first step, and in workflows without steps. */
  step?: number;
  callId?: string;
  /** The action that history has there. Absent if history has no action there. */
  history?: string;
  /** The action of the code there. Absent if the code does nothing. */
  code?: string;
  /** Only with `unreadable`: why the run cannot be read. */
  why?: string;
  /** Temporal's own message. Absent if Temporal was not asked. */
  message?: string;
}

/** What was observed during a replay. */
export interface Observed {
  done: CommandsByTask;
  /** How the code failed, and in which workflow task. */
  failure?: { message: string; place?: string; startedId: number };
  /**
   * What the code did instead of coming to rest: `works for 20 s`. Nothing else is known about the run in that case.
   */
  stuck?: { how: string; startedId: number };
}

/** Explains why a run does not replay. `said` is the message of Temporal. */
export function explain(history: History, observed: Observed, said: string): ReplayFinding {
  const message = messageIn(said);
  const tasks = tasksOf(history.events ?? []);
  if (observed.stuck !== undefined) return notAtRest(observed.stuck, tasks);
  if (NO_WORKFLOW.test(message)) return { kind: 'no_workflow', eventId: 1, message };
  if (observed.failure !== undefined) return thrown(observed.failure, tasks, message);
  const difference = firstDifference(tasks, observed.done);
  if (difference !== undefined) return explainDifference(difference, tasks, message);
  const eventId = eventIn(message) ?? Math.max(0, ...observed.done.keys());
  return { kind: 'unknown', eventId, ...stepAt(tasks, eventId), message };
}

/**
 * The finding for code that threw. The code did nothing more in that task, so commands that are missing there mean
 * nothing.
 */
function thrown(
  failure: NonNullable<Observed['failure']>,
  tasks: readonly RecordedTask[],
  message: string,
): ReplayFinding {
  const eventId = failure.startedId;
  const place = stepAt(tasks, eventId);
  const at = failure.place === undefined ? '' : `, at ${failure.place}`;
  return { kind: 'threw', eventId, ...place, code: `fails: ${failure.message}${at}`, message };
}

/**
 * The finding for code that does not come to rest. Such code never reaches or never finishes the next command in
 * history.
 */
function notAtRest(stuck: NonNullable<Observed['stuck']>, tasks: readonly RecordedTask[]): ReplayFinding {
  const eventId = stuck.startedId;
  const next = tasks.find(({ startedId }) => startedId === eventId)?.commands[0]?.command;
  const place = { ...stepAt(tasks, eventId), ...stepAndCallOf(next) };
  const said = { history: next && commandWords(next) };
  return { kind: 'stuck', eventId, ...place, ...said, code: stuck.how };
}

const NO_WORKFLOW = /no such function is exported by the workflow bundle/;

/** The message in the text that the SDK's core gives. The text is the whole failure. */
function messageIn(said: string) {
  const [, quoted] = /Failure \{ message: ("(?:[^"\\]|\\.)*")/.exec(said) ?? [];
  const parsed = z.string().safeParse(quoted === undefined ? undefined : parse(quoted));
  return parsed.success ? parsed.data : said.replace(/^Replay failed[^]*?Details: /, '');
}

function parse(quoted: string): unknown {
  // Rust escapes a few characters differently from JSON.
  return parseJson(quoted) ?? quoted.slice(1, -1);
}

function explainDifference(
  difference: Difference,
  tasks: readonly RecordedTask[],
  message: string,
): ReplayFinding {
  const recorded = difference.kind === 'extra' ? undefined : difference.recorded;
  const done = difference.kind === 'missing' ? undefined : difference.done;
  const eventId = difference.kind === 'extra' ? difference.afterId : difference.recorded.eventId;
  const named =
    stepAndCallOf(recorded?.command).step === undefined
      ? stepAndCallOf(done)
      : stepAndCallOf(recorded?.command);
  const place = { ...stepAt(tasks, eventId), ...named };
  const words = (command: Command | undefined) => command && commandWords(command);
  const said = { history: words(recorded?.command), code: words(done) };
  return { kind: difference.kind, eventId, ...place, ...said, message };
}

/** The step for which the model was last asked at an event. */
function stepAt(tasks: readonly RecordedTask[], eventId: number): { step?: number } {
  const asked = tasks
    .flatMap(({ commands }) => commands)
    .findLast(({ command, eventId: at }) => at <= eventId && isThink(command));
  return stepAndCallOf(asked?.command);
}

/** The event that a message of Temporal names, if it names one: `HistoryEvent(id: 5, TimerStarted)`. */
function eventIn(message: string) {
  const [, id] = /HistoryEvent\(id: (\d+)/.exec(message) ?? [];
  return id === undefined ? undefined : Number(id);
}

/**
 * The place where code and history differ. `other`: the code does something else. `missing`: the code does not do an
 * action of the history. `extra`: the code does an action that the history does not have.
 */
type Difference =
  | { kind: 'other'; recorded: RecordedCommand; done: Command }
  | { kind: 'missing'; recorded: RecordedCommand }
  | { kind: 'extra'; done: Command; afterId: number };

/** The commands of the code in each workflow task, by the id of the task's started event. */
type CommandsByTask = ReadonlyMap<number, readonly Command[]>;

/** The first place where code and history differ. Undefined if the tasks that were compared agree. */
export function firstDifference(
  tasks: readonly RecordedTask[],
  done: CommandsByTask,
): Difference | undefined {
  for (const { startedId, commands } of tasks) {
    const now = done.get(startedId);
    if (now === undefined) continue;
    const difference = compare(commands, now, startedId);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function compare(
  recorded: readonly RecordedCommand[],
  done: readonly Command[],
  startedId: number,
): Difference | undefined {
  for (let at = 0; at < Math.max(recorded.length, done.length); at++) {
    const [was, is] = [recorded[at], done[at]];
    if (was !== undefined && is !== undefined && isSame(was.command, is)) continue;
    if (was === undefined)
      return is && { kind: 'extra', done: is, afterId: recorded.at(-1)?.eventId ?? startedId };
    return is === undefined ? { kind: 'missing', recorded: was } : { kind: 'other', recorded: was, done: is };
  }
  return undefined;
}

function memoWords(fields: readonly string[]): string {
  const isOpen = fields.some((field) => field === MEMO.open || field.startsWith(gateMemoKey('')));
  if (isOpen) return 'publishes what waits for a person';
  return fields.includes(MEMO.closed) ? 'publishes why it closed calls' : 'publishes its verdicts on signals';
}

/** A command in the terms of the agent: `runs call 1.2, pay`. */
export function commandWords(command: Command): string {
  switch (command.what) {
    case 'activity':
      return activityWords(command);
    case 'memo':
      return memoWords(command.fields);
    case 'patch':
      return `takes the path of the patch ${JSON.stringify(command.id)}`;
    case 'child':
      return `starts the workflow ${command.type}`;
    case 'signal':
      return `sends the signal ${command.name}`;
    case 'end':
      return ENDS[command.how];
    default:
      return PLAIN[command.what];
  }
}

const ENDS = {
  completed: 'ends the turn',
  failed: 'fails the turn',
  cancelled: 'ends the turn as cancelled',
  continued: 'continues as new',
} as const;

const PLAIN = {
  timer: 'sets a timer, as for the deadline of a request',
  timer_cancelled: 'cancels a timer',
  activity_cancelled: 'cancels something that runs',
  attributes: 'updates the search attributes',
} as const;

function activityWords({ id, type }: { id: string; type: string }) {
  const purpose = purposeOf({ id, activityType: type });
  switch (purpose?.what) {
    case 'think':
      return `asks the model for ${purpose.isBurst === true ? 'the steps from' : 'step'} ${purpose.step}`;
    case 'prepare':
      return `prepares call ${purpose.callId}`;
    case 'verify':
      return `asks whether call ${purpose.callId} happened`;
    case 'held':
      return `waits until no pause holds call ${purpose.callId}`;
    case 'call':
      return `runs call ${purpose.callId}, ${type}${purpose.generation > 0 ? ', once more' : ''}`;
    default:
      return `runs the activity ${type}`;
  }
}

/** The step and the call that a command is about, if its name contains them. */
export function stepAndCallOf(command: Command | undefined): { step?: number; callId?: string } {
  if (command?.what !== 'activity') return {};
  const purpose = purposeOf({ id: command.id, activityType: command.type });
  if (purpose === undefined) return {};
  if (purpose.what === 'think') return { step: purpose.step };
  const { callId } = purpose;
  const step = stepOfCall(callId);
  return { callId, ...(step === 0 ? {} : { step }) };
}

/** Whether an activity asks the model. */
export function isThink(command: Command): boolean {
  return (
    command.what === 'activity' && [ACTIVITIES.think, ACTIVITIES.burst].some((type) => type === command.type)
  );
}
