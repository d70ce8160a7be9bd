import type { CallInput, CallSettings, NotHere, PreparedCall, ValidCall } from './call';
import type { Abandonment } from './decision';
import { LIMITS, TIMES } from './limits';
import { FAILURES } from './names';
import type { ToolFailure, ToolResult } from './result';
import type { JsonObject } from './json';
import { utf8Bytes } from './text/bytes';

/** Why a text cannot be the reason of a person, which the model reads; undefined where it can. */
export function reasonProblem(text: string): string | undefined {
  // Nobody types these. In a reason they could only deceive its reader.
  if (/[^\P{Cc}\n\t]/u.test(text)) return 'control characters are not allowed';
  return utf8Bytes(text) > LIMITS.reasonBytes ? `over ${LIMITS.reasonBytes} bytes` : undefined;
}

/**
 * What the model reads of calls that no handler ended. The workflow and the reader of its history use the same texts.
 */
export const ENDINGS = {
  /** Its request ran out of time. */
  expired: {
    code: 'expired',
    message: 'Nobody decided on this call in time. It expired and counts as denied; nothing ran.',
  },
  /** It was a question that ran out of time. */
  unanswered: {
    code: 'expired',
    message: 'Nobody answered this question in time. Go on without an answer, or ask again.',
  },
  /** It was a question of a call that has ended meanwhile. */
  askerEnded: {
    code: 'cancelled',
    message: 'The call that asked this has ended. Nobody needs the answer any more.',
  },
  /** It was a question of a server, which does not wait for the answer any more. */
  askerWithdrew: {
    code: 'cancelled',
    message: 'The server that asked this has withdrawn it or has ended. Nobody needs the answer any more.',
  },
  /** Its request was taken back. */
  withdrawn: {
    code: 'cancelled',
    message: 'The request was withdrawn before anybody decided. Nothing ran.',
  },
  /** It never started because its turn was cancelled. */
  neverStarted: {
    code: 'cancelled',
    message: 'The turn was cancelled before this call started. Nothing ran.',
  },
  /** The model asked for the same again and again. */
  repeated: {
    code: 'refused',
    message:
      'The last steps asked for exactly this, and it gave the same each time. Nothing ran. Do something else, or answer with what you know.',
  },
  /** It was cancelled with its turn. */
  cancelled: { code: 'cancelled', message: 'The turn was cancelled. This call did not finish.' },
} as const satisfies Record<string, ToolFailure>;

/**
 * Why the workflow closed a call by itself, without a decision and without the end of its activity: one of the endings above;
 * no worker had what it needs (`absent`); a person ended the turn with the call in doubt (`abandoned`); or the outcome of a
 * call in doubt was proven (`proven`).
 */
export const CLOSING_CAUSES = [
  'expired',
  'unanswered',
  'askerEnded',
  'askerWithdrew',
  'withdrawn',
  'neverStarted',
  'cancelled',
  'absent',
  'abandoned',
  'proven',
  'repeated',
] as const;
export type ClosingCause = (typeof CLOSING_CAUSES)[number];

/** In place of "Nothing ran.": this attempt ran nothing, but an earlier one may have. */
export const MAY_HAVE_RUN = 'An earlier attempt of it may have run.';

/** A failure of a call that a person let run again: its run before was in doubt, so nobody knows that nothing ran. */
export function afterDoubt(failure: ToolFailure): ToolFailure {
  return { ...failure, message: failure.message.replace(/Nothing ran\.$/, MAY_HAVE_RUN) };
}

/** Who said something about a call, and why. */
interface Said {
  approver: string;
  reason?: string | undefined;
}

/** A person said no. */
export function denied({ approver, reason }: Said): ToolFailure {
  const why = reason === undefined || reason === '' ? 'no reason was given' : reason;
  return { code: 'denied', message: `${approver} denied this call: ${why}. Nothing ran.` };
}

/** A person did not want to answer a question. */
export function declined({ approver, reason }: Said): ToolFailure {
  const why = reason === undefined || reason === '' ? 'no reason was given' : reason;
  return { code: 'denied', message: `${approver} declined to answer: ${why}.` };
}

const HANDLES =
  'A text that begins with answer: names a secret that you cannot read; give it to the tool it is for as it is.';

/** What a person answered, as the model reads it: first who, then the content as JSON. An answer allows nothing. */
export function answered({ approver, reason }: Said, content: JsonObject, hasSecrets = false): string {
  const remark = reason === undefined || reason === '' ? '' : ` Remark: ${reason}`;
  const note = hasSecrets ? ` ${HANDLES}` : '';
  return `${approver} answered.${remark}${note}\n\n${JSON.stringify(content)}`;
}

/** A person found that an interrupted call did not take effect. */
export function didNot(said: Said): ToolFailure {
  return { code: 'transport', message: found(said, 'did not take effect') };
}

/** A person found that an interrupted call did take effect; with what it returned, as far as they know. */
export function happened(said: Said, content: string | undefined): string {
  const note = found(said, 'did take effect');
  return content === undefined ? note : `${note}\n\n${content}`;
}

