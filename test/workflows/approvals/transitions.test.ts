import { judgeDecision, takeDecision } from '../../../src/workflows/approvals/judge-decision';
import { settleDoubt } from '../../../src/workflows/approvals/doubts';
import {
  type Approvals,
  type CallState,
  makeApprovals,
  type Phase,
} from '../../../src/workflows/approvals/state';
import {
  cancelAll,
  expire,
  failureOf,
  handOver,
  register,
  reopen,
  settle,
  start,
  successOf,
  withdraw,
} from '../../../src/workflows/approvals/transitions';
import { result } from '../../history/script';
import { approvalsWith, validCall } from '../../support/calls';
import { sweepAbandoned } from '../../../src/workflows/approvals/abandon';

const callOf = (approvals: Approvals): CallState => {
  const state = approvals.calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  return state;
};

const decide = (approvals: Approvals, message: Record<string, unknown>, now = 1) => {
  const judged = judgeDecision(approvals, { callId: '1.1', ...message }, now);
  if (judged.kind !== 'take') return judged;
  const decisionId = judged.message.decisionId ?? 'drawn';
  return takeDecision(approvals, judged, { now, decisionId });
};

const ANN = { decision: 'approved', approver: 'ann', decisionId: 'a' };

describe('the note on what a person changed or said', () => {
  const ADVISED = { ...ANN, reason: 'ok' };
  const CHANGED = { decision: 'modified', approver: 'ann', arguments: { amount: 3 } };

  it.each([
    ['a remark', ADVISED, /^\[ann approved this call\. Reason: ok\]\n\n/],
    ['no remark', ANN, /^/],
    ['a change', CHANGED, /^\[ann changed[^]+amount: 10 → 3[^]+\]\n\n/],
  ])(
    'stands before each result that the workflow makes of a call that started: %s',
    (_, said, { source }) => {
      const approvals = approvalsWith({});
      decide(approvals, said);
      start(callOf(approvals));
      const state = callOf(approvals);
      expect(successOf(state, 'it did', 1).content).toMatch(new RegExp(`${source}it did$`));
      const failure = failureOf(state, { code: 'tool', message: 'it did' }, 1);
      expect(failure.content).toMatch(new RegExp(`${source}Error \\[tool\\]: it did$`));
    },
  );

  it.each([
    ['a remark', ADVISED],
    ['a change', CHANGED],
  ])('is left out if the call never started: %s', (_, said) => {
    const approvals = approvalsWith({});
    decide(approvals, said);
    cancelAll(approvals, 1);
    expect(callOf(approvals).result?.content).toMatch(/^Error \[cancelled\]: The turn/);
  });
});

