import type { CallInput, ValidCall } from '../../src/contract/call';
import { digestJson, previewDigests } from '../../src/contract/digest';
import type { JsonObject } from '../../src/contract/json';
import type { FilePlan, Preview } from '../../src/contract/plan';
import type { Question } from '../../src/contract/question';
import type { Effect } from '../../src/contract/tool';
import type { ToolResult } from '../../src/contract/result';
import { makeApprovals, type Approvals, type CallState, resultOf } from '../../src/lifecycle/state';
import { decideAnswer } from '../../src/lifecycle/answers';
import { type LifeCommand, decide } from '../../src/lifecycle/decide';
import { apply, type LifeEvent } from '../../src/lifecycle/events';
import type { Decided, ReceivedMessage } from '../../src/lifecycle/messages';

/** Schema of the tool that made-up calls use. */
export const PAY_SCHEMA: JsonObject = {
  type: 'object',
  properties: { amount: { type: 'number', maximum: 1000 }, to: { type: 'string' } },
  required: ['amount'],
  additionalProperties: false,
};

export interface CallShape {
  callId?: string;
  kind?: 'run' | 'ask';
  effect?: Effect;
  args?: JsonObject;
  plan?: FilePlan;
  /** Text of a preview without a plan. */
  preview?: string;
  expiresMs?: number | null;
  local?: boolean;
  /** It asks for a person's age. */
  question?: boolean;
}

/** A prepared call, as `think` would have made it. */
export function validCall(shape: CallShape = {}): ValidCall {
  const args = shape.args ?? { amount: 10 };
  const preview = previewOf(shape);
  return {
    kind: shape.kind ?? 'ask',
    callId: shape.callId ?? '1.1',
    id: `model-${shape.callId ?? '1.1'}`,
    tool: 'pay',
    arguments: args,
    argsDigest: digestJson(args),
    toolDigest: 'pay-1',
    settings: {
      safety: shape.kind === 'run' ? 'safe' : 'dangerous',
      effect: shape.effect ?? 'unsafe',
      timeoutMs: 30_000,
      heartbeatMs: 10_000,
      retry: { maximumAttempts: 5, initialIntervalMs: 1000, backoffCoefficient: 2 },
      requestExpiresMs: shape.expiresMs === undefined ? 60_000 : shape.expiresMs,
      startWithinMs: 3_600_000,
      ...(shape.local === undefined ? {} : { local: shape.local }),
    },
    ...(preview === undefined ? {} : { preview, ...previewDigests(preview) }),
    ...(shape.question === true ? { kind: 'ask', question: AGE } : {}),
  };
}

/** A question with one field that has a default, and one that has not. */
export const AGE: Question = {
  text: 'How old are you?',
  form: {
    type: 'object',
    properties: { age: { type: 'integer', minimum: 0 }, unit: { type: 'string', default: 'years' } },
    required: ['age', 'unit'],
    additionalProperties: false,
  },
};

function previewOf({ plan, preview }: CallShape): Preview | undefined {
  if (plan !== undefined) return { text: 'diff', plan };
  return preview === undefined ? undefined : { text: preview };
}

export const PLAN: FilePlan = {
  path: 'a.txt',
  baseHash: 'b',
  targetHash: 't',
  encoding: 'utf8',
  hunks: ['1', '2'].map((id) => ({
    id,
    oldStart: 1,
    oldLines: 1,
    newStart: 1,
    newLines: 1,
    lines: ['-a', '+b'],
  })),
};

/** What a turn decides: the commands of calls, and answers to questions. */
export type TurnCommand = LifeCommand | ({ type: 'answer' } & ReceivedMessage);

export function decideTurn(calls: Approvals, command: TurnCommand, now: number): Decided {
  return command.type === 'answer' ? decideAnswer(calls, command, now) : decide(calls, command, now);
}

/** The calls of a step, as commands change them. */
export class Calls {
  /** Everything that has happened. */
  readonly events: LifeEvent[] = [];
  private drawn = 0;

  constructor(public state: Approvals = makeApprovals()) {}

  /** Carries out a command. */
  do(command: TurnCommand, now = 1): Decided {
    const decided = decideTurn(this.state, command, now);
    if (decided.refused === undefined) this.take(...decided.events);
    return decided;
  }

  take(...events: readonly LifeEvent[]): void {
    this.events.push(...events);
    this.state = events.reduce(apply, this.state);
  }

  /** The verdict on a message. */
  say(type: 'decision' | 'resolution' | 'answer', message: unknown, now = 1, isAgain = false) {
    const newId = (): string => `drawn-${(this.drawn += 1)}`;
    const { refused, ...decided } = this.do({ type, message, newId, runId: 'run', isAgain }, now);
    const verdict = refused ?? ('verdict' in decided ? decided.verdict : undefined);
    if (verdict === undefined) throw new Error('no verdict');
    return verdict;
  }

  start(callId = '1.1', secret?: string) {
    const { refused } = this.do({ type: 'start', callId, ...(secret === undefined ? {} : { secret }) });
    if (refused !== undefined) throw new Error(refused.message);
    const state = this.call(callId);
    return 'leave' in state && state.leave?.by === 'decision' ? state.leave.decision : undefined;
  }

  call(callId = '1.1'): CallState {
    const state = this.state.calls.get(callId);
    if (state === undefined) throw new Error(`no call ${callId}`);
    return state;
  }

  /** The result of a call. Undefined: it has none yet. */
  result(callId = '1.1'): ToolResult | undefined {
    return resultOf(this.call(callId));
  }

  /** The outcome of the call is unknown. */
  lose(callId = '1.1', now = 9): void {
    this.do({ type: 'settle', callId, settlement: { inDoubt: { message: 'lost' } } }, now);
  }
}

/** Calls that are registered at time 0, under the key `k:<callId>`. */
export function callsWith(...calls: readonly ValidCall[]): Calls {
  const made = new Calls();
  made.do({ type: 'knew', schemas: { 'pay-1': PAY_SCHEMA } });
  for (const call of calls) made.do({ type: 'registered', call, callKey: `k:${call.callId}`, at: 0 });
  return made;
}

/** The same, by their shapes. */
export function approvalsWith(...shapes: CallShape[]): Calls {
  return callsWith(...shapes.map(validCall));
}

/** What the activity of an unsafe call gets that was made in the run `run-1`. */
export const PAY_INPUT: CallInput = {
  callId: '1.1',
  id: 'm1',
  tool: 'pay',
  agent: 'a',
  callKey: 'key:1.1',
  generation: 0,
  arguments: {},
  argsDigest: '',
  toolDigest: '',
  effect: 'unsafe',
  timeoutMs: 1000,
  originalRunId: 'run-1',
};
