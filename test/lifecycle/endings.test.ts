import type { ValidCall } from '../../src/contract/call';
import { type CallState, leaveOf, type AllowedCall } from '../../src/lifecycle/state';
import { failureOf, successOf } from '../../src/lifecycle/results';
import { result } from '../history/script';
import { approvalsWith, Calls, validCall } from '../support/calls';

const decide = (approvals: Calls, message: Record<string, unknown>, now = 1) =>
  approvals.say('decision', { callId: '1.1', ...message }, now);

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
      approvals.start();
      const state = approvals.call();
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
    approvals.do({ type: 'cancel' }, 1);
    expect(approvals.result()?.content).toMatch(/^Error \[cancelled\]: The turn/);
  });
});

describe('a decision that does not hold in this run', () => {
  const askAgain = (approvals: Calls, now: number) =>
    approvals.do({ type: 'settle', callId: '1.1', settlement: { askAgain: 'decided before' } }, now);

  it('leaves the call a request, with a new time to decide and a note that says why', () => {
    const approvals = approvalsWith({ effect: 'idempotent', expiresMs: 60_000 });
    decide(approvals, ANN);
    approvals.start();
    askAgain(approvals, 5_000);
    const state = approvals.call();
    expect(state).toMatchObject({ phase: 'request', note: 'decided before', since: 5_000, deadline: 65_000 });
    // The worker of the next attempt looks up who said so.
    expect(state.voided).toBe(1);
    expect(leaveOf(state)).toBeUndefined();
  });

  it.each<[true | undefined, RegExp]>([
    [undefined, /: no reason was given\. Nothing ran\.$/],
    [true, /: no reason was given\. An earlier attempt of it may have run\.$/],
  ])('may come after an attempt that ran: %s, and a denial says so', (mayHaveRun, end) => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, ANN);
    approvals.start();
    const settlement = { askAgain: 'decided before', ...(mayHaveRun && { mayHaveRun }) };
    approvals.do({ type: 'settle', callId: '1.1', settlement }, 5_000);
    decide(approvals, { ...ANN, decisionId: 'no', decision: 'denied' });
    expect(approvals.result()?.error?.message).toMatch(end);
  });

  it('is refused when it comes once more; another one is taken', () => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, ANN);
    approvals.start();
    askAgain(approvals, 5);
    expect(decide(approvals, ANN)).toMatchObject({ accepted: false, code: 'stale_args' });
    expect(approvals.call().phase).toBe('request');
    expect(decide(approvals, { ...ANN, decisionId: 'b' })).toMatchObject({ accepted: true });
    expect(approvals.start()).toMatchObject({ decisionId: 'b' });
    expect(approvals.call().note).toBeUndefined();
  });

  it('takes its new arguments along', () => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, { decision: 'modified', arguments: { amount: 3 } });
    approvals.start();
    askAgain(approvals, 5);
    expect(approvals.call()).toMatchObject({ effective: { amount: 10 } });
    expect(approvals.call().edit).toBeUndefined();
    decide(approvals, ANN);
    expect(approvals.start()).toMatchObject({ decision: 'approved' });
  });

  it.each([
    ['of an unsafe call', 'ask', 'unsafe'],
    ['of a call that needed none', 'run', 'idempotent'],
  ] as const)('said %s: only our own worker says so, and it does not say it of that', (_, kind, effect) => {
    const approvals = approvalsWith({ kind, effect });
    decide(approvals, ANN);
    approvals.start();
    askAgain(approvals, 5);
    expect(approvals.call()).toMatchObject({ phase: 'in_doubt', doubt: { message: 'decided before' } });
  });

  it('closes the call of a turn that was cancelled meanwhile', () => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, ANN);
    approvals.start();
    approvals.do({ type: 'cancel' }, 2);
    askAgain(approvals, 5);
    expect(approvals.call()).toMatchObject({ phase: 'done', result: { error: { code: 'cancelled' } } });
  });

  it('closes a call of a cancelled turn that may have run as one that may', () => {
    const approvals = approvalsWith({ effect: 'idempotent' });
    decide(approvals, ANN);
    approvals.start();
    approvals.do({ type: 'cancel' }, 2);
    const settlement = { askAgain: 'decided before', mayHaveRun: true as const };
    approvals.do({ type: 'settle', callId: '1.1', settlement }, 5);
    expect(approvals.result()?.error?.message).toMatch(/An earlier attempt of it may have run\.$/);
  });
});

