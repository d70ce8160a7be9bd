import { LIMITS } from '../../contract/limits';
import { type FailureText, settleOwn } from '../../lifecycle/own-activity';
import { cutContent } from '../../contract/transcript';
import { factsOf, failureOf, noted as withNote, successOf } from '../../lifecycle/results';
import type { CallState } from '../../lifecycle/state';
import type { LostActivity } from '../../contract/lost-activity';
import { contentOfReturn } from '../../contract/gate';
import { makeSuccess, resultHead, type ToolResult } from '../../contract/result';
import { rootOf } from '../decode/failure';
import type { DecodedFailure } from '../decode/events';
import { type CallStart, is } from './guards';
import type { ResultRef } from '../../contract/think';
import type { CallEnded, CallLost, EventHeader, TurnEvent } from '../events';
import { callHeader, endCall, happen, lifeOf, timeOf } from './lives';
import type { CallFold, FoldState } from './state';
import type { InDoubt } from '../../contract/call';
import { type Roster, ROSTER } from '../../contract/roster';
import { type GrantMark, GRANT_MARK } from '../../contract/policy-rule';
import { guard } from '../../contract/schema/message';

/** The same result, with the words that the model finally read. */
function withText(result: ToolResult, text: string | undefined) {
  return text === undefined ? result : { ...result, content: text };
}

/** The facts that a failure shows about its activity. */
export function lostInHistory(failure: DecodedFailure): LostActivity {
  return lostBy(rootOf(failure));
}

function lostBy(failure: DecodedFailure): LostActivity {
  const { beaten = false, untaken = false, ...rest } = failure;
  return { ...rest, beaten, untaken, cancelled: rest.kind === 'canceled' };
}

/** Settles a failed activity of the user, as a gate does. The code is not ours, so its errors are taken as they are. */
export function settleOwnFailure(
  life: CallState,
  failure: DecodedFailure,
  { openMs, now }: { openMs: number; now: number },
): { inDoubt: InDoubt } | { result: ToolResult } {
  const activity = lostBy(failure);
  const settled = settleOwn(life.call.settings, { activity, causes: causesOf(failure), openMs });
  return 'doubt' in settled
    ? { inDoubt: { message: settled.doubt } }
    : { result: failureOf(life, settled.failure, now) };
}

function causesOf({ type, message, cause }: DecodedFailure): FailureText[] {
  return [{ type, message }, ...(cause === undefined ? [] : causesOf(cause))];
}

/** The success of a call whose activity is the user's. Its content is the return value as text. */
export function returnedResult(life: CallState, value: unknown, at: number): ToolResult {
  const { content, contentType } = contentOfReturn(value);
  const output = { content: cutContent(content, LIMITS.outputBytes), contentType };
  return makeSuccess(resultHead(life), output, factsOf(life, at));
}

/** The activity of the user by which a gate runs a call. Undefined if no gate runs it. */
export function gateActivity({ call }: CallState): string | undefined {
  return call.settings.gate?.activity;
}

/**
 * Ends a call that was settled where no `think` follows that would end it: a call that a gate runs, or a question of a
 * running call, to which its answer goes.
 */
export function endSettled(state: FoldState, head: EventHeader, callId: string): CallEnded[] {
  const life = state.approvals.calls.get(callId);
  const held = state.calls.get(callId);
  if (life?.phase !== 'done' || held === undefined) return [];
  const isAlone = gateActivity(life) !== undefined || life.call.askedBy !== undefined;
  return isAlone ? endClosed(state, head, held, life.result) : [];
}

/** The output and the progress in the last heartbeat of a call. */
export function heardIn(beat: unknown): Pick<InDoubt, 'partial' | 'progress'> {
  return is.beat(beat) ? { partial: beat.partial, progress: beat.progress } : {};
}

/** Ends a call that the turn itself closed, with the text for the model if history has it. */
export function closeWithText(state: FoldState, head: EventHeader, ref: ResultRef): CallEnded[] {
  const held = state.calls.get(ref.callId);
  if (held === undefined || held.hasEnded) return [];
  const { call } = held;
  const result = call.kind === 'recorded' ? call.result : resultIn(lifeOf(state, held), ref, timeOf(head));
  return endClosed(state, head, held, withText(result, ref.text));
}

function resultIn(life: CallState, { success, text = '' }: ResultRef, now: number): ToolResult {
  if (life.phase === 'done') return life.result;
  const unknown = { code: 'unknown' as const, message: 'the record does not say why' };
  return success ? successOf(life, text, now) : failureOf(life, unknown, now);
}

/** Ends the calls that the turn closed when it ended. No `think` follows that would bring their texts. */
export function closeRest(state: FoldState, head: EventHeader): CallEnded[] {
  return [...state.calls.values()].flatMap((held) => {
    const life = state.approvals.calls.get(held.call.callId);
    return life?.phase === 'done' ? endClosed(state, head, held, life.result) : [];
  });
}

/** Ends a call in doubt by the proof of its outcome. */
export function closeByProof(state: FoldState, head: EventHeader, held: CallFold): CallEnded[] {
  if (held.proof === undefined) return [];
  const { result, origin } = held.proof;
  const noted = withNote(lifeOf(state, held), result);
  return endCall(state, head, held, { result: noted, durationMs: null, attempts: 1, origin });
}

function endClosed(state: FoldState, head: EventHeader, held: CallFold, result: ToolResult): CallEnded[] {
  const attempts = held.wasLost === true ? 1 : 0;
  return endCall(state, head, held, { result, durationMs: null, attempts, origin: 'turn' });
}

/** The grant by which a call starts. Undefined if a decision allows the call, or if the call needs no grant. */
export function grantIn(input: CallStart | undefined): GrantMark | undefined {
  const grant = input?.decision === undefined ? input?.grant : undefined;
  return isGrant(grant) ? grant : undefined;
}

/** A call was started, and nobody knows its outcome. */
export function lose(
  state: FoldState,
  head: EventHeader,
  held: CallFold,
  { doubt, ...by }: { doubt: InDoubt } & Pick<CallLost, 'grant' | 'roster'>,
): TurnEvent[] {
  const { callId, tool } = held.call;
  happen(state, { type: 'lost', callId, doubt, at: timeOf(head) });
  held.wasLost = true;
  held.shown = undefined;
  const { message, partial, progress } = doubt;
  return [{ type: 'call_lost', ...callHeader(state, head, callId), tool, message, partial, progress, ...by }];
}

const isRoster = guard(ROSTER);
const isGrant = guard(GRANT_MARK);

/**
 * The roster by which a worker says that it accepted signatures. Undefined if there is none, or if it cannot be
 * read.
 */
export function rosterIn(said: unknown): Roster | undefined {
  return isRoster(said) ? said : undefined;
}
