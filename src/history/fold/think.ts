import { argumentsOf, type PreparedCall, isValidCall } from '../../contract/call';
import type { ToolResult } from '../../contract/result';
import type { ThinkOutput } from '../../contract/think';
import { rootOf } from '../decode/failure';
import type { EventOf } from '../decode/events';
import type { CallEnded, EventHeader, ProposedCall, Thinking, TurnEvent } from '../events';
import { readThinkOutput } from '../../contract/payloads';
import { is, type ThinkRead } from './guards';
import { closeWithText } from './results';
import { endCall, happen, openCall, withNow } from './lives';
import { eventHeader, type CallFold, type FoldState } from './state';
import { resultWithoutRun } from '../../contract/dry-run';

/** The model is asked. Calls of the previous step that have no result yet end here, with their texts from the input. */
export function thinkScheduled(
  state: FoldState,
  event: EventOf<'activity_scheduled'>,
  step: number,
): TurnEvent[] {
  const input = is.thinkInput(event.input) ? event.input : undefined;
  const ended = (input?.results ?? []).flatMap((ref) => closeWithText(state, event, ref));
  state.step = step;
  return [...ended, { type: 'thinking', ...eventHeader(event), step, ...droppedIn(input) }];
}

function droppedIn(
  input: ThinkRead | undefined,
): Pick<Thinking, 'droppedBefore' | 'cutTo' | 'words' | 'files'> {
  if (input === undefined) return {};
  const { droppedBefore, cutTo, after, words = [], files } = input;
  const isNew = after !== undefined && words.length > 0;
  return {
    droppedBefore: droppedBefore > 0 ? droppedBefore : undefined,
    cutTo,
    words: isNew ? words : undefined,
    files: isNew ? files : undefined,
  };
}

/**
 * An attempt to ask the model started. History has this event only when the activity closes, so retries are known only
 * afterwards.
 */
export function thinkStarted(
  state: FoldState,
  event: EventOf<'activity_started'>,
  { step, isBurst }: { step: number; isBurst: boolean },
): TurnEvent[] {
  const { failed } = state;
  delete state.failed;
  const attempt = event.attempt + (failed === undefined ? 0 : 1);
  if (attempt <= 1) return [];
  const last = event.lastFailure === undefined ? failed : rootOf(event.lastFailure).message;
  const isLost = isBurst && event.attempt > 1;
  const facts = { lastFailure: last, burst: isLost ? (true as const) : undefined };
  return [{ type: 'think_retried', ...eventHeader(event), step, attempt, ...facts }];
}

export function thinkCompleted(
  state: FoldState,
  event: EventOf<'activity_completed'>,
  step: number,
): TurnEvent[] {
  return stepTaken(state, event, { step, output: readThinkOutput(event.result) ?? UNREADABLE });
}

/** The fields of a reply that the fold reads. */
type Reply = Pick<
  ThinkOutput,
  'text' | 'model' | 'finishReason' | 'notes' | 'calls' | 'usage' | 'context' | 'schemas' | 'budget'
> &
  Partial<Pick<ThinkOutput, 'replyId'>>;

/** Takes a step with its calls. A model wrote it or, at the beginning of a fork, it was given. */
export function stepTaken(
  state: FoldState,
  event: EventHeader,
  { step, output, given }: { step: number; output: Reply; given?: true },
): TurnEvent[] {
  state.calls = new Map();
  happen(state, { type: 'began' }, { type: 'knew', schemas: output.schemas });
  for (const call of output.calls) openCall(state, call);
  const { text, model, finishReason, notes, usage, context, replyId, budget } = output;
  const calls = output.calls.map((call) => withNow(state, proposedOf(call)));
  const made: TurnEvent = {
    type: 'step',
    ...eventHeader(event),
    step,
    text,
    model,
    finishReason,
    notes,
    usage,
    context,
    budget,
    given,
    replyId,
    calls,
  };
  return [made, ...endUnrun(state, event)];
}

export function thinkFailed(event: EventOf<'activity_failed'>, step: number): TurnEvent[] {
  const { message, type } = rootOf(event.failure);
  return [{ type: 'think_failed', ...eventHeader(event), step, message, failureType: type }];
}

/**
 * The reply in place of a reply whose payload cannot be decoded here. Later events are still made if that is
 * possible.
 */
const UNREADABLE: Reply = {
  text: '[cannot be read without its codec]',
  model: '',
  finishReason: '',
  schemas: {},
  calls: [],
};

/** The arguments as the model wrote them, if they cannot be parsed. A call that is taken from a record keeps them, too. */
export function rawOf(call: PreparedCall): string | undefined {
  return 'raw' in call ? call.raw : undefined;
}

/** A call in short, for events. */
export function proposedOf(call: PreparedCall): ProposedCall {
  const { callId, id, tool, kind } = call;
  const error = call.kind === 'invalid' ? call.result.content : undefined;
  const proposed = call.kind === 'remote' || call.kind === 'invalid' ? undefined : call.proposed;
  const effect = isValidCall(call) ? call.settings.effect : undefined;
  const ruling = isValidCall(call) || call.kind === 'invalid' ? call.ruling : undefined;
  const rest = { error, effect, ruling, raw: rawOf(call), proposed };
  return { callId, id, tool, kind, arguments: argumentsOf(call), ...rest };
}

/** Ends the calls that never run: calls that already have a result, and calls with an effect in a dry world. */
export function endUnrun(state: FoldState, event: EventHeader): CallEnded[] {
  return [...state.calls.values()].flatMap((held) => {
    const result = unrunResult(state, held, event.at);
    if (result === undefined) return [];
    const origin = held.call.kind === 'recorded' ? 'record' : 'turn';
    return endCall(state, event, held, { result, durationMs: null, attempts: 0, origin });
  });
}

function unrunResult({ fork }: FoldState, { call }: CallFold, at: string): ToolResult | undefined {
  if (call.kind === 'remote') return undefined;
  if (call.kind === 'invalid' || call.kind === 'recorded') return call.result;
  return resultWithoutRun(fork, call, at);
}
