import type { CallInput, ValidCall } from '../../src/contract/call';
import { digestJson, previewDigests } from '../../src/contract/digest';
import type { JsonObject } from '../../src/contract/json';
import type { FilePlan, Preview } from '../../src/contract/plan';
import type { Question } from '../../src/contract/question';
import type { Effect } from '../../src/contract/tool';
import { makeApprovals, type Approvals } from '../../src/workflows/approvals/state';
import { register } from '../../src/workflows/approvals/transitions';

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

/** Approvals with these calls registered at time 0, under the key `k:<callId>`. */
export function approvalsWith(...shapes: CallShape[]): Approvals {
  const approvals = makeApprovals();
  approvals.schemas.set('pay-1', PAY_SCHEMA);
  for (const shape of shapes) {
    const call = validCall(shape);
    register(approvals, call, { callKey: `k:${call.callId}`, now: 0 });
  }
  return approvals;
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