function found({ approver, reason }: Said, what: string): string {
  const why = reason === undefined ? '' : ` Reason: ${reason}`;
  return `The call was interrupted. ${approver} found that it ${what}.${why}`;
}

/** Why the arguments that a person gave a call were not taken: the request is what it was before. */
export function unpreviewed(prepared: Exclude<PreparedCall, ValidCall> | ToolResult): string {
  const why = 'content' in prepared ? prepared.content : whyInvalid(prepared);
  return `the edit could not be previewed: ${why}`;
}

/** Why a call was not prepared anew: the request is what it was before. */
export function notRenewed(prepared: Exclude<PreparedCall, ValidCall> | ToolResult): string {
  const why = 'content' in prepared ? prepared.content : whyInvalid(prepared);
  return `it was not asked again: ${why}`;
}

/** Why a call cannot run. */
export function whyInvalid(prepared: Exclude<PreparedCall, ValidCall>): string {
  return prepared.kind === 'remote' ? 'its tool moved to another queue' : prepared.result.content;
}

/** How an activity ended that gave no outcome, in Temporal's terms. */
export interface LostActivity {
  cancelled: boolean;
  /** Where it was cancelled: no worker had it then, so that the server ended it by itself. */
  untaken: boolean;
  /** Which of its times was over. */
  timeout?: string | undefined;
  /** Where a time was over: some attempt of it had begun to beat. */
  beaten: boolean;
  /** Type of an application failure. */
  type?: string | undefined;
  /** What it failed with. */
  message: string;
}

/** How long a call may wait for a worker, in milliseconds; on the queue of the one that holds its state it is not for long. */
export function startWithin({ startWithinMs }: Pick<CallSettings, 'startWithinMs'>, isHeld: boolean): number {
  return isHeld ? Math.min(startWithinMs, TIMES.holderAnswer) : startWithinMs;
}

/** Why a call goes to another worker than the one that held its state. */
export const HOLDER_GONE = 'the worker that held the state of its tool did not take it';

/**
 * Whether a call that was on the queue of the worker that held its state goes to another one. An unsafe one only where it is
 * proven that it never started; any other may run again.
 */
export function goesElsewhere(
  activity: LostActivity,
  { effect, times }: { effect: CallSettings['effect']; times: OpenTimes },
): boolean {
  const isLate = !activity.cancelled && activity.timeout === 'SCHEDULE_TO_START';
  return isLate && (effect !== 'unsafe' || unstarted(activity, times) !== undefined);
}

/** The most attempts of a call. Lost attempts of an unsafe call are never run again by us. */
export function mostAttempts({ effect, retry }: Pick<CallSettings, 'effect' | 'retry'>): number {
  return effect === 'unsafe' ? 1 : retry.maximumAttempts;
}

/** How long an activity was open, and the times it was given; all in milliseconds. */
export interface OpenTimes {
  /** From the workflow task that scheduled it to the one that saw its end: at least as long as it was open. */
  openMs: number;
  heartbeatMs: number;
  startWithinMs: number;
  /** Most attempts that its retry policy allows, which end without a trace while it is open. */
  maximumAttempts: number;
}

/** The result of a call that is proven never to have started; undefined where that is not proven. */
export function unstarted(activity: LostActivity, times: OpenTimes): ToolFailure | undefined {
  const ending = endingUntaken(activity);
  return ending === undefined || mayHideStart(activity, times) ? undefined : ending.failure;
}

/** Whether no worker had started the last attempt of an activity when it ended. */
export function endedUntaken(activity: LostActivity): boolean {
  return endingUntaken(activity) !== undefined;
}

function endingUntaken(activity: LostActivity): { failure: ToolFailure; what: string } | undefined {
  const { cancelled, untaken, timeout, type } = activity;
  if (cancelled) return untaken ? UNTAKEN.cancelled : undefined;
  if (timeout === 'SCHEDULE_TO_START') return UNTAKEN.late;
  return type === FAILURES.notRegistered ? UNTAKEN.unknownTool : undefined;
}

const UNTAKEN = {
  cancelled: { failure: ENDINGS.neverStarted, what: 'The turn was cancelled before a worker took this call' },
  late: {
    failure: { code: 'expired', message: 'No worker started this call in time. Nothing ran.' },
    what: 'No worker started this call in time',
  },
  unknownTool: {
    failure: {
      code: 'tool_not_found',
      message: 'The worker that took this call does not have the tool. Nothing ran.',
    },
    what: 'The worker that took this call does not have the tool',
  },
} as const satisfies Record<string, { failure: ToolFailure; what: string }>;

/**
 * The end of an activity is about its last attempt only. Where its retry policy allows more than one, an earlier one may
 * have run and failed at once. Else an operator may have given it more, or set it back: but an attempt that started and
 * was lost is not noticed before its heartbeat is missed. So one that was not open as long as that, beside the time it
 * may wait for a worker, has had no other.
 */