describe('a decision that does not hold in this run', () => {
  const askAgain = (approvals: Approvals, now: number) =>
    settle(approvals, callOf(approvals), { settlement: { askAgain: 'decided before' }, now });

  it('leaves the call a request, with a new time to decide and a note that says why', () => {
    const approvals = approvalsWith({ effect: 'idempotent', expiresMs: 60_000 });
    decide(approvals, ANN);
    start(callOf(approvals));
    askAgain(approvals, 5_000);
    const { held, standing, ...state } = callOf(approvals);
    expect(state).toMatchObject({ phase: 'request', note: 'decided before', since: 5_000, deadline: 65_000 });
    // The worker of the next attempt looks up who said so.
    expect(state.voided).toBe(1);
    expect([held, standing]).toEqual([undefined, undefined]);
  });

  it.each<[true | undefined, RegExp]>([
    [undefined, /: no reason was given\. Nothing ran\.$/],
    [true, /: no reason was given\. An earlier attempt of it may have run\.$/],
  ])('may come after an attempt that ran: %s, and a denial says so', (mayHaveRun, end) => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, ANN);
    start(callOf(approvals));
    const settlement = { askAgain: 'decided before', ...(mayHaveRun && { mayHaveRun }) };
    settle(approvals, callOf(approvals), { settlement, now: 5_000 });
    decide(approvals, { ...ANN, decisionId: 'no', decision: 'denied' });
    expect(callOf(approvals).result?.error?.message).toMatch(end);
  });

  it('is refused when it comes once more; another one is taken', () => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, ANN);
    start(callOf(approvals));
    askAgain(approvals, 5);
    expect(decide(approvals, ANN)).toMatchObject({ kind: 'refuse', refused: { code: 'stale_args' } });
    expect(callOf(approvals).phase).toBe('request');
    expect(decide(approvals, { ...ANN, decisionId: 'b' })).toMatchObject({ accepted: true });
    expect(start(callOf(approvals))).toMatchObject({ decisionId: 'b' });
    expect(callOf(approvals).note).toBeUndefined();
  });

  it('takes its new arguments along', () => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, { decision: 'modified', arguments: { amount: 3 } });
    start(callOf(approvals));
    askAgain(approvals, 5);
    expect(callOf(approvals)).toMatchObject({ effective: { amount: 10 } });
    expect(callOf(approvals).edit).toBeUndefined();
    decide(approvals, ANN);
    expect(start(callOf(approvals))).toMatchObject({ decision: 'approved' });
  });

  it.each([
    ['of an unsafe call', 'ask', 'unsafe'],
    ['of a call that needed none', 'run', 'idempotent'],
  ] as const)('said %s: only our own worker says so, and it does not say it of that', (_, kind, effect) => {
    const approvals = approvalsWith({ kind, effect });
    decide(approvals, ANN);
    start(callOf(approvals));
    askAgain(approvals, 5);
    expect(callOf(approvals)).toMatchObject({ phase: 'in_doubt', doubt: { message: 'decided before' } });
  });

  it('closes the call of a turn that was cancelled meanwhile', () => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, ANN);
    start(callOf(approvals));
    cancelAll(approvals, 2);
    askAgain(approvals, 5);
    expect(callOf(approvals)).toMatchObject({ phase: 'done', result: { error: { code: 'cancelled' } } });
  });
});

/** Brings the call into a phase, as the turn would. */
const inPhase = (approvals: Approvals, phase: Phase): CallState => {
  const state = callOf(approvals);
  if (phase === 'request') return state;
  if (phase === 'replanning') state.phase = 'replanning';
  else decide(approvals, ANN);
  if (['running', 'in_doubt', 'done'].includes(phase)) start(state);
  if (phase === 'in_doubt')
    settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 5 });
  if (phase === 'done') settle(approvals, state, { settlement: { result: result('1.1') }, now: 5 });
  expect(state.phase).toBe(phase);
  return state;
};
const PHASES: Phase[] = ['request', 'replanning', 'ready', 'running', 'in_doubt', 'done'];

/** What each transition makes of a call in each phase, in the order of `PHASES`; `=` leaves it. */
it.each<[string, string, (approvals: Approvals, state: CallState) => unknown]>([
  ['a deadline that is over', 'done = = = = =', (approvals) => expire(approvals, 60_000)],
  ['a deadline that is ahead', '= = = = = =', (approvals) => expire(approvals, 59_999)],
  ['a cancellation', 'done done done = = =', (approvals) => cancelAll(approvals, 6)],
  ['a withdrawal', 'done = = = = =', (approvals, state) => withdraw(approvals, state, 6)],
  [
    'an end of its activity',
    '= = = done = =',
    (approvals, state) => settle(approvals, state, { settlement: { result: result('1.1') }, now: 6 }),
  ],
  [
    'a loss of its activity',
    '= = = in_doubt = =',
    (approvals, state) => settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 6 }),
  ],
  ['a proof', '= = = = done =', (approvals, state) => settleDoubt(approvals, state, result('1.1'))],
  ['a new preview', '= request = = = =', (_, state) => reopen(state, validCall(), 6)],
  [
    'an end of the turn with open doubts, after its cancellation',
    'done done done = done =',
    (approvals) => {
      cancelAll(approvals, 6);
      approvals.abandoned = { reason: 'moved', at: 7 };
      sweepAbandoned(approvals, 7);
    },
  ],
  [
    'an abandonment without a cancellation',
    '= = = = = =',
    (approvals) => {
      approvals.abandoned = { at: 7 };
      sweepAbandoned(approvals, 7);
    },
  ],
])('%s takes request, replanning, ready, running, in doubt and done to: %s', (_, line, transition) => {
  const phases = PHASES.map((phase) => {
    const approvals = approvalsWith({});
    const state = inPhase(approvals, phase);
    transition(approvals, state);
    return state.phase === phase ? '=' : state.phase;
  });
  expect(phases.join(' ')).toBe(line);
});