type Phase = CallState['phase'];

/** Brings the call into a phase, as the turn would. */
const inPhase = (phase: Phase): Calls => {
  const approvals = approvalsWith(phase === 'preparing' ? { preview: 'pays' } : {});
  if (phase === 'preparing') decide(approvals, { decision: 'modified', arguments: { amount: 1 } });
  else if (phase !== 'request') decide(approvals, ANN);
  if (['running', 'in_doubt', 'done'].includes(phase)) approvals.start();
  if (phase === 'in_doubt') approvals.lose('1.1', 5);
  const settlement = { result: result('1.1') };
  if (phase === 'done') approvals.do({ type: 'settle', callId: '1.1', settlement }, 5);
  expect(approvals.call().phase).toBe(phase);
  return approvals;
};
const PHASES: Phase[] = ['request', 'preparing', 'ready', 'running', 'in_doubt', 'done'];

/** What each transition makes of a call in each phase, in the order of `PHASES`; `=` leaves it. */
it.each<[string, string, (approvals: Calls) => unknown]>([
  ['a deadline that is over', 'done = = = = =', (approvals) => approvals.do({ type: 'look' }, 60_000)],
  ['a deadline that is ahead', '= = = = = =', (approvals) => approvals.do({ type: 'look' }, 59_999)],
  ['a cancellation', 'done done done = = =', (approvals) => approvals.do({ type: 'cancel' }, 6)],
  [
    'a withdrawal',
    'done done done = = =',
    (approvals) => approvals.do({ type: 'withdraw', callId: '1.1' }, 6),
  ],
  [
    'an end of its activity',
    '= = = done = =',
    (approvals) => approvals.do({ type: 'settle', callId: '1.1', settlement: { result: result('1.1') } }, 6),
  ],
  ['a loss of its activity', '= = = in_doubt = =', (approvals) => approvals.lose('1.1', 6)],
  [
    'a proof',
    '= = = = done =',
    (approvals) => approvals.do({ type: 'prove', callId: '1.1', result: result('1.1') }),
  ],
  [
    'a new preview',
    '= request = = = =',
    (approvals) => approvals.do({ type: 'prepared', callId: '1.1', prepared: validCall(), at: 6 }),
  ],
  [
    'an end of the turn with open doubts, after its cancellation',
    'done done done = done =',
    (approvals) => {
      approvals.do({ type: 'cancel' }, 6);
      approvals.do({ type: 'abandon', by: { reason: 'moved' } }, 7);
      approvals.do({ type: 'look' }, 7);
    },
  ],
  [
    'an abandonment without a cancellation',
    '= = = = = =',
    (approvals) => {
      approvals.do({ type: 'abandon', by: {} }, 7);
      approvals.do({ type: 'look' }, 7);
    },
  ],
])('%s takes request, replanning, ready, running, in doubt and done to: %s', (_, line, transition) => {
  const phases = PHASES.map((phase) => {
    const approvals = inPhase(phase);
    transition(approvals);
    const after = approvals.call().phase;
    return after === phase ? '=' : after;
  });
  expect(phases.join(' ')).toBe(line);
});