function mayHideStart({ beaten, timeout }: LostActivity, times: OpenTimes): boolean {
  const { openMs, heartbeatMs, startWithinMs, maximumAttempts } = times;
  const waits = timeout === 'SCHEDULE_TO_START' ? startWithinMs : 0;
  return beaten || maximumAttempts !== 1 || !(openMs < waits + heartbeatMs);
}

/** The result of a call that no worker could start in time, because none had what it needs. */
export function nobodyHad({ notHere }: NotHere): ToolFailure {
  return { code: 'expired', message: `This call could not start in time: ${notHere}. Nothing ran.` };
}

/** A person ended a cancelled turn although this call was in doubt. */
export function unresolved({ approver = 'somebody', reason }: Abandonment): ToolFailure {
  const why = reason === undefined ? '' : ` ${reason}`;
  return {
    code: 'in_doubt',
    message: `Unresolved: ${approver} ended the turn with this call in doubt.${why}`,
  };
}

/** Why nobody knows what became of an unsafe call. */
export function doubt(activity: LostActivity): string {
  const ending = endingUntaken(activity);
  if (ending !== undefined) return `${ending.what}, but an earlier attempt of it may have been started`;
  const { cancelled, timeout, message } = activity;
  if (cancelled) return 'the call was cancelled while a worker had it';
  if (timeout === undefined) return `the call failed on its way back: ${message}`;
  return timeout === 'HEARTBEAT'
    ? 'the worker stopped answering while the call ran'
    : 'the call was not heard of again after it started';
}

/** The result of a call that may run again and was lost at each attempt. */
export function lost(activity: LostActivity): ToolFailure {
  const ending = endingUntaken(activity);
  if (ending !== undefined) return { code: ending.failure.code, message: `${ending.what}. ${MAY_HAVE_RUN}` };
  const { cancelled, timeout, message } = activity;
  if (cancelled) return ENDINGS.cancelled;
  if (timeout === undefined) return { code: 'unknown', message: message || 'The call failed.' };
  return timeout === 'HEARTBEAT'
    ? { code: 'transport', message: 'Every worker that ran this call was lost. It may run again safely.' }
    : { code: 'timeout', message: 'The call did not end in time, at any attempt.' };
}

/** Why the outcome of a call is unknown whose activity returned something that we did not write. */
export const UNREADABLE = 'what its activity returned cannot be read; an operator may have completed it';

/** The result of a call that may run again and whose result cannot be read. */
export function unreadable(): ToolFailure {
  return { code: 'unknown', message: `Its outcome is unknown: ${UNREADABLE}.` };
}

/** The result of a call that its own worker could not prepare. */
export function unprepared(tool: string, why: string): ToolFailure {
  const message = `The worker that has ${tool} could not prepare this call: ${why}. Nothing ran.`;
  return { code: 'transport', message };
}

const VALUE_CHARS = 300;

/** The part of a call that its note is about. */
type NotedCall = Pick<CallInput, 'decision' | 'proposed' | 'arguments'>;

/**
 * What the model reads before the result of a call that a person changed or remarked on: what was changed, by whom and
 * why, so that it does not redo the original. Undefined if nothing was changed or remarked.
 */
export function decisionNote(call: NotedCall): string | undefined {
  const { decision, proposed, arguments: effective } = call;
  if (decision === undefined) return undefined;
  const { edit, ...approval } = decision;
  const remark = `${approval.approver} approved this call.${because(approval.reason)}`;
  if (proposed === undefined || edit === undefined)
    return because(approval.reason) === '' ? undefined : `[${remark}]`;
  const changes = changedArguments(proposed, effective);
  const sameSaid = edit.approver === approval.approver && edit.reason === approval.reason;
  return [
    `[${edit.approver} changed the arguments of this call before it ran.${because(edit.reason)}`,
    ...changes.map(({ name, before, after }) => `  ${name}: ${before} → ${after}`),
    ...(sameSaid ? [] : [remark]),
    'The result below is of the changed call. Do not ask for the original again.]',
  ].join('\n');
}

function because(reason: string | undefined): string {
  return reason === undefined || reason === '' ? '' : ` Reason: ${reason}`;
}

function changedArguments(proposed: JsonObject, effective: JsonObject) {
  const names = [...new Set([...Object.keys(proposed), ...Object.keys(effective)])];
  return names
    .map((name) => ({ name, before: show(proposed[name]), after: show(effective[name]) }))
    .filter(({ before, after }, index) => before !== after || !same(proposed, effective, names[index]));
}

function same(proposed: JsonObject, effective: JsonObject, name: string | undefined): boolean {
  if (name === undefined) return true;
  return JSON.stringify(proposed[name]) === JSON.stringify(effective[name]);
}

function show(value: unknown): string {
  if (value === undefined) return '(absent)';
  const text = JSON.stringify(value);
  return text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS)}… (${text.length} characters)`;
}

/** The content of a result as the model reads it: after the note, which is never put there twice. */
export function withDecisionNote(call: NotedCall, content: string): string {
  const note = decisionNote(call);
  return note === undefined || content.startsWith(note) ? content : `${note}\n\n${content}`;
}
