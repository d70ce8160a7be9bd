import { defined } from '../../contract/defined';
import { LIMITS } from '../../contract/limits';
import { contentOfReturn, type FailureText, settleOwn } from '../../contract/lost-activity';
import type { Effect } from '../../contract/tool';
import { cutContent } from '../../contract/transcript';
import { afterDoubt, withNoteFirst } from '../../contract/call-texts';
import { type LostActivity, type OpenTimes, settleLost } from '../../contract/lost-activity';
import {
  makeFailure,
  makeSuccess,
  resultHead,
  type ToolFailure,
  type ToolResult,
} from '../../contract/result';
import { FAILURES } from '../../contract/names';
import { rootOf } from '../decode/failure';
import type { DecodedFailure } from '../decode/events';
import { isResult } from '../../contract/payloads';
import { type CallStart, is } from './guards';
import type { ResultRef } from '../../contract/think';
import type { CallEnded, CallLost, EventHeader, TurnEvent } from '../events';
import { type CallFold, endCall, eventHeader, type FoldState } from './state';
import { isValidCall, type InDoubt } from '../../contract/call';
import type { Roster } from '../../contract/roster';
import { type GrantMark, GRANT_MARK } from '../../contract/policy-rule';
import { list, object, type Shape, text } from '../../contract/schema/shape';
import { guard } from '../../contract/schema/message';

/** A result that no handler made. The turn made it, or it follows from how the activity failed. */
export function unhandledResult(held: CallFold, failure: ToolFailure, at: string): ToolResult {
  const said = held.runsAgain === true ? afterDoubt(failure) : failure;
  return withRemark(held, makeFailure(resultHead(held), said, factsOf(held, at)));
}

/** A result with the note that the model reads before it. Results of our activities have their note already. */
export function withRemark({ remark }: CallFold, result: ToolResult): ToolResult {
  return { ...result, content: withNoteFirst(remark, result.content) };
}

/** A success that a person reported, with the words that the model reads. */
function successResult(held: CallFold, content: string, at: string): ToolResult {
  return withRemark(held, makeSuccess(resultHead(held), { content, contentType: 'text' }, factsOf(held, at)));
}

/** The same result, with the words that the model finally read. */
function withText(result: ToolResult, text: string | undefined): ToolResult {
  return text === undefined ? result : { ...result, content: text };
}

function factsOf({ call, approved }: CallFold, at: string) {
  const safety = isValidCall(call) ? call.settings.safety : null;
  return { timestamp: at, safety, approved };
}

/** What a failed activity means for its call, by the same rules as in the workflow. */
type Settled = { result: ToolResult; roster?: Roster } | { failure: ToolFailure } | { doubt: InDoubt };

/** The facts that a failure shows about its activity. */
export function lostInHistory(failure: DecodedFailure): LostActivity {
  return lostBy(rootOf(failure));
}

function lostBy(failure: DecodedFailure): LostActivity {
  const { beaten = false, untaken = false, ...rest } = failure;
  return { ...rest, beaten, untaken, cancelled: rest.kind === 'canceled' };
}

/** Settles a failed activity of the user, as a gate does. The code is not ours, so its errors are taken as they are. */
export function settleOwnFailure(failure: DecodedFailure, of: { effect: Effect; times: OpenTimes }): Settled {
  const settled = settleOwn({ ...of, activity: lostBy(failure), causes: causesOf(failure) });
  return 'doubt' in settled ? { doubt: { message: settled.doubt } } : { failure: settled.failure };
}

function causesOf({ type, message, cause }: DecodedFailure): FailureText[] {
  return [{ type, message }, ...(cause === undefined ? [] : causesOf(cause))];
}

/** The success of a call whose activity is the user's. Its content is the return value as text. */
export function returnedResult(held: CallFold, value: unknown, at: string): ToolResult {
  const { content, contentType } = contentOfReturn(value);
  const output = { content: cutContent(content, LIMITS.outputBytes), contentType };
  return makeSuccess(resultHead(held), output, factsOf(held, at));
}

/** The activity of the user by which a gate runs a call. Undefined if no gate runs it. */
export function gateActivity({ call }: CallFold): string | undefined {
  return isValidCall(call) ? call.settings.gate?.activity : undefined;
}

/**
 * Ends a call that a person has resolved, in a workflow that runs it by a gate. No `think` follows there that would end
 * it.
 */
export function endResolved(head: EventHeader, held: CallFold | undefined): CallEnded[] {
  if (held?.closing === undefined || gateActivity(held) === undefined) return [];
  return end(head, held, resultOfClosing(held, held.closing, head.at));
}

