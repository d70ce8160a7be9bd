import fc from 'fast-check';
import { judgeAnswer, takeAnswer } from '../../../src/workflows/approvals/judge-answer';
import { judgeDecision, takeDecision } from '../../../src/workflows/approvals/judge-decision';
import {
  cancelAll,
  expire,
  failureOf,
  reopen,
  settle,
  start,
} from '../../../src/workflows/approvals/transitions';
import { takeOutcome, settleDoubt } from '../../../src/workflows/approvals/doubts';
import { judgeResolution, takeResolution } from '../../../src/workflows/approvals/judge-resolution';
import type { Approvals, CallState } from '../../../src/workflows/approvals/state';
import type { Order } from '../../../src/contract/tool';
import { nextToStart } from '../../../src/workflows/step';
import { approvalsWith, type CallShape, PLAN, validCall } from '../../support/calls';
import { runs } from '../../support/properties';
import { sweepAbandoned } from '../../../src/workflows/approvals/abandon';

/** What an outside observer keeps: nothing of the state machine's own bookkeeping is trusted. */
interface Witness {
  now: number;
  /** Accepted verdicts that allow a start, by decision id: which call, and what was shown of it. */
  allowed: Map<string, { callId: string; shown: string }>;
  starts: { callId: string; generation: number; decisionId: string | undefined; shown: string }[];
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
    op: fc.constant('answer' as const),
    callId,
    answer: fc.constantFrom('answered', 'declined'),
    age: fc.constantFrom(7, -1, 'seven'),
    decisionId,
  }),
  fc.record({
    op: fc.constant('resolve' as const),
    callId,
    resolution: fc.constantFrom('happened', 'did-not', 'run-again'),
    decisionId,
  }),
  fc.record({
    op: fc.constant('start' as const),
    order: fc.constantFrom<Order[]>('lane', 'strict', 'parallel'),
  }),
  fc.record({
    op: fc.constant('settle' as const),
    callId,
    how: fc.constantFrom('result', 'doubt', 'doubt', 'ask again'),
  }),
  fc.record({ op: fc.constant('report' as const), callId, generation: fc.constantFrom(0, 1, 2) }),
  fc.record({
    op: fc.constant('replan' as const),
    callId,
    works: fc.boolean(),
    file: fc.constantFrom('b', 'c'),
  }),
  fc.record({ op: fc.constant('wait' as const), ms: fc.constantFrom(1, 1000, 30_000, 61_000) }),
  fc.record({ op: fc.constant('expire' as const) }),
  fc.record({ op: fc.constant('cancel' as const) }),
  fc.record({ op: fc.constant('abandon' as const) }),
  fc.record({ op: fc.constant('junk' as const), message: fc.anything() }),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

const PLAIN = {
  amount: 1,
  hunks: undefined,
  decisionId: undefined,
  digestSeen: undefined,
  keySeen: undefined,
} as const;

/** What moves calls on, three times as often as anything else: doubts beside ready calls are too rare otherwise. */
const progress = fc.oneof(
  callId.map((id): Operation => ({ op: 'decide', callId: id, decision: 'approved', ...PLAIN })),
  fc.constant<Operation>({ op: 'start', order: 'lane' }),
  fc.record({ op: fc.constant('settle' as const), callId, how: fc.constantFrom('result', 'doubt') }),
  operation,
);

const shape: fc.Arbitrary<CallShape> = fc
  .record(
    {
      kind: fc.constantFrom('ask', 'ask', 'run'),
      effect: fc.constantFrom('pure', 'idempotent', 'unsafe'),
      expiresMs: fc.constantFrom(60_000, null, 1000),
      question: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .chain((base) => fc.boolean().map((planned) => (planned ? { ...base, plan: PLAN } : base)));

/** What an approver could look at, without the digests of the state machine. */
function shownOf({ effective, plan, call }: CallState): string {
  const preview = call.preview === undefined || call.arguments !== effective ? null : call.preview.text;
  return JSON.stringify([effective, preview, plan ?? null]);
}

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
      : { seenDigest: op.digestSeen === 'right' ? state?.seenDigest : '0'.repeat(64) }),
    ...(op.keySeen === undefined ? {} : { callKey: op.keySeen === 'right' ? state?.callKey : 'x' }),
  };
  const before = JSON.stringify(state);
  const judged = judgeDecision(approvals, JSON.parse(JSON.stringify(message)), witness.now);
  expect(JSON.stringify(state)).toBe(before);
  if (judged.kind !== 'take') return;
  expect(op.digestSeen).not.toBe('wrong');
  expect(op.keySeen).not.toBe('wrong');
  const id = judged.message.decisionId ?? `drawn-${witness.allowed.size}-${approvals.verdicts.size}`;
  expect(approvals.verdicts.has(id)).toBe(false);
  const verdict = takeDecision(approvals, judged, { now: witness.now, decisionId: id });
  const denial = op.decision === 'denied' || op.hunks?.length === 0;
  if (denial && op.decision !== 'modified') witness.refusedFor.add(op.callId);
  else if (!verdict.asksAgain) witness.allowed.set(id, { callId: op.callId, shown: shownOf(judged.state) });
}

