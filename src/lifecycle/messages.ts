import {
  type Abandonment,
  ABANDONMENT,
  type Accepted,
  type Decision,
  DECISION,
  MESSAGE_FIELDS,
  QUESTION_ANSWER,
  type QuestionAnswer,
  type RefusalCode,
  type Refused,
  RESOLUTION,
  type Resolution,
} from '../contract/decision';
import { isObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { describeIssues } from '../contract/read-json';
import { soundCheck } from '../contract/schema/message';
import { exact, integer, object, type Shape, text } from '../contract/schema/shape';
import { readResult } from '../contract/call-payloads';
import type { OutcomeReport } from '../contract/call';
import type { LifeEvent } from './events';
import type { Approvals, CallBasics } from './state';
import { digestJson } from '../contract/digest';
import { utf8Bytes } from '../contract/text/bytes';

const { id } = MESSAGE_FIELDS;

export const OUTCOME = exact({
  callKey: id,
  generation: integer(),
  secret: id,
  result: object({ callId: text() }),
});

/** A message that was read, or the reason why it cannot be read. */
type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

/** Reads messages of one shape. */
function reader<T>(what: string, shape: Shape<T>): (value: unknown) => Parsed<T> {
  const issuesOf = soundCheck(shape);
  const isRead = (value: unknown): value is T => issuesOf(value).length === 0;
  return (value) => {
    if (isRead(value)) return { ok: true, value };
    const message = isObject(value)
      ? `not a ${what}: ${describeIssues(issuesOf(value))}`
      : `a ${what} is a JSON object, this is ${nameOf(value)}`;
    return { ok: false, message };
  };
}

const readDecision = reader('decision', DECISION);
const readResolution = reader('resolution', RESOLUTION);
const readAnswer = reader('answer', QUESTION_ANSWER);
const readOutcome = reader('outcome', OUTCOME);
const readAbandonment = reader('abandonment', ABANDONMENT);

/** Reads a decision from any sender. Never throws. */
export function parseDecision(message: unknown): Parsed<Decision> {
  const read = readDecision(message);
  if (!read.ok) return read;
  const { value } = read;
  if (value.decision === 'modified' && value.arguments === undefined) {
    return { ok: false, message: '"modified" needs the whole new arguments in "arguments"' };
  }
  if (value.decision !== 'modified' && value.arguments !== undefined) {
    return { ok: false, message: '"arguments" only goes with "modified"' };
  }
  if (value.decision !== 'approved' && value.hunks !== undefined) {
    return { ok: false, message: '"hunks" only goes with "approved"' };
  }
  if (value.decision !== 'denied' && value.suggestion !== undefined) {
    return { ok: false, message: '"suggestion" only goes with "denied"' };
  }
  if (value.decision === 'ask-again' && (value.reason ?? '').trim() === '') {
    return { ok: false, message: '"ask-again" needs a "reason"' };
  }
  if (value.hunks !== undefined && value.seenDigest === undefined) {
    return { ok: false, message: '"hunks" needs "seenDigest": they are parts of what was seen' };
  }
  return read;
}

/** Reads a resolution from any sender. Never throws. */
export function parseResolution(message: unknown): Parsed<Resolution> {
  const read = readResolution(message);
  return read.ok && read.value.resolution !== 'happened' && read.value.content !== undefined
    ? { ok: false, message: '"content" only goes with "happened"' }
    : read;
}

/** Reads an answer from any sender. Never throws. */
export function parseAnswer(message: unknown): Parsed<QuestionAnswer> {
  const read = readAnswer(message);
  return read.ok && read.value.answer !== 'answered' && read.value.content !== undefined
    ? { ok: false, message: '"content" only goes with "answered"' }
    : read;
}

/** Reads the outcome that a call reports after it had been given up. Never throws. */
export function parseOutcome(message: unknown): Parsed<OutcomeReport> {
  const read = readOutcome(message);
  if (!read.ok) return read;
  const result = readResult(read.value.result, read.value.result.callId);
  if (result === undefined) return { ok: false, message: 'not an outcome: its result cannot be read' };
  return { ok: true, value: { ...read.value, result } };
}

/** Reads an abandonment. An abandonment that cannot be read still abandons the turn, without a reason. */
export function parseAbandonment(message: unknown): Abandonment {
  const read = readAbandonment(message);
  return read.ok ? read.value : {};
}

function nameOf(value: unknown) {
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

/** A refusal. `message` may be anything that a sender sent. */
export function refuse(code: RefusalCode, why: string, message: unknown): Refused {
  const callId = textOf(message, 'callId') ?? '';
  const decisionId = textOf(message, 'decisionId');
  return { accepted: false, code, message: why, callId, decisionId };
}

/** The refusal of a message because a decision or an answer stands. */
export function alreadyDecided(standing: NonNullable<Refused['standing']>, message: unknown): Refused {
  const why = `already ${standing.decision} by ${standing.approver} at ${standing.at}`;
  return { ...refuse('already_decided', why, message), standing };
}

function textOf(message: unknown, key: string) {
  const value = isObject(message) ? message[key] : undefined;
  return typeof value === 'string' ? value.slice(0, 200) : undefined;
}

/**
 * What a command leads to: events, or a refusal. `verdict`: what the sender of a message reads. A repeated message has
 * the first verdict and no event. `isChecked`: new arguments or an answer were checked against a schema.
 */
export type Decided =
  | { events: readonly LifeEvent[]; verdict?: Accepted; isChecked?: true; refused?: undefined }
  | { refused: Refused; isChecked?: true };

/** A message from any sender. */
export interface ReceivedMessage {
  message: unknown;
  /** Draws the id of a message that has none. Called once the message is accepted. */
  newId(): string;
  /** The run that takes the message. */
  runId: string;
  /** A reset may have applied the message again. */
  isAgain: boolean;
}

/** What is known of a message that is not a repetition, beside its content. */
export interface Fresh {
  digest: string;
  id(): string;
  /** It may come from before a reset, or names another run. */
  isOld: boolean;
  /** When it is taken, as workflow time in ms. */
  now: number;
}

/** A message with a new id. Otherwise what it leads to: nothing new, or a refusal. */
export function readNew<M extends { decisionId?: string; runId?: string }>(
  { verdicts }: Approvals,
  parsed: Parsed<M>,
  { message, newId, runId, isAgain, now }: ReceivedMessage & { now: number },
): { message: M; fresh: Fresh } | { decided: Decided } {
  if (!parsed.ok) return { decided: { refused: refuse('malformed', parsed.message, message) } };
  const { decisionId, ...content } = parsed.value;
  const digest = digestJson(content);
  const spent = decisionId === undefined ? undefined : verdicts.get(decisionId);
  if (spent === undefined) {
    const isOld = isAgain || (parsed.value.runId ?? runId) !== runId;
    return { message: parsed.value, fresh: { digest, id: () => decisionId ?? newId(), isOld, now } };
  }
  if (spent.digest === digest) {
    const { verdict } = spent;
    return { decided: verdict.accepted ? { events: [], verdict } : { refused: verdict } };
  }
  const why = `decision id ${decisionId} was used before with other content`;
  return { decided: { refused: refuse('malformed', why, parsed.value) } };
}

/**
 * Accepts a message and marks its id as used: the same id with the same content gets the same verdict again. `words`:
 * what the model reads of the message, if it is anything.
 */
export function accepted(
  events: readonly LifeEvent[],
  said: Omit<Accepted, 'accepted'>,
  { digest, words }: { digest: string; words: unknown },
): { events: LifeEvent[]; verdict: Accepted } {
  const verdict: Accepted = { accepted: true, ...said };
  const isHeard = words !== undefined;
  return { events: [...events, { type: 'accepted', verdict, digest, isHeard }], verdict };
}

/** Whether a request is over at `now` (ms), even if its timer has not fired yet: at its deadline it is. */
export function isTooLate({ deadline }: { deadline: number | null }, now: number): boolean {
  return deadline !== null && now >= deadline;
}

/** Why a message does not fit its call. Checks only the call key and the length of the words. */
export function checkMessage(
  message: Pick<Decision, 'callKey' | 'reason' | 'suggestion'>,
  { callKey }: CallBasics,
): Refused | undefined {
  if (message.callKey !== undefined && message.callKey !== callKey)
    return refuse('stale_args', 'this call was asked anew since you looked; look again', message);
  const { reason = '', suggestion = '' } = message;
  if (utf8Bytes(reason) + utf8Bytes(suggestion) <= LIMITS.reasonBytes) return undefined;
  const what = suggestion === '' ? 'the reason is' : 'the reason and the suggestion are';
  return refuse('malformed', `${what} over ${LIMITS.reasonBytes} bytes`, message);
}
