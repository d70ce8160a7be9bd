import { digestJson } from '../../../src/contract/digest';
import { judgeDecision } from '../../../src/workflows/approvals/judge-decision';
import { judgeResolution, takeResolution } from '../../../src/workflows/approvals/resolve';
import type { Approvals } from '../../../src/workflows/approvals/state';
import { takeDecision } from '../../../src/workflows/approvals/take-decision';
import { cancelAll, expire, register, settle, start } from '../../../src/workflows/approvals/transitions';
import { approvalsWith, PLAN, validCall } from '../../support/calls';

function decide(approvals: Approvals, message: unknown, now = 1) {
  const judged = judgeDecision(approvals, message, now);
  if (judged.kind === 'refuse') return judged.refused;
  if (judged.kind === 'repeat') return judged.spent.verdict;
  return takeDecision(approvals, judged, { now, decisionId: judged.decision.decisionId ?? 'drawn' });
}

const callOf = (approvals: Approvals, callId = '1.1') => {
  const state = approvals.calls.get(callId);
  if (state === undefined) throw new Error(`no call ${callId}`);
  return state;
};

describe('messages that are no decision', () => {
  it.each([
    ['null', null],
    ['nothing', undefined],
    ['a number', 7],
    ['a text', 'approved'],
    ['a list', [{ callId: '1.1', decision: 'approved' }]],
    ['bytes', new Uint8Array([1, 2])],
    ['no callId', { decision: 'approved' }],
    ['a callId that is a number', { callId: 1.1, decision: 'approved' }],
    ['an unknown word', { callId: '1.1', decision: 'approve' }],
    ['a word in capitals', { callId: '1.1', decision: 'APPROVED' }],
    ['a boolean', { callId: '1.1', decision: true }],
    [
      'a claim of being signed in that is no claim',
      { callId: '1.1', decision: 'approved', authenticated: 'yes' },
    ],
    ['a field nobody knows', { callId: '1.1', decision: 'approved', tool: 'other' }],
    ['modified without arguments', { callId: '1.1', decision: 'modified' }],
    ['modified with a list', { callId: '1.1', decision: 'modified', arguments: [1] }],
    ['arguments with approved', { callId: '1.1', decision: 'approved', arguments: { amount: 1 } }],
    ['hunks with denied', { callId: '1.1', decision: 'denied', hunks: ['1'] }],
    ['hunks of a call without a plan', { callId: '1.1', decision: 'approved', hunks: ['1'] }],
    ['a reason of 5 KiB', { callId: '1.1', decision: 'approved', reason: 'x'.repeat(5000) }],
    [
      'a reason of 2,000 three-byte letters',
      { callId: '1.1', decision: 'approved', reason: '€'.repeat(2000) },
    ],
  ])('%s is malformed and changes nothing', (_, message) => {
    const approvals = approvalsWith({});
    expect(decide(approvals, message)).toMatchObject({ accepted: false, code: 'malformed' });
    expect(callOf(approvals).phase).toBe('request');
    expect(approvals.verdicts.size).toBe(0);
  });
});

it('takes a decision that says its approver was signed in; a repeat has to say it too', () => {
  const approvals = approvalsWith({});
  const decision = { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'd' };
  const first = decide(approvals, { ...decision, authenticated: true });
  expect(first).toMatchObject({ accepted: true, approver: 'ann' });
  expect(decide(approvals, { ...decision, authenticated: true })).toEqual(first);
  expect(decide(approvals, decision)).toMatchObject({ accepted: false, code: 'malformed' });
});

