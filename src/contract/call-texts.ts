import type { Abandonment } from './decision';
import { LIMITS } from './limits';
import type { ToolErrorCode, ToolFailure } from './result';
import type { JsonObject } from './json';
import { utf8Bytes } from './text/bytes';
import { SOMEBODY } from './authority';
import type { CallInput, PreparedCall, ValidCall, NotHere, SpentDecision } from './call';

/** Why a text cannot be a person's reason, which the model reads. Undefined if it can. */
export function reasonProblem(text: string): string | undefined {
  // Nobody types control characters. In a reason they could only deceive its reader.
  if (/[^\P{Cc}\n\t]/u.test(text)) return 'control characters are not allowed';
  return utf8Bytes(text) > LIMITS.reasonBytes ? `over ${LIMITS.reasonBytes} bytes` : undefined;
}

/**
 * The failures that the model reads if no handler gave a result. The workflow and the reader of its history use the
 * same texts.
 */
export const ENDINGS = {
  /** The call's request ran out of time. */
  expired: {
    code: 'expired',
    message: 'Nobody decided on this call in time. It expired and counts as denied; nothing ran.',
  },
  /** The call was a question that ran out of time. */
  unanswered: {
    code: 'expired',
    message: 'Nobody answered this question in time. Go on without an answer, or ask again.',
  },
  /** The call was a question of another call that has ended meanwhile. */
  askerEnded: {
    code: 'cancelled',
    message: 'The call that asked this has ended. Nobody needs the answer any more.',
  },
  /** The call was a question of a server that no longer waits for the answer. */
  askerWithdrew: {
    code: 'cancelled',
    message: 'The server that asked this has withdrawn it or has ended. Nobody needs the answer any more.',
  },
  /** The call's request was taken back. */
  withdrawn: {
    code: 'cancelled',
    message: 'The request was withdrawn before anybody decided. Nothing ran.',
  },
  /** The call never started, because its turn was cancelled. */
  neverStarted: {
    code: 'cancelled',
    message: 'The turn was cancelled before this call started. Nothing ran.',
  },
  /** The model asked for the same calls again and again. */
  repeated: {
    code: 'refused',
    message:
      'The last steps asked for exactly this, and it gave the same each time. Nothing ran. Do something else, or answer with what you know.',
  },
  /** The call was cancelled with its turn. */
  cancelled: { code: 'cancelled', message: 'The turn was cancelled. This call did not finish.' },
} as const satisfies Record<string, ToolFailure>;

/**
 * Why the workflow closed a call by itself, without a decision and without the end of its activity: one of the endings
 * above; no worker had what the call needs (`absent`); a person ended the turn with the call in doubt (`abandoned`); or
 * the outcome of a call in doubt was proven (`proven`).
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

/**
 * Whether an earlier attempt of a call may have run: before a person let it run again, or where its attempt was lost.
 */
export function mayHaveRun({
  generation,
  mayHaveRun: wasLost,
}: Pick<CallInput, 'generation' | 'mayHaveRun'>): boolean {
  return generation > 0 || wasLost === true;
}

/** The text in place of "Nothing ran.", if an earlier attempt may have run something. */
export const MAY_HAVE_RUN = 'An earlier attempt of it may have run.';

/**
 * A failure of a call that a person let run again. The earlier run was in doubt, so it may not say that nothing ran.
 * If the end of the message may be the words of a person or of a tool, it stays: only our own sentence is reworded.
 */
export function afterDoubt(failure: ToolFailure): ToolFailure {
  return OF_OTHERS.includes(failure.code)
    ? failure
    : { ...failure, message: saysMayHaveRun(failure.message) };
}

/** The codes of failures that may end in the words of a person or of a tool. */
const OF_OTHERS: readonly ToolErrorCode[] = ['transport', 'in_doubt', 'tool', 'unknown'];

/** Our own words, without the sentence at their end that nothing ran. */
export function saysMayHaveRun(words: string): string {
  const inSentence = `a${MAY_HAVE_RUN.slice(1)}`;
  return words.replace(/Nothing ran\.?$/, MAY_HAVE_RUN).replace(/nothing ran\.?$/, inSentence);
}

/** Why a decision of an earlier run does not count, as a person reads it. */
export const DECIDED_BEFORE = 'decided before the turn was reset';

/** What a person reads beside a request that a reset opened again. */
export const OPEN_BEFORE = 'the run before the reset may have started it';

/** Why an unsafe call of a gate is in doubt in a run that a reset made. */
export const STARTED_BEFORE = `${DECIDED_BEFORE}; ${OPEN_BEFORE}`;

/** Why the votes of an earlier run do not count, as a person reads it beside the request. */
export const VOTED_BEFORE = 'the votes from before the reset do not count';

/** The person who decided, answered or resolved a call, and the reason. */
interface Said {
  approver: string;
  reason?: string;
}

