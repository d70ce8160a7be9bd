import fc from 'fast-check';
import { digestJson } from '../../../src/contract/digest';
import { judgeDecision } from '../../../src/workflows/approvals/judge-decision';
import { reopen } from '../../../src/workflows/approvals/replan';
import { judgeResolution, takeResolution } from '../../../src/workflows/approvals/resolve';
import type { Approvals, CallState } from '../../../src/workflows/approvals/state';
import { takeDecision } from '../../../src/workflows/approvals/take-decision';
import {
  cancelAll,
  expire,
  report,
  settle,
  settleDoubt,
  start,
  sweepAbandoned,
} from '../../../src/workflows/approvals/transitions';
import { nextToStart } from '../../../src/workflows/order';
import { failureOf } from '../../../src/workflows/approvals/close';
import { approvalsWith, PLAN, validCall, type CallShape } from '../../support/calls';

/** What an outside observer keeps: nothing of the state machine's own bookkeeping is trusted. */
interface Witness {
  now: number;
  /** Accepted verdicts that allow a start, by decision id: which call, which arguments. */
  allowed: Map<string, { callId: string; argsDigest: string | undefined }>;
  starts: { callId: string; generation: number; decisionId: string | undefined; argsDigest: string }[];
  refusedFor: Set<string>;
  cancelled: boolean;
}

const callId = fc.constantFrom('1.1', '1.2', '1.3', '1.4', '2.1');
const decisionId = fc.constantFrom('a', 'b', 'c', 'd', 'e', undefined);
const digestSeen = fc.constantFrom('right', 'wrong', undefined);