describe('refusals', () => {
  it.each([
    ['another call', { callId: '1.2' }, 'unknown_call'],
    ['a call of another step', { callId: '2.1' }, 'unknown_call'],
    ['another key', { callKey: 'other:1.1' }, 'stale_args'],
    ['other arguments seen', { argsDigest: 'somethingelse' }, 'stale_args'],
    [
      'an edit that does not fit',
      { decision: 'modified', arguments: { amount: 'ten' } },
      'invalid_arguments',
    ],
    [
      'an edit with an extra field',
      { decision: 'modified', arguments: { amount: 1, tool: 'x' } },
      'invalid_arguments',
    ],
    ['an edit over its maximum', { decision: 'modified', arguments: { amount: 1001 } }, 'invalid_arguments'],
    [
      'an edit over the limit',
      { decision: 'modified', arguments: { to: 'x'.repeat(140_000) } },
      'invalid_arguments',
    ],
  ])('%s is refused', (_, change, code) => {
    const approvals = approvalsWith({});
    const verdict = decide(approvals, { callId: '1.1', decision: 'approved', ...change });
    expect(verdict).toMatchObject({ accepted: false, code });
    expect(callOf(approvals).phase).toBe('request');
  });

  it('names where an edit does not fit', () => {
    const verdict = decide(approvalsWith({}), {
      callId: '1.1',
      decision: 'modified',
      arguments: { amount: 'ten' },
    });
    expect(verdict).toMatchObject({ issues: [expect.objectContaining({ path: '/amount' })] });
  });

  it.each([
    ['a millisecond before the deadline', 59_999, true],
    ['at the deadline', 60_000, false],
    ['after it', 60_001, false],
  ])('%s', (_, now, accepted) => {
    const verdict = decide(approvalsWith({}), { callId: '1.1', decision: 'approved' }, now);
    expect(verdict).toMatchObject(accepted ? { accepted } : { accepted, code: 'expired' });
  });

  it('says expired after the timer, too, and cancelled after a cancellation', () => {
    const approvals = approvalsWith({}, { callId: '1.2', expiresMs: null });
    expire(approvals, 60_000);
    expect(callOf(approvals).result).toMatchObject({ success: false, error: { code: 'expired' } });
    expect(decide(approvals, { callId: '1.1', decision: 'approved' }, 70_000)).toMatchObject({
      code: 'expired',
    });
    cancelAll(approvals, 70_000);
    expect(decide(approvals, { callId: '1.2', decision: 'approved' }, 70_000)).toMatchObject({
      code: 'cancelled',
    });
  });

  it('never expires where it must not', () => {
    const approvals = approvalsWith({ expiresMs: null });
    expire(approvals, Number.MAX_SAFE_INTEGER);
    expect(decide(approvals, { callId: '1.1', decision: 'approved' }, 1e15)).toMatchObject({
      accepted: true,
    });
  });

  it('does not take a decision for a call that needs none', () => {
    const approvals = approvalsWith({ kind: 'run' });
    expect(decide(approvals, { callId: '1.1', decision: 'denied' })).toMatchObject({ code: 'unknown_call' });
  });
});

describe('the first valid decision wins', () => {
  it('tells the second who was first', () => {
    const approvals = approvalsWith({});
    decide(approvals, { callId: '1.1', decision: 'denied', approver: 'ann', decisionId: 'a' }, 5);
    expect(decide(approvals, { callId: '1.1', decision: 'approved', approver: 'bob' }, 6)).toMatchObject({
      code: 'already_decided',
      standing: { decision: 'denied', approver: 'ann', at: new Date(5).toISOString() },
    });
    expect(callOf(approvals).result?.error?.code).toBe('denied');
  });

  it('answers a repeat with the first verdict, before and after the call ended', () => {
    const approvals = approvalsWith({});
    const message = { callId: '1.1', decision: 'approved', decisionId: 'a' };
    const first = decide(approvals, message, 5);
    expect(decide(approvals, { ...message }, 6)).toEqual(first);
    start(callOf(approvals));
    const result = { ...validResult(), success: true };
    settle(approvals, callOf(approvals), { settlement: { result }, now: 7 });
    expect(decide(approvals, message, 1e9)).toEqual(first);
  });

  it('refuses a used id with other content', () => {
    const approvals = approvalsWith({}, { callId: '1.2' });
    decide(approvals, { callId: '1.1', decision: 'approved', decisionId: 'a' });
    const other = decide(approvals, { callId: '1.2', decision: 'approved', decisionId: 'a' });
    expect(other).toMatchObject({ accepted: false, code: 'malformed' });
    expect(callOf(approvals, '1.2').phase).toBe('request');
  });
});

function validResult() {
  return {
    id: 'm',
    callId: '1.1',
    tool: 'pay',
    server: 'local',
    arguments: {},
    content: 'ok',
    contentType: 'text',
    metadata: { execution_time_ms: 1, safety_level: null, approved: true, attempt: 1, timestamp: '' },
  };
}

describe('edits', () => {
  it('keep proposed and effective arguments apart, and tool and call as they were', () => {
    const approvals = approvalsWith({});
    decide(approvals, {
      callId: '1.1',
      decision: 'modified',
      arguments: { amount: 5 },
      reason: 'less',
      approver: 'ann',
    });
    const state = callOf(approvals);
    expect(state).toMatchObject({ proposed: { amount: 10 }, effective: { amount: 5 }, phase: 'ready' });
    expect(state.effectiveDigest).toBe(digestJson({ amount: 5 }));
    expect(start(state)).toMatchObject({ decision: 'modified', reason: 'less', approver: 'ann' });
    expect(state.call).toMatchObject({ tool: 'pay', callId: '1.1' });
  });

  it('of a file proposal ask again', () => {
    const approvals = approvalsWith({ plan: PLAN });
    const verdict = decide(approvals, { callId: '1.1', decision: 'modified', arguments: { amount: 5 } });
    expect(verdict).toMatchObject({ accepted: true, asksAgain: true });
    expect(callOf(approvals).phase).toBe('replanning');
    expect(() => start(callOf(approvals))).toThrow('not ready');
  });
});