it.each<[string, Phase, (approvals: Calls) => unknown, [string, string][]]>([
  ['a deadline', 'request', (approvals) => approvals.do({ type: 'look' }, 60_000), [['1.1', 'expired']]],
  [
    'a withdrawal',
    'request',
    (approvals) => approvals.do({ type: 'withdraw', callId: '1.1' }, 6),
    [['1.1', 'withdrawn']],
  ],
  ['a cancellation', 'ready', (approvals) => approvals.do({ type: 'cancel' }, 6), [['1.1', 'neverStarted']]],
  [
    'a proof',
    'in_doubt',
    (approvals) => approvals.do({ type: 'prove', callId: '1.1', result: result('1.1') }),
    [['1.1', 'proven']],
  ],
  [
    'an end of its activity, of which there is an event,',
    'running',
    (approvals) => approvals.do({ type: 'settle', callId: '1.1', settlement: { result: result('1.1') } }, 6),
    [],
  ],
  ['a decision', 'request', (approvals) => decide(approvals, { decision: 'denied' }), []],
])(
  '%s that ends a call that is %s leaves these closings for the memo: %j',
  (_, phase, transition, closings) => {
    const approvals = inPhase(phase);
    transition(approvals);
    expect([...approvals.state.closings]).toEqual(closings);
  },
);

it.each(PHASES.filter((phase) => phase !== 'ready'))('a call does not start where it is %s', (phase) => {
  expect(() => inPhase(phase).start()).toThrow('not ready');
});

it('a call does not start twice by one decision', () => {
  const approvals = inPhase('ready');
  const { decisionId } = approvals.start() ?? {};
  approvals.lose();
  expect(() => approvals.start()).toThrow('not ready');
  expect(decide(approvals, { ...ANN, decisionId: 'b' })).toMatchObject({ code: 'already_decided' });
  expect(decide(approvals, ANN)).toMatchObject({ accepted: true, decisionId });
  expect(approvals.call().phase).toBe('in_doubt');
});

it.each<[string, Partial<AllowedCall>]>([
  ['has no decision', { leave: { by: 'nobody' } }],
  ['shows something else by now', { seenDigest: 'other' }],
  ['is in another generation by now', { generation: 1 }],
])('a call does not start that %s', (_, change) => {
  const { state } = inPhase('ready');
  const ready = state.calls.get('1.1');
  if (ready?.phase !== 'ready') throw new Error('not ready');
  const approvals = new Calls({ ...state, calls: new Map([['1.1', { ...ready, ...change }]]) });
  expect(() => approvals.start()).toThrow('no unspent decision that matches');
});

const GRANT = { id: 'g', by: 'ann', until: '', times: 1 };

it.each<[string, Partial<AllowedCall>]>([
  ['a question', { call: validCall({ question: true }) }],
  ['one that runs again', { generation: 1 }],
  ['one whose decision did not hold', { voided: 1 }],
])('a grant lets nothing start that is %s', (_, change) => {
  const { state } = approvalsWith({ kind: 'run' });
  const ready = state.calls.get('1.1');
  if (ready?.phase !== 'ready') throw new Error('not ready');
  const leave: AllowedCall['leave'] = { by: 'grant', grant: GRANT };
  const broken: AllowedCall = { ...ready, leave, ...change };
  const approvals = new Calls({ ...state, calls: new Map([['1.1', broken]]) });
  expect(() => approvals.start()).toThrow('no unspent decision that matches');
});

it('a call that needs no decision starts without one', () => {
  expect(approvalsWith({ kind: 'run' }).start()).toBeUndefined();
});

it('a call that its workflow runs itself has spent its decision, and a second decision hears of the first', () => {
  const approvals = inPhase('ready');
  expect(approvals.start()).toMatchObject({ approver: 'ann' });
  approvals.do({ type: 'left', callId: '1.1' });
  expect(approvals.state.calls.size).toBe(0);
  expect(decide(approvals, { decision: 'denied' })).toMatchObject({ code: 'already_decided' });
});

it.each<[number | null, number | null]>([
  [1000, 1005],
  [null, null],
])('a request that expires after %s ms, registered at 5, has the deadline %s', (expiresMs, deadline) => {
  const approvals = new Calls();
  const register = (call: ValidCall) =>
    approvals.do({ type: 'registered', call, callKey: `k:${call.callId}`, at: 5 });
  register(validCall({ expiresMs }));
  register(validCall({ kind: 'run', callId: '1.2', expiresMs }));
  expect(approvals.call()).toMatchObject({ phase: 'request', deadline });
  expect(approvals.call('1.2')).toMatchObject({ phase: 'ready', leave: { by: 'nobody' } });
});