const operation = fc.oneof(
  fc.record({
    op: fc.constant('decide' as const),
    callId,
    decision: fc.constantFrom('approved', 'modified', 'denied'),
    amount: fc.constantFrom(1, 2, 5000, 'text'),
    hunks: fc.constantFrom(undefined, undefined, ['1'], [], ['9']),
    decisionId,
    digestSeen,
    keySeen: digestSeen,
  }),
  fc.record({
    op: fc.constant('resolve' as const),
    callId,
    resolution: fc.constantFrom('happened', 'did-not', 'run-again'),
    decisionId,
  }),
  fc.record({ op: fc.constant('start' as const), order: fc.constantFrom('lane', 'strict', 'parallel') }),
  fc.record({ op: fc.constant('settle' as const), callId, inDoubt: fc.boolean() }),
  fc.record({ op: fc.constant('report' as const), callId, generation: fc.constantFrom(0, 1, 2) }),
  fc.record({ op: fc.constant('replan' as const), callId, works: fc.boolean() }),
  fc.record({ op: fc.constant('wait' as const), ms: fc.constantFrom(1, 1000, 30_000, 61_000) }),
  fc.record({ op: fc.constant('expire' as const) }),
  fc.record({ op: fc.constant('cancel' as const) }),
  fc.record({ op: fc.constant('abandon' as const) }),
  fc.record({ op: fc.constant('junk' as const), message: fc.anything() }),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

const shape: fc.Arbitrary<CallShape> = fc
  .record(
    {
      kind: fc.constantFrom('ask', 'ask', 'run'),
      effect: fc.constantFrom('pure', 'idempotent', 'unsafe'),
      expiresMs: fc.constantFrom(60_000, null, 1000),
    },
    { requiredKeys: [] },
  )
  .chain((base) => fc.boolean().map((planned) => (planned ? { ...base, plan: PLAN } : base)));

function doDecide(approvals: Approvals, witness: Witness, op: Extract<Operation, { op: 'decide' }>): void {
  const state = approvals.calls.get(op.callId);
  const message = {
    callId: op.callId,
    decision: op.decision,
    ...(op.decision === 'modified' ? { arguments: { amount: op.amount } } : {}),
    ...(op.decision === 'approved' && op.hunks !== undefined ? { hunks: op.hunks } : {}),
    ...(op.decisionId === undefined ? {} : { decisionId: op.decisionId }),
    ...(op.digestSeen === undefined
      ? {}
      : { argsDigest: op.digestSeen === 'right' ? state?.effectiveDigest : 'x' }),
    ...(op.keySeen === undefined ? {} : { callKey: op.keySeen === 'right' ? state?.callKey : 'x' }),
  };
  const before = JSON.stringify(state);
  const judged = judgeDecision(approvals, JSON.parse(JSON.stringify(message)), witness.now);
  expect(JSON.stringify(state)).toBe(before);
  if (judged.kind !== 'take') return;
  expect(op.digestSeen).not.toBe('wrong');
  expect(op.keySeen).not.toBe('wrong');
  const id = judged.decision.decisionId ?? `drawn-${witness.allowed.size}-${approvals.verdicts.size}`;
  expect(approvals.verdicts.has(id)).toBe(false);
  const verdict = takeDecision(approvals, judged, { now: witness.now, decisionId: id });
  const denial = op.decision === 'denied' || op.hunks?.length === 0;
  if (denial && op.decision !== 'modified') witness.refusedFor.add(op.callId);
  else if (!verdict.asksAgain)
    witness.allowed.set(id, { callId: op.callId, argsDigest: state?.effectiveDigest });
}

function doResolve(approvals: Approvals, witness: Witness, op: Extract<Operation, { op: 'resolve' }>): void {
  const { op: _, decisionId: given, ...rest } = op;
  const judged = judgeResolution(approvals, given === undefined ? rest : { ...rest, decisionId: given });
  if (judged.kind !== 'take') return;
  expect(judged.state.phase).toBe('in_doubt');
  const id = given ?? `drawn-${witness.allowed.size}-${approvals.verdicts.size}`;
  takeResolution(approvals, judged, { now: witness.now, decisionId: id });
  if (op.resolution === 'run-again') {
    witness.allowed.set(id, { callId: op.callId, argsDigest: judged.state.effectiveDigest });
  }
}

function doStart(approvals: Approvals, witness: Witness, order: 'lane' | 'strict' | 'parallel'): void {
  const states = [...approvals.calls.values()];
  for (const state of nextToStart(states, order)) {
    expect(witness.cancelled).toBe(false);
    const spent = start(state);
    const { callId: id } = state.call;
    witness.starts.push({
      callId: id,
      generation: state.generation,
      decisionId: spent?.decisionId,
      argsDigest: digestJson(state.effective),
    });
  }
  if (order === 'lane') {
    const held = states.filter(
      (s) => s.call.settings.effect !== 'pure' && ['running', 'in_doubt'].includes(s.phase),
    );
    witness.starts.length > 0 && expect(held.length).toBeLessThanOrEqual(states.length);
  }
}

function resultFor(state: CallState) {
  return failureOf(state, { code: 'tool', message: 'x' }, 0);
}

function apply(approvals: Approvals, witness: Witness, op: Operation): void {
  const state = 'callId' in op ? approvals.calls.get(op.callId) : undefined;
  switch (op.op) {
    case 'decide':
      return doDecide(approvals, witness, op);
    case 'resolve':
      return doResolve(approvals, witness, op);
    case 'start':
      return doStart(
        approvals,
        witness,
        op.order === 'strict' ? 'strict' : op.order === 'lane' ? 'lane' : 'parallel',
      );
    case 'settle': {
      if (state === undefined) return;
      const settlement = op.inDoubt ? { inDoubt: { message: 'lost' } } : { result: resultFor(state) };
      return settle(approvals, state, { settlement, now: witness.now });
    }
    case 'report': {
      if (state === undefined) return;
      const { callKey } = state;
      return void report(approvals, { callKey, generation: op.generation, result: resultFor(state) });
    }
    case 'replan': {
      if (state === undefined) return;
      const fresh = validCall({ callId: op.callId, args: state.effective, plan: PLAN });
      const bad = { kind: 'remote' as const, callId: '', id: '', tool: '', raw: '', taskQueue: '' };
      return reopen(state, op.works ? fresh : bad, witness.now);
    }
    case 'wait':
      witness.now += op.ms;
      return;
    case 'expire':
      return expire(approvals, witness.now);
    case 'cancel':
      witness.cancelled = true;
      return cancelAll(approvals, witness.now);
    case 'abandon':
      approvals.abandoned = {};
      return sweepAbandoned(approvals, witness.now);
    case 'junk':
      void judgeDecision(approvals, op.message, witness.now);
      return void judgeResolution(approvals, op.message);
  }
}

function checkStarts(approvals: Approvals, witness: Witness): void {
  const executions = witness.starts.map((one) => `${one.callId}/${one.generation}`);
  expect(new Set(executions).size).toBe(executions.length);
  const spent = witness.starts.flatMap((one) => (one.decisionId === undefined ? [] : [one.decisionId]));
  expect(new Set(spent).size).toBe(spent.length);
  for (const one of witness.starts) {
    const gated = approvals.calls.get(one.callId)?.call.kind === 'ask' || one.generation > 0;
    if (!gated) continue;
    const allowed = witness.allowed.get(one.decisionId ?? '');
    expect(allowed).toEqual({ callId: one.callId, argsDigest: one.argsDigest });
    if (one.generation === 0) expect(witness.refusedFor.has(one.callId)).toBe(false);
  }
}

function checkCalls(approvals: Approvals): void {
  for (const state of approvals.calls.values()) {
    expect(state.phase === 'done').toBe(state.result !== undefined);
    if (state.result !== undefined) expect(state.result.success).toBe(state.result.error === undefined);
  }
}

test('nothing dangerous ever starts without an unspent decision that matches it, whatever the order of events', () => {
  const run = fc.property(
    fc.array(shape, { minLength: 1, maxLength: 4 }),
    fc.array(operation, { minLength: 1, maxLength: 60 }),
    (shapes, operations) => {
      const approvals = approvalsWith(...shapes.map((one, index) => ({ ...one, callId: `1.${index + 1}` })));
      const witness: Witness = {
        now: 1,
        allowed: new Map(),
        starts: [],
        refusedFor: new Set(),
        cancelled: false,
      };
      for (const op of operations) {
        const ended = [...approvals.calls.values()].filter((state) => state.phase === 'done');
        const results = ended.map((state) => state.result);
        apply(approvals, witness, op);
        expect(ended.map((state) => state.result)).toEqual(results);
        checkStarts(approvals, witness);
        checkCalls(approvals);
      }
    },
  );
  fc.assert(run, { numRuns: 2000 });
});

test('a doubt that a person settled is not settled again', () => {
  const approvals = approvalsWith({ kind: 'run' });
  const state = approvals.calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  start(state);
  settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 1 });
  const judged = judgeResolution(approvals, { callId: '1.1', resolution: 'did-not' });
  if (judged.kind !== 'take') throw new Error('not taken');
  takeResolution(approvals, judged, { now: 2, decisionId: 'x' });
  expect(settleDoubt(approvals, state, resultFor(state))).toBe(false);
  expect(state.result?.error?.code).toBe('transport');
});

test('an outcome that is reported before the loss is known settles the doubt at once', () => {
  const approvals = approvalsWith({ kind: 'run' });
  const state = approvals.calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  start(state);
  expect(report(approvals, { callKey: 'k:1.1', generation: 0, result: resultFor(state) })).toBe(false);
  expect(state.phase).toBe('running');
  settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 1 });
  expect(state).toMatchObject({ phase: 'done', result: { error: { message: 'x' } } });
});