/**
 * Ends a question of a running call. The answer goes to that call, and no `think` follows that would end the question.
 */
export function endAsked(head: EventHeader, held: CallFold | undefined): CallEnded[] {
  if (held?.closing === undefined || held.phase === 'ended') return [];
  if (!isValidCall(held.call) || held.call.askedBy === undefined) return [];
  return end(head, held, resultOfClosing(held, held.closing, head.at));
}

/** Settles a failure, as the workflow does. */
export function settleFailure(failure: DecodedFailure, of: { effect: Effect; times: OpenTimes }): Settled {
  const settled = settleLost(lostInHistory(failure), of);
  const root = rootOf(failure);
  if ('doubt' in settled) return { doubt: { message: settled.doubt, ...heardIn(root.beat) } };
  const [last, roster] = !settled.known && root.type === FAILURES.retry ? root.details : [];
  return isResult(last) ? { result: last, roster: rosterIn(roster) } : { failure: settled.failure };
}

/** The output and the progress in the last heartbeat of a call. */
export function heardIn(beat: unknown): Pick<InDoubt, 'partial' | 'progress'> {
  return is.beat(beat) ? { partial: beat.partial, progress: beat.progress } : {};
}

/** Ends a call that the turn itself closed, with the text for the model if history has it. */
export function closeWithText(state: FoldState, head: EventHeader, ref: ResultRef): CallEnded[] {
  const held = state.calls.get(ref.callId);
  if (held === undefined || held.phase === 'ended') return [];
  const made = resultOfClosing(held, held.closing ?? unknownClosing(ref), head.at);
  return end(head, held, withText(made, ref.text));
}

/** Ends the calls that the turn closed when it ended. No `think` follows that would bring their texts. */
export function closeRest(state: FoldState, head: EventHeader): CallEnded[] {
  return [...state.calls.values()].flatMap((held) =>
    held.closing === undefined ? [] : end(head, held, resultOfClosing(held, held.closing, head.at)),
  );
}

/** Ends a call in doubt by the proof of its outcome. */
export function closeByProof(
  head: EventHeader,
  held: CallFold,
  proof: ToolResult | ToolFailure,
): CallEnded[] {
  if ('success' in proof) {
    const result = withRemark(held, proof);
    return endCall(head, held, { result, durationMs: null, attempts: 1, origin: 'handler' });
  }
  return end(head, held, unhandledResult(held, proof, head.at));
}

function end(head: EventHeader, held: CallFold, result: ToolResult): CallEnded[] {
  const attempts = held.doubt === undefined ? 0 : 1;
  return endCall(head, held, { result, durationMs: null, attempts, origin: 'turn' });
}

function resultOfClosing(held: CallFold, closing: NonNullable<CallFold['closing']>, at: string): ToolResult {
  if (!('content' in closing)) return unhandledResult(held, closing, at);
  return successResult(held, closing.content, at);
}

function unknownClosing(ref: ResultRef): NonNullable<CallFold['closing']> {
  return ref.success
    ? { content: ref.text ?? '' }
    : { code: 'unknown', message: 'the record does not say why' };
}

/** The grant by which a call starts. Undefined if a decision allows the call, or if the call needs no grant. */
export function grantIn(input: CallStart | undefined): GrantMark | undefined {
  const grant = input?.decision === undefined ? input?.grant : undefined;
  return isGrant(grant) ? grant : undefined;
}

/** A call was started, and nobody knows its outcome. */
export function lose(
  head: EventHeader,
  held: CallFold,
  doubt: NonNullable<CallFold['doubt']>,
  by: Pick<CallLost, 'grant' | 'roster'> = {},
): TurnEvent[] {
  held.phase = 'lost';
  held.doubt = doubt;
  held.asked = false;
  delete held.proof;
  if (held.reported !== undefined) held.proof = held.reported;
  const { callId, tool } = held.call;
  const { message, partial, progress } = doubt;
  const known = defined({ message, partial, progress, ...by });
  return [{ type: 'call_lost', ...eventHeader(head), callId, tool, ...known }];
}

const ROSTER: Shape<Roster> = object({
  installation: text(),
  fileDigest: text(),
  lines: list(
    object(
      { decisionId: text(), person: text(), groups: list(text()), line: text() },
      { mail: text(), site: object({ rpId: text(), origins: list(text()) }) },
    ),
  ),
});

const isRoster = guard(ROSTER);
const isGrant = guard(GRANT_MARK);

/**
 * The roster by which a worker says that it accepted signatures. Undefined if there is none, or if it cannot be
 * read.
 */
export function rosterIn(said: unknown): Roster | undefined {
  return isRoster(said) ? said : undefined;
}