function doAnswer(approvals: Approvals, witness: Witness, op: Extract<Operation, { op: 'answer' }>): void {
  const { op: _, age, decisionId: given, ...rest } = op;
  const content = op.answer === 'answered' ? { content: { age } } : {};
  const message = { ...rest, ...content, ...(given === undefined ? {} : { decisionId: given }) };
  const before = JSON.stringify([...approvals.calls]);
  const judged = judgeAnswer(approvals, message, witness.now);
  expect(JSON.stringify([...approvals.calls])).toBe(before);
  if (judged.kind !== 'take') return;
  expect(judged.state).toMatchObject({ phase: 'question', call: { question: {} } });
  if (op.answer === 'answered') expect(age).toBe(7);
  const id = given ?? `drawn-${witness.allowed.size}-${approvals.verdicts.size}`;
  takeAnswer(approvals, judged, { now: witness.now, decisionId: id });
  expect(judged.state).toMatchObject({ phase: 'done', result: { success: op.answer === 'answered' } });
  expect(judged.state.held).toBeUndefined();
}

function doResolve(approvals: Approvals, witness: Witness, op: Extract<Operation, { op: 'resolve' }>): void {
  const { op: _, decisionId: given, ...rest } = op;
  const judged = judgeResolution(
    approvals,
    given === undefined ? rest : { ...rest, decisionId: given },
    witness.now,
  );
  if (judged.kind !== 'take') return;
  expect(judged.state.phase).toBe('in_doubt');
  const id = given ?? `drawn-${witness.allowed.size}-${approvals.verdicts.size}`;
  takeResolution(approvals, judged, { now: witness.now, decisionId: id });
  if (op.resolution === 'run-again') {
    witness.allowed.set(id, { callId: op.callId, shown: shownOf(judged.state) });
  }
}

function doStart(approvals: Approvals, witness: Witness, order: Order): void {
  const states = [...approvals.calls.values()];
  for (const state of nextToStart(states, order)) {
    expect(witness.cancelled).toBe(false);
    const spent = start(state);
    state.secret = 's';
    const { callId: id } = state.call;
    witness.starts.push({
      callId: id,
      generation: state.generation,
      decisionId: spent?.decisionId,
      shown: shownOf(state),
    });
  }
}

function resultFor(state: CallState) {
  return failureOf(state, { code: 'tool', message: 'x' }, 0);
}

/** The worker says that the decision does not hold: its handler was not called, and that decision never counts again. */
function doAskAgain(approvals: Approvals, witness: Witness, state: CallState): void {
  const running = state.phase === 'running';
  settle(approvals, state, { settlement: { askAgain: 'outdated' }, now: witness.now });
  if (!running) return;
  if (state.call.kind !== 'ask' || state.call.settings.effect === 'unsafe') {
    expect(['in_doubt', 'done']).toContain(state.phase);
    return;
  }
  // Nobody is asked again in a turn that was cancelled.
  if (witness.cancelled)
    expect(state).toMatchObject({ phase: 'done', result: { error: { code: 'cancelled' } } });
  else {
    expect(state).toMatchObject({ phase: 'request', note: 'outdated' });
    expect(state.effectiveDigest).toBe(state.call.argsDigest);
  }
  const last = witness.starts.findLast((one) => one.callId === state.call.callId);
  witness.starts = witness.starts.filter((one) => one !== last);
  witness.allowed.delete(last?.decisionId ?? '');
}