/** A denial: who denied a call, why, and what the model should do instead. */
interface Denied extends Said {
  suggestion?: string;
}

/** The failure of a call that a person denied. */
export function denied({ approver, reason, suggestion = '' }: Denied): ToolFailure {
  const why = reason === undefined || reason === '' ? 'no reason was given' : reason;
  const instead = suggestion === '' ? '' : ` Do this instead, says ${approver}: ${suggestion}.`;
  return { code: 'denied', message: `${approver} denied this call: ${why}.${instead} Nothing ran.` };
}

/** The failure of a question that a person declined to answer. */
export function declined({ approver, reason }: Said): ToolFailure {
  const why = reason === undefined || reason === '' ? 'no reason was given' : reason;
  return { code: 'denied', message: `${approver} declined to answer: ${why}.` };
}

/**
 * A person's answer as the model reads it: first the name, then the content as JSON. An answer allows nothing to run.
 */
export function answered({ approver, reason }: Said, content: JsonObject): string {
  const remark = reason === undefined || reason === '' ? '' : ` Remark: ${reason}`;
  return `${approver} answered.${remark}\n\n${JSON.stringify(content)}`;
}

/** The failure of an interrupted call that, as a person found, did not take effect. */
export function didNot(said: Said): ToolFailure {
  return { code: 'transport', message: found(said, 'did not take effect') };
}

/**
 * The result of an interrupted call that, as a person found, took effect. `content` is the call's result if the
 * person knows it.
 */
export function happened(said: Said, content: string | undefined): string {
  const note = found(said, 'did take effect');
  return content === undefined ? note : `${note}\n\n${content}`;
}

function found({ approver, reason }: Said, what: string) {
  const why = reason === undefined ? '' : ` Reason: ${reason}`;
  return `The call was interrupted. ${approver} found that it ${what}.${why}`;
}

/** Why a call cannot run. */
export function whyInvalid(prepared: Exclude<PreparedCall, ValidCall>): string {
  return prepared.kind === 'remote' ? 'its tool moved to another queue' : prepared.result.content;
}

/** The result of a call that no worker could start in time, because no worker had what the call needs. */
export function nobodyHad({ notHere }: NotHere): ToolFailure {
  return { code: 'expired', message: `This call could not start in time: ${notHere}. Nothing ran.` };
}

/** The result of a call in doubt whose cancelled turn a person ended. */
export function unresolved({ approver = SOMEBODY, reason }: Abandonment): ToolFailure {
  const why = reason === undefined ? '' : ` ${reason}`;
  return {
    code: 'in_doubt',
    message: `Unresolved: ${approver} ended the turn with this call in doubt.${why}`,
  };
}

/** Why the outcome of a call is unknown: its activity returned a value that our code did not write. */
export const UNREADABLE = 'what its activity returned cannot be read; an operator may have completed it';

/** The result of a call that may run again, if the result of its activity cannot be read. */
export function unreadable(): ToolFailure {
  return { code: 'unknown', message: `Its outcome is unknown: ${UNREADABLE}.` };
}

/** The result of a call that its own worker could not prepare. */
export function unprepared(tool: string, why: string): ToolFailure {
  const message = `The worker that has ${tool} could not prepare this call: ${why}. Nothing ran.`;
  return { code: 'transport', message };
}

const VALUE_CHARS = 300;

/** The part of a call that its note describes. */
interface NotedCall extends Pick<CallInput, 'proposed' | 'arguments'> {
  decision?: Pick<SpentDecision, 'approver' | 'reason' | 'edit'>;
}

/**
 * The note that the model reads before the result of a call that a person changed or remarked on. It says what was
 * changed, by whom and why, so that the model does not repeat the original call. Undefined if nothing was changed or
 * remarked.
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

function because(reason: string | undefined) {
  return reason === undefined || reason === '' ? '' : ` Reason: ${reason}`;
}

function changedArguments(proposed: JsonObject, effective: JsonObject) {
  const names = [...new Set([...Object.keys(proposed), ...Object.keys(effective)])];
  return names
    .map((name) => ({ name, before: show(proposed[name]), after: show(effective[name]) }))
    .filter(({ before, after }, index) => before !== after || !same(proposed, effective, names[index]));
}

function same(proposed: JsonObject, effective: JsonObject, name: string | undefined) {
  if (name === undefined) return true;
  return JSON.stringify(proposed[name]) === JSON.stringify(effective[name]);
}

function show(value: unknown) {
  if (value === undefined) return '(absent)';
  const text = JSON.stringify(value);
  return text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS)}… (${text.length} characters)`;
}

/** The content of a result as the model reads it: the note first, unless the content has it already. */
export function withDecisionNote(call: NotedCall, content: string): string {
  return withNoteFirst(decisionNote(call), content);
}

/** A content after its note, unless the content has the note already. */
export function withNoteFirst(note: string | undefined, content: string): string {
  return note === undefined || content.startsWith(note) ? content : `${note}\n\n${content}`;
}