describe('hunks', () => {
  it.each([
    ['one', ['1'], 'ready'],
    ['all', ['1', '2'], 'ready'],
    ['none', [], 'done'],
  ])('%s accepted', (_, hunks, phase) => {
    const approvals = approvalsWith({ plan: PLAN });
    expect(decide(approvals, { callId: '1.1', decision: 'approved', hunks })).toMatchObject({
      accepted: true,
    });
    expect(callOf(approvals).phase).toBe(phase);
    if (phase === 'done') expect(callOf(approvals).result?.error?.code).toBe('denied');
    else expect(start(callOf(approvals))?.hunks).toEqual(hunks);
  });

  it('that do not exist are malformed', () => {
    const approvals = approvalsWith({ plan: PLAN });
    expect(decide(approvals, { callId: '1.1', decision: 'approved', hunks: ['3'] })).toMatchObject({
      code: 'malformed',
    });
  });
});

describe('resolutions', () => {
  function inDoubt(): Approvals {
    const approvals = approvalsWith({});
    decide(approvals, { callId: '1.1', decision: 'approved', decisionId: 'a' });
    start(callOf(approvals));
    settle(approvals, callOf(approvals), { settlement: { inDoubt: { message: 'lost' } }, now: 9 });
    return approvals;
  }

  function resolve(approvals: Approvals, message: unknown) {
    const judged = judgeResolution(approvals, message);
    if (judged.kind === 'refuse') return judged.refused;
    if (judged.kind === 'repeat') return judged.spent.verdict;
    return takeResolution(approvals, judged, { now: 10, decisionId: judged.resolution.decisionId ?? 'r' });
  }

  it.each([
    ['happened', { success: true }],
    ['did-not', { success: false, error: { code: 'transport' } }],
  ])('%s gives the call its result', (resolution, result) => {
    const approvals = inDoubt();
    expect(resolve(approvals, { callId: '1.1', resolution, reason: 'looked' })).toMatchObject({
      accepted: true,
    });
    expect(callOf(approvals)).toMatchObject({ phase: 'done', result });
    expect(callOf(approvals).result?.content).toContain('looked');
  });

  it('run-again is a new decision for a new generation', () => {
    const approvals = inDoubt();
    resolve(approvals, { callId: '1.1', resolution: 'run-again', approver: 'ann', decisionId: 'r1' });
    expect(callOf(approvals)).toMatchObject({ phase: 'ready', generation: 1 });
    expect(start(callOf(approvals))).toMatchObject({ decisionId: 'r1', approver: 'ann' });
    expect(() => start(callOf(approvals))).toThrow();
  });

  it.each([
    ['null', null, 'malformed'],
    ['an unknown word', { callId: '1.1', resolution: 'maybe' }, 'malformed'],
    ['content with did-not', { callId: '1.1', resolution: 'did-not', content: 'x' }, 'malformed'],
    ['another call', { callId: '9.9', resolution: 'happened' }, 'unknown_call'],
    ['another key', { callId: '1.1', resolution: 'happened', callKey: 'x' }, 'stale_args'],
  ])('%s is refused', (_, message, code) => {
    expect(resolve(inDoubt(), message)).toMatchObject({ accepted: false, code });
  });

  it('is refused where nothing is in doubt, and running again after a cancellation', () => {
    expect(resolve(approvalsWith({}), { callId: '1.1', resolution: 'happened' })).toMatchObject({
      code: 'not_in_doubt',
    });
    const approvals = inDoubt();
    cancelAll(approvals, 11);
    expect(callOf(approvals).phase).toBe('in_doubt');
    expect(resolve(approvals, { callId: '1.1', resolution: 'run-again' })).toMatchObject({
      code: 'cancelled',
    });
    expect(resolve(approvals, { callId: '1.1', resolution: 'happened' })).toMatchObject({ accepted: true });
  });
});

it('registers a call anew under another key without its old decision', () => {
  const approvals = approvalsWith({});
  decide(approvals, { callId: '1.1', decision: 'approved' });
  register(approvals, validCall({ args: { amount: 99 } }), { callKey: 'k2:1.1', now: 0 });
  expect(callOf(approvals).held).toBeUndefined();
  expect(() => start(callOf(approvals))).toThrow('not ready');
});

it('tells the model of an edit also where the workflow itself makes the result', () => {
  const approvals = approvalsWith({});
  const edit = {
    callId: '1.1',
    decision: 'modified',
    arguments: { amount: 5 },
    reason: 'less',
    approver: 'ann',
  };
  decide(approvals, edit);
  start(callOf(approvals));
  settle(approvals, callOf(approvals), { settlement: { inDoubt: { message: 'lost' } }, now: 9 });
  const judged = judgeResolution(approvals, { callId: '1.1', resolution: 'happened', content: 'seen' });
  if (judged.kind !== 'take') throw new Error('not taken');
  takeResolution(approvals, judged, { now: 10, decisionId: 'r' });
  expect(callOf(approvals).result?.content).toMatch(
    /^\[ann changed the arguments[^]+amount: 10 → 5[^]+seen$/,
  );
});