function apply(approvals: Approvals, witness: Witness, op: Operation): void {
  const state = 'callId' in op ? approvals.calls.get(op.callId) : undefined;
  switch (op.op) {
    case 'decide':
      return doDecide(approvals, witness, op);
    case 'answer':
      return doAnswer(approvals, witness, op);
    case 'resolve':
      return doResolve(approvals, witness, op);
    case 'start':
      return doStart(approvals, witness, op.order);
    case 'settle': {
      if (state === undefined) return;
      if (op.how === 'ask again') return doAskAgain(approvals, witness, state);
      const settlement = op.how === 'doubt' ? { inDoubt: { message: 'lost' } } : { result: resultFor(state) };
      return settle(approvals, state, { settlement, now: witness.now });
    }
    case 'report': {
      if (state === undefined) return;
      const { callKey } = state;
      return void takeOutcome(approvals, {
        callKey,
        generation: op.generation,
        secret: 's',
        result: resultFor(state),
      });
    }
    case 'replan': {
      if (state === undefined) return;
      const fresh = validCall({
        callId: op.callId,
        args: state.effective,
        plan: { ...PLAN, baseHash: op.file },
      });
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
      approvals.abandoned = { at: witness.now };
      return sweepAbandoned(approvals, witness.now);
    case 'junk':
      void judgeDecision(approvals, op.message, witness.now);
      void judgeAnswer(approvals, op.message, witness.now);
      return void judgeResolution(approvals, op.message, witness.now);
  }
}

function checkStarts(approvals: Approvals, witness: Witness): void {
  const executions = witness.starts.map((one) => `${one.callId}/${one.generation}`);
  expect(new Set(executions).size).toBe(executions.length);
  const spent = witness.starts.flatMap((one) => (one.decisionId === undefined ? [] : [one.decisionId]));
  expect(new Set(spent).size).toBe(spent.length);
  for (const one of witness.starts) {
    expect(approvals.calls.get(one.callId)?.call.question).toBeUndefined();
    const gated = approvals.calls.get(one.callId)?.call.kind === 'ask' || one.generation > 0;
    if (!gated) continue;
    const allowed = witness.allowed.get(one.decisionId ?? '');
    expect(allowed).toEqual({ callId: one.callId, shown: one.shown });
    if (one.generation === 0) expect(witness.refusedFor.has(one.callId)).toBe(false);
  }
}

function checkCalls(approvals: Approvals): void {
  for (const state of approvals.calls.values()) {
    expect(state.phase === 'done').toBe(state.result !== undefined);
    if (state.result !== undefined) expect(state.result.success).toBe(state.result.error === undefined);
  }
}

/** What holds after every event of a step whose calls start in this order. */
function checkOrder({ calls }: Approvals, order: Order): void {
  const states = [...calls.values()];
  const isHeld = ({ phase }: CallState): boolean => phase === 'running' || phase === 'in_doubt';
  const effectful = states.filter(({ call }) => call.settings.effect !== 'pure');
  if (order === 'lane') expect(effectful.filter(isHeld).length).toBeLessThanOrEqual(1);
  if (order !== 'strict') return;
  const first = states.findIndex(({ phase }) => phase !== 'done');
  expect(states.slice(first + 1).filter(isHeld)).toEqual([]);
}

/** Calls and events; `order` is that of the whole step, or another one at each start. */
function runWith(order: Order | 'any', numRuns: number): void {
  const run = fc.property(
    fc.array(shape, { minLength: 1, maxLength: 4 }),
    order === 'any'
      ? fc.array(operation, { minLength: 1, maxLength: 60 })
      : fc.array(progress, { minLength: 1, maxLength: 60, size: 'max' }),
    (shapes, operations) => {
      const approvals = approvalsWith(...shapes.map((one, index) => ({ ...one, callId: `1.${index + 1}` })));
      const witness: Witness = {
        now: 1,
        allowed: new Map(),
        starts: [],
        refusedFor: new Set(),
        cancelled: false,
      };
      for (const drawn of operations) {
        const op = drawn.op === 'start' && order !== 'any' ? { ...drawn, order } : drawn;
        const ended = [...approvals.calls.values()].filter((state) => state.phase === 'done');
        const results = ended.map((state) => state.result);
        apply(approvals, witness, op);
        expect(ended.map((state) => state.result)).toEqual(results);
        checkStarts(approvals, witness);
        checkCalls(approvals);
        if (order !== 'any') checkOrder(approvals, order);
      }
    },
  );
  fc.assert(run, { numRuns: runs(numRuns) });
}

test('nothing dangerous ever starts without an unspent decision that matches it, whatever the order of events', () => {
  runWith('any', 2000);
});

test.each<[Order, string]>([
  ['lane', 'two calls with an effect never run, or are in doubt, at once'],
  ['strict', 'no call runs before each earlier one has its result'],
])('in order %s %s', (order) => {
  runWith(order, 200);
});

test('a doubt that a person settled is not settled again', () => {
  const approvals = approvalsWith({ kind: 'run' });
  const state = approvals.calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  start(state);
  settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 1 });
  const judged = judgeResolution(approvals, { callId: '1.1', resolution: 'did-not' }, 2);
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
  state.secret = 's';
  const outcome = { callKey: 'k:1.1', generation: 0, secret: 's', result: resultFor(state) };
  expect(takeOutcome(approvals, outcome)).toBe(false);
  expect(state.phase).toBe('running');
  settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 1 });
  expect(state).toMatchObject({ phase: 'done', result: { error: { message: 'x' } } });
});

test.each([
  ['another secret', 's', 't'],
  ['a secret where there is none', undefined, 't'],
  ['no secret where there is none', undefined, ''],
])('an outcome settles nothing with %s', (_, own, sent) => {
  const approvals = approvalsWith({ kind: 'run' });
  const state = approvals.calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  start(state);
  if (own !== undefined) state.secret = own;
  settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 1 });
  const outcome = { callKey: 'k:1.1', generation: 0, secret: sent, result: resultFor(state) };
  expect(takeOutcome(approvals, outcome)).toBe(false);
  expect(state.phase).toBe('in_doubt');
});