it.each<[string, Phase, (approvals: Approvals, state: CallState) => unknown, [string, string][]]>([
  ['a deadline', 'request', (approvals) => expire(approvals, 60_000), [['1.1', 'expired']]],
  ['a withdrawal', 'request', (approvals, state) => withdraw(approvals, state, 6), [['1.1', 'withdrawn']]],
  ['a cancellation', 'ready', (approvals) => cancelAll(approvals, 6), [['1.1', 'neverStarted']]],
  [
    'a proof',
    'in_doubt',
    (approvals, state) => settleDoubt(approvals, state, result('1.1')),
    [['1.1', 'proven']],
  ],
  [
    'an end of its activity, of which there is an event,',
    'running',
    (approvals, state) => settle(approvals, state, { settlement: { result: result('1.1') }, now: 6 }),
    [],
  ],
  ['a decision', 'request', (approvals) => decide(approvals, { decision: 'denied' }), []],
])(
  '%s that ends a call that is %s leaves these closings for the memo: %j',
  (_, phase, transition, closings) => {
    const approvals = approvalsWith({});
    transition(approvals, inPhase(approvals, phase));
    expect([...approvals.closings]).toEqual(closings);
  },
);

it.each(PHASES.filter((phase) => phase !== 'ready'))('a call does not start where it is %s', (phase) => {
  expect(() => start(inPhase(approvalsWith({}), phase))).toThrow('not ready');
});

it.each<[string, (state: CallState) => void]>([
  ['has no decision', (state) => delete state.held],
  ['has spent it', (state) => state.held && (state.held.spent = true)],
  ['shows something else by now', (state) => (state.seenDigest = 'other')],
  ['is in another generation by now', (state) => (state.generation = 1)],
])('a call does not start that %s', (_, change) => {
  const state = inPhase(approvalsWith({}), 'ready');
  change(state);
  expect(() => start(state)).toThrow('no unspent decision that matches');
});

it('a call that needs no decision starts without one', () => {
  expect(start(callOf(approvalsWith({ kind: 'run' })))).toBeUndefined();
});

describe('a call that is handed over', () => {
  it('has spent its decision, and a second decision hears of the first', () => {
    const approvals = approvalsWith({});
    expect(handOver(approvals, inPhase(approvals, 'ready'))).toMatchObject({ approver: 'ann' });
    approvals.calls.clear();
    expect(decide(approvals, { decision: 'denied' })).toMatchObject({ refused: { code: 'already_decided' } });
  });

  it('was asked about', () => {
    const approvals = approvalsWith({ kind: 'run' });
    expect(() => handOver(approvals, callOf(approvals))).toThrow('never asked about');
  });
});

it.each<[number | null, number | null]>([
  [1000, 1005],
  [null, null],
])('a request that expires after %s ms, registered at 5, has the deadline %s', (expiresMs, deadline) => {
  const approvals = makeApprovals();
  expect(register(approvals, validCall({ expiresMs }), { callKey: 'k:1.1', now: 5 }).deadline).toBe(deadline);
  const run = validCall({ kind: 'run', callId: '1.2', expiresMs });
  expect(register(approvals, run, { callKey: 'k:1.2', now: 5 })).toMatchObject({
    deadline: null,
    phase: 'ready',
  });
});
