import type { PreparedCall } from '../../contract/call';
import { dryKindOf, dryResult } from '../../contract/dry';
import type { ToolResult } from '../../contract/result';
import type { ThinkOutput } from '../../contract/think';
import type { JsonSchema } from '../../contract/tool';
import { rootOf } from '../decode/failure';
import type { EventOf } from '../decode/events';
import { defined } from '../defined';
import type { CallEnded, EventHead, ProposedCall, TurnEvent } from '../events';
import { is } from './guards';
import { closeWithText } from './closing';
import { endCall, headOf, type CallFold, type FoldState } from './state';

/** The model is asked: every call of the step before has its result by now, and its words are here. */
export function thinkScheduled(
  state: FoldState,
  event: EventOf<'activity_scheduled'>,
  step: number,
): TurnEvent[] {
  const refs = is.thinkInput(event.input) ? event.input.results : [];
  const ended = refs.flatMap((ref) => closeWithText(state, event, ref));
  state.step = step;
  return [...ended, { type: 'thinking', ...headOf(event), step, ...droppedIn(event.input) }];
}

function droppedIn(input: unknown): { droppedBefore?: number } {
  const dropped = is.thinkInput(input) ? input.droppedBefore : 0;
  return dropped > 0 ? { droppedBefore: dropped } : {};
}

/** The started event is written when the activity closes, so this tells of retries after the fact. */
export function thinkStarted(event: EventOf<'activity_started'>, step: number): TurnEvent[] {
  if (event.attempt <= 1) return [];
  const lastFailure = event.lastFailure === undefined ? undefined : rootOf(event.lastFailure).message;
  return [
    { type: 'think_retried', ...headOf(event), step, ...defined({ attempt: event.attempt, lastFailure }) },
  ];
}

export function thinkCompleted(
  state: FoldState,
  event: EventOf<'activity_completed'>,
  step: number,
): TurnEvent[] {
  return stepTaken(state, event, { step, output: is.thinkOutput(event.result) ? event.result : UNREADABLE });
}

/** What the fold reads of a reply. */
type Reply = Pick<ThinkOutput, 'text' | 'model' | 'finishReason' | 'calls' | 'usage' | 'schemas'> &
  Partial<Pick<ThinkOutput, 'replyId'>>;

/** A step with its calls, by a model or, at the beginning of a fork, given. */
export function stepTaken(
  state: FoldState,
  event: EventHead,
  { step, output, given }: { step: number; output: Reply; given?: true },
): TurnEvent[] {
  state.calls = new Map(
    output.calls.map((call) => [call.callId, newCall(call, schemaOf(call, output.schemas))]),
  );
  const { text, model, finishReason, usage, replyId } = output;
  const calls = output.calls.map(proposedOf);
  const told: TurnEvent = {
    type: 'step',
    ...headOf(event),
    step,
    ...defined({ text, model, finishReason, usage, given, replyId }),
    calls,
  };
  return [told, ...endUnrun(state, event)];
}

export function thinkFailed(event: EventOf<'activity_failed'>, step: number): TurnEvent[] {
  const { message, type } = rootOf(event.failure);
  return [{ type: 'think_failed', ...headOf(event), step, ...defined({ message, failureType: type }) }];
}

/** A reply whose payload nobody here can decode; what follows it is told as far as it can be. */
const UNREADABLE: Reply = {
  text: '[cannot be read without its codec]',
  schemas: {},
  model: '',
  finishReason: '',
  calls: [],
};

/** A call as `think` or `prepare` made it, and the schema of its tool. */
export function newCall(call: PreparedCall, schema?: JsonSchema): CallFold {
  const effective = argumentsOf(call);
  const facts = { generation: 0, deadline: null, approved: false, asked: false };
  return { call, phase: 'proposed', effective, ...facts, ...defined({ schema }) };
}

/** Only calls that wait for a decision have one on record; other releases may record none at all. */
function schemaOf(call: PreparedCall, schemas: ThinkOutput['schemas'] | undefined): JsonSchema | undefined {
  return call.kind === 'ask' ? schemas?.[call.toolDigest] : undefined;
}

/** What the model asked for, as far as it could be parsed. */
export function argumentsOf(call: PreparedCall): CallFold['effective'] {
  if (call.kind === 'remote') return {};
  return call.kind === 'invalid' || call.kind === 'recorded' ? call.proposed : call.arguments;
}

/** A call in short, for events. */
export function proposedOf(call: PreparedCall): ProposedCall {
  const { callId, id, tool, kind } = call;
  const error = call.kind === 'invalid' ? call.result.content : undefined;
  const wrote =
    call.kind === 'remote' || call.kind === 'invalid' ? { raw: call.raw } : { proposed: call.proposed };
  return { callId, id, tool, kind, arguments: argumentsOf(call), ...defined({ error, ...wrote }) };
}

/** Ends the calls that will never run: those that brought a result along, and in a dry world those with an effect. */
export function endUnrun(state: FoldState, event: EventHead): CallEnded[] {
  return [...state.calls.values()].flatMap((held) => {
    const result = unrunResult(state, held, event.at);
    if (result === undefined) return [];
    const origin = held.call.kind === 'recorded' ? 'record' : 'turn';
    return endCall(event, held, { result, durationMs: null, attempts: 0, origin });
  });
}

function unrunResult({ fork }: FoldState, { call }: CallFold, at: string): ToolResult | undefined {
  if (call.kind === 'remote') return undefined;
  if (call.kind === 'invalid' || call.kind === 'recorded') return call.result;
  const dry = fork?.world === 'dry' ? dryKindOf(call) : undefined;
  return dry === undefined ? undefined : dryResult(call, dry, at);
}
