import fc from 'fast-check';
import type { Order } from '../../src/contract/tool';
import type { Decided } from '../../src/lifecycle/messages';
import { apply as applyEvent } from '../../src/lifecycle/events';
import { failureOf } from '../../src/lifecycle/results';
import { type CallState, leaveOf, makeApprovals } from '../../src/lifecycle/state';
import { nextToStart } from '../../src/workflows/next-to-start';
import { approvalsWith, type Calls, type CallShape, PLAN, validCall } from '../support/calls';
import { runs } from '../support/properties';

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
function shownOf({ effective, call }: CallState): string {
  const preview = call.preview === undefined || call.arguments !== effective ? null : call.preview.text;
  return JSON.stringify([effective, preview, call.preview?.plan ?? null]);
}

/** Carries out a message, and checks that judging alone changes nothing, and that a repeat changes nothing. */
function say(
  calls: Calls,
  witness: Witness,
  type: 'decision' | 'answer' | 'resolution',
  message: { decisionId?: string | undefined },
): Decided {
  const before = calls.state;
  const newId = (): string => `drawn-${before.verdicts.all.length}`;
  const said = { type, message: JSON.parse(JSON.stringify(message)), newId, runId: 'run', isAgain: false };
  const { decisionId } = message;
  const isKnown = decisionId !== undefined && before.verdicts.get(decisionId) !== undefined;
  const decided = calls.do(said, witness.now);
  if (decided.refused !== undefined) expect(calls.state).toBe(before);
  else if (isKnown) expect(decided.events).toEqual([]);
  if (decided.refused === undefined && decisionId !== undefined) {
    const after = calls.state;
    expect(calls.do(said, witness.now + 1)).toEqual({ events: [], verdict: decided.verdict });
    expect(calls.state).toBe(after);
  }
  return decided;
}

function doDecide(calls: Calls, witness: Witness, op: Extract<Operation, { op: 'decide' }>): void {
  const state = calls.state.calls.get(op.callId);
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
  const decided = say(calls, witness, 'decision', message);
  if (decided.refused !== undefined || decided.events.length === 0 || decided.verdict === undefined) return;
  expect(state?.phase).toBe('request');
  expect(op.digestSeen).not.toBe('wrong');
  expect(op.keySeen).not.toBe('wrong');
  const { verdict } = decided;
  const denial = op.decision === 'denied' || op.hunks?.length === 0;
  if (denial && op.decision !== 'modified') witness.refusedFor.add(op.callId);
  else if (!verdict.asksAgain)
    witness.allowed.set(verdict.decisionId, { callId: op.callId, shown: shownOf(calls.call(op.callId)) });
}

function doAnswer(calls: Calls, witness: Witness, op: Extract<Operation, { op: 'answer' }>): void {
  const { op: _, age, ...rest } = op;
  const state = calls.state.calls.get(op.callId);
  const content = op.answer === 'answered' ? { content: { age } } : {};
  const decided = say(calls, witness, 'answer', { ...rest, ...content });
  if (decided.refused !== undefined || decided.events.length === 0) return;
  expect(state).toMatchObject({ phase: 'question', call: { question: {} } });
  if (op.answer === 'answered') expect(age).toBe(7);
  const after = calls.call(op.callId);
  expect(after).toMatchObject({ phase: 'done', result: { success: op.answer === 'answered' } });
  expect(leaveOf(after)).toBeUndefined();
}

function doResolve(calls: Calls, witness: Witness, op: Extract<Operation, { op: 'resolve' }>): void {
  const { op: _, ...rest } = op;
  const state = calls.state.calls.get(op.callId);
  const decided = say(calls, witness, 'resolution', rest);
  if (decided.refused !== undefined || decided.events.length === 0) return;
  expect(state?.phase).toBe('in_doubt');
  if (op.resolution !== 'run-again' || decided.verdict === undefined) return;
  const shown = shownOf(calls.call(op.callId));
  witness.allowed.set(decided.verdict.decisionId, { callId: op.callId, shown });
}

function doStart(calls: Calls, witness: Witness, order: Order): void {
  for (const state of nextToStart([...calls.state.calls.values()], order)) {
    expect(witness.cancelled).toBe(false);
    const { callId: id } = state.call;
    const spent = calls.start(id, 's');
    const { generation } = state;
    witness.starts.push({ callId: id, generation, decisionId: spent?.decisionId, shown: shownOf(state) });
  }
}

function resultFor(state: CallState) {
  return failureOf(state, { code: 'tool', message: 'x' }, 0);
}

/** The worker says that the decision does not hold: its handler was not called, and that decision never counts again. */
function doAskAgain(calls: Calls, witness: Witness, state: CallState): void {
  const { callId: id } = state.call;
  calls.do({ type: 'settle', callId: id, settlement: { askAgain: 'outdated' } }, witness.now);
  if (state.phase !== 'running') return;
  const after = calls.call(id);
  if (state.call.kind !== 'ask' || state.call.settings.effect === 'unsafe') {
    expect(['in_doubt', 'done']).toContain(after.phase);
    return;
  }
  // Nobody is asked again in a turn that was cancelled.
  if (witness.cancelled)
    expect(after).toMatchObject({ phase: 'done', result: { error: { code: 'cancelled' } } });
  else {
    expect(after).toMatchObject({ phase: 'request', note: 'outdated' });
    expect(after.effectiveDigest).toBe(after.call.argsDigest);
  }
  const last = witness.starts.findLast((one) => one.callId === id);
  witness.starts = witness.starts.filter((one) => one !== last);
  witness.allowed.delete(last?.decisionId ?? '');
}

function apply(calls: Calls, witness: Witness, op: Operation): void {
  const { now } = witness;
  const state = 'callId' in op ? calls.state.calls.get(op.callId) : undefined;
  switch (op.op) {
    case 'decide':
      return doDecide(calls, witness, op);
    case 'answer':
      return doAnswer(calls, witness, op);
    case 'resolve':
      return doResolve(calls, witness, op);
    case 'start':
      return doStart(calls, witness, op.order);
    case 'settle': {
      if (state === undefined) return;
      if (op.how === 'ask again') return doAskAgain(calls, witness, state);
      const settlement = op.how === 'doubt' ? { inDoubt: { message: 'lost' } } : { result: resultFor(state) };
      return void calls.do({ type: 'settle', callId: op.callId, settlement }, now);
    }
    case 'report': {
      if (state === undefined) return;
      const { callKey } = state;
      const { generation } = op;
      const outcome = { callKey, generation, secret: 's', result: resultFor(state) };
      return void calls.do({ type: 'outcome', outcome }, now);
    }
    case 'replan': {
      if (state === undefined) return;
      const plan = { ...PLAN, baseHash: op.file };
      const fresh = validCall({ callId: op.callId, args: state.effective, plan });
      const bad = { kind: 'remote' as const, callId: '', id: '', tool: '', raw: '', taskQueue: '' };
      const prepared = op.works ? fresh : bad;
      return void calls.do({ type: 'prepared', callId: op.callId, prepared, at: now });
    }
    case 'wait':
      witness.now += op.ms;
      return;
    case 'expire':
      return void calls.do({ type: 'look' }, now);
    case 'cancel':
      witness.cancelled = true;
      return void calls.do({ type: 'cancel' }, now);
    case 'abandon':
      calls.do({ type: 'abandon', by: {} }, now);
      return void calls.do({ type: 'look' }, now);
    case 'junk':
      for (const type of ['decision', 'answer', 'resolution'] as const) {
        const said = { message: op.message, newId: () => 'junk', runId: 'run', isAgain: false };
        expect(calls.do({ type, ...said }, now).refused).toBeDefined();
      }
  }
}

function checkStarts(calls: Calls, witness: Witness): void {
  const executions = witness.starts.map((one) => `${one.callId}/${one.generation}`);
  expect(new Set(executions).size).toBe(executions.length);
  const spent = witness.starts.flatMap((one) => (one.decisionId === undefined ? [] : [one.decisionId]));
  expect(new Set(spent).size).toBe(spent.length);
  for (const one of witness.starts) {
    expect(calls.state.calls.get(one.callId)?.call.question).toBeUndefined();
    const gated = calls.state.calls.get(one.callId)?.call.kind === 'ask' || one.generation > 0;
    if (!gated) continue;
    const allowed = witness.allowed.get(one.decisionId ?? '');
    expect(allowed).toEqual({ callId: one.callId, shown: one.shown });
    if (one.generation === 0) expect(witness.refusedFor.has(one.callId)).toBe(false);
  }
}

function checkCalls(calls: Calls): void {
  for (const state of calls.state.calls.values()) {
    if (state.phase !== 'done') continue;
    expect(state.result.success).toBe(state.result.error === undefined);
    expect(calls.state.closed.has(state.call.callId)).toBe(true);
  }
}

/** What holds after every event of a step whose calls start in this order. */
function checkOrder({ state }: Calls, order: Order): void {
  const states = [...state.calls.values()];
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
      const calls = approvalsWith(...shapes.map((one, index) => ({ ...one, callId: `1.${index + 1}` })));
      const witness: Witness = {
        now: 1,
        allowed: new Map(),
        starts: [],
        refusedFor: new Set(),
        cancelled: false,
      };
      for (const drawn of operations) {
        const op = drawn.op === 'start' && order !== 'any' ? { ...drawn, order } : drawn;
        const ended = [...calls.state.calls.values()].filter((state) => state.phase === 'done');
        apply(calls, witness, op);
        for (const state of ended) expect(calls.call(state.call.callId)).toBe(state);
        checkStarts(calls, witness);
        checkCalls(calls);
        if (order !== 'any') checkOrder(calls, order);
      }
      // The events alone make the same state.
      expect(calls.events.reduce(applyEvent, makeApprovals())).toEqual(calls.state);
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
  const calls = approvalsWith({ kind: 'run' });
  calls.start('1.1', 's');
  const late = { callKey: 'k:1.1', generation: 0, secret: 's', result: resultFor(calls.call()) };
  calls.lose();
  calls.say('resolution', { callId: '1.1', resolution: 'did-not' });
  calls.do({ type: 'outcome', outcome: late });
  expect(calls.result()?.error?.code).toBe('transport');
});
