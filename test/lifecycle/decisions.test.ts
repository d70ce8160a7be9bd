import { leaveOf } from '../../src/lifecycle/state';
import { digestJson, seenDigestOf } from '../../src/contract/digest';
import { approvalsWith, type Calls, type CallShape, PLAN, validCall } from '../support/calls';

/** Of what a person is shown of the call that everything here is about. */
const PAY_10 = seenDigestOf({ argsDigest: digestJson({ amount: 10 }) });

const decide = (approvals: Calls, message: unknown, now = 1) => approvals.say('decision', message, now);

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
    [
      'hunks of a call without a plan',
      { callId: '1.1', decision: 'approved', hunks: ['1'], seenDigest: PAY_10 },
    ],
    ['a digest that is none', { callId: '1.1', decision: 'approved', seenDigest: 'ABC' }],
    ['a digest of arguments alone, as once', { callId: '1.1', decision: 'approved', argsDigest: PAY_10 }],
    ['a callId that clears the screen', { callId: '1.1\u001b[2J', decision: 'approved' }],
    ['a callId of 65 characters', { callId: '1'.repeat(65), decision: 'approved' }],
    ['a reason of 5 KiB', { callId: '1.1', decision: 'approved', reason: 'x'.repeat(5000) }],
    [
      'a suggestion with an approval',
      { callId: '1.1', decision: 'approved', suggestion: 'Pay 5', seenDigest: PAY_10 },
    ],
    [
      'a reason and a suggestion of 5 KiB together',
      { callId: '1.1', decision: 'denied', reason: 'x'.repeat(2500), suggestion: 'y'.repeat(2500) },
    ],
    [
      'a reason of 2,000 three-byte letters',
      { callId: '1.1', decision: 'approved', reason: '€'.repeat(2000) },
    ],
  ])('%s is malformed and changes nothing', (_, message) => {
    const approvals = approvalsWith({});
    expect(decide(approvals, message)).toMatchObject({ accepted: false, code: 'malformed' });
    expect(approvals.call().phase).toBe('request');
    expect(approvals.state.verdicts.all.length).toBe(0);
  });
});

it('closes a call with what a person suggests, who then counts as one who asked', () => {
  const approvals = approvalsWith({});
  const decision = { callId: '1.1', decision: 'denied', approver: 'ann', suggestion: 'Pay 5' };
  expect(decide(approvals, decision)).toMatchObject({ accepted: true });
  expect(approvals.call()).toMatchObject({
    phase: 'done',
    result: { error: { code: 'denied', message: expect.stringContaining('says ann: Pay 5') } },
  });
  expect([...approvals.state.speakers]).toEqual(['ann']);
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
    ['other arguments seen', { seenDigest: '0'.repeat(64) }, 'stale_args'],
    ['an edit that does not fit', { decision: 'modified', arguments: { amount: 'ten' } }, 'validation'],
    [
      'an edit with an extra field',
      { decision: 'modified', arguments: { amount: 1, tool: 'x' } },
      'validation',
    ],
    ['an edit over its maximum', { decision: 'modified', arguments: { amount: 1001 } }, 'validation'],
    [
      'an edit over the limit',
      { decision: 'modified', arguments: { to: 'x'.repeat(140_000) } },
      'validation',
    ],
  ])('%s is refused', (_, change, code) => {
    const approvals = approvalsWith({});
    const verdict = decide(approvals, { callId: '1.1', decision: 'approved', ...change });
    expect(verdict).toMatchObject({ accepted: false, code });
    expect(approvals.call().phase).toBe('request');
  });

  it.each<[string, object, boolean]>([
    ['an edit that fits', { decision: 'modified', arguments: { amount: 2 } }, true],
    ['an edit that does not', { decision: 'modified', arguments: { amount: 'ten' } }, true],
    ['an edit of another call', { callId: '1.2', decision: 'modified', arguments: { amount: 2 } }, false],
    ['an approval', {}, false],
  ])('tells of a check against the schema, only where there was one: %s', (_, change, isChecked) => {
    const message = { callId: '1.1', decision: 'approved', ...change };
    const said = { message, newId: () => 'drawn', runId: 'run', isAgain: false };
    const judged = approvalsWith({}).do({ type: 'decision', ...said });
    expect('isChecked' in judged && judged.isChecked === true).toBe(isChecked);
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
    approvals.do({ type: 'look' }, 60_000);
    expect(approvals.result()).toMatchObject({ success: false, error: { code: 'expired' } });
    expect(decide(approvals, { callId: '1.1', decision: 'approved' }, 70_000)).toMatchObject({
      code: 'expired',
    });
    approvals.do({ type: 'cancel' }, 70_000);
    expect(decide(approvals, { callId: '1.2', decision: 'approved' }, 70_000)).toMatchObject({
      code: 'cancelled',
    });
  });

  it('never expires where it must not', () => {
    const approvals = approvalsWith({ expiresMs: null });
    approvals.do({ type: 'look' }, Number.MAX_SAFE_INTEGER);
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
    expect(approvals.result()?.error?.code).toBe('denied');
  });

  it('answers a repeat with the first verdict, before and after the call ended', () => {
    const approvals = approvalsWith({});
    const message = { callId: '1.1', decision: 'approved', decisionId: 'a' };
    const first = decide(approvals, message, 5);
    expect(decide(approvals, { ...message }, 6)).toEqual(first);
    approvals.start();
    const result = { ...validResult(), success: true };
    approvals.do({ type: 'settle', callId: '1.1', settlement: { result } }, 7);
    expect(decide(approvals, message, 1e9)).toEqual(first);
  });

  it('refuses a used id with other content', () => {
    const approvals = approvalsWith({}, { callId: '1.2' });
    decide(approvals, { callId: '1.1', decision: 'approved', decisionId: 'a' });
    const other = decide(approvals, { callId: '1.2', decision: 'approved', decisionId: 'a' });
    expect(other).toMatchObject({ accepted: false, code: 'malformed' });
    expect(approvals.call('1.2').phase).toBe('request');
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
  it('get the defaults of the schema before anything is digested or on record', () => {
    const approvals = approvalsWith({});
    const cents = { type: 'number', default: 100_000, maximum: 100_000 };
    const schema = { type: 'object', properties: { to: { type: 'string' }, cents } };
    approvals.do({ type: 'knew', schemas: { 'pay-1': schema } });
    decide(approvals, { callId: '1.1', decision: 'modified', arguments: { to: 'bob' } });
    const state = approvals.call();
    expect(state.effective).toEqual({ to: 'bob', cents: 100_000 });
    expect(state.effectiveDigest).toBe(digestJson({ to: 'bob', cents: 100_000 }));
    expect(approvals.start()).toMatchObject({
      seenDigest: seenDigestOf({ argsDigest: state.effectiveDigest }),
    });
  });

  it('keep proposed and effective arguments apart, and tool and call as they were', () => {
    const approvals = approvalsWith({});
    decide(approvals, {
      callId: '1.1',
      decision: 'modified',
      arguments: { amount: 5 },
      reason: 'less',
      approver: 'ann',
    });
    const state = approvals.call();
    expect(state).toMatchObject({ proposed: { amount: 10 }, effective: { amount: 5 }, phase: 'ready' });
    expect(state.effectiveDigest).toBe(digestJson({ amount: 5 }));
    expect(approvals.start()).toMatchObject({ decision: 'modified', reason: 'less', approver: 'ann' });
    expect(state.call).toMatchObject({ tool: 'pay', callId: '1.1' });
  });

  it.each<[string, CallShape]>([
    ['with a preview', { preview: 'pays ann' }],
    ['of a file proposal', { plan: PLAN }],
  ])('of a call %s ask again', (_, shape) => {
    const approvals = approvalsWith(shape);
    const verdict = decide(approvals, { callId: '1.1', decision: 'modified', arguments: { amount: 5 } });
    expect(verdict).toMatchObject({ accepted: true, asksAgain: true });
    expect(approvals.call().phase).toBe('preparing');
    expect(() => approvals.start()).toThrow('not ready');
  });
});

describe('what was seen', () => {
  const planned = (change: object = {}): CallShape => ({ plan: { ...PLAN, ...change } });

  /** An edit there and back, or of a file that changed meanwhile: the arguments are the same, the plan is not. */
  const reopened = (): Calls => {
    const approvals = approvalsWith(planned());
    decide(approvals, { callId: '1.1', decision: 'modified', arguments: { amount: 10 }, approver: 'bob' });
    const prepared = validCall(planned({ baseHash: 'changed' }));
    approvals.do({ type: 'prepared', callId: '1.1', prepared, at: 2 });
    return approvals;
  };

  it.each([
    ['as a whole', {}],
    ['one hunk', { hunks: ['1'] }],
  ])('an approval of the plan before, %s, is stale although the arguments are the same', (_, more) => {
    const { seenDigest } = approvalsWith(planned()).call();
    const approvals = reopened();
    const ann = { callId: '1.1', decision: 'approved', approver: 'ann', seenDigest, ...more };
    expect(decide(approvals, ann)).toMatchObject({ accepted: false, code: 'stale_args' });
    expect(approvals.call().phase).toBe('request');
    expect(decide(approvals, { ...ann, seenDigest: approvals.call().seenDigest })).toMatchObject({
      accepted: true,
    });
    expect(approvals.start()).toMatchObject({ approver: 'ann' });
  });

  it('covers the text of a preview, and changes with nothing else', () => {
    const digests = [{}, { preview: 'a' }, { preview: 'b' }, planned(), planned({ path: 'b.txt' })].map(
      (shape) => approvalsWith(shape).call().seenDigest,
    );
    expect(new Set(digests).size).toBe(5);
    expect(approvalsWith({ effect: 'idempotent' }).call().seenDigest).toBe(PAY_10);
  });

  it.each([
    ['approved', { decision: 'approved' }, true],
    ['approved by what was seen', { decision: 'approved', seenDigest: PAY_10 }, undefined],
    ['modified', { decision: 'modified', arguments: { amount: 1 } }, true],
    ['denied', { decision: 'denied' }, undefined],
  ])('%s: says whether it is bound to it', (_, decision, unbound) => {
    const verdict = decide(approvalsWith({}), { callId: '1.1', ...decision });
    expect(verdict).toMatchObject({ accepted: true });
    expect(verdict).toEqual(expect.objectContaining(unbound ? { unbound } : {}));
    expect(JSON.stringify(verdict).includes('unbound')).toBe(unbound === true);
  });

  it('a new revision is of the tool as it is now, and a person still decides on it', () => {
    const approvals = approvalsWith({ preview: 'old' });
    decide(approvals, { callId: '1.1', decision: 'modified', arguments: { amount: 5 } });
    const prepared = validCall({ kind: 'run', args: { amount: 5 }, effect: 'idempotent' });
    approvals.do({ type: 'prepared', callId: '1.1', prepared: { ...prepared, toolDigest: 'pay-2' }, at: 2 });
    expect(approvals.call()).toMatchObject({
      phase: 'request',
      effective: { amount: 5 },
      proposed: { amount: 10 },
      call: { kind: 'ask', toolDigest: 'pay-2', settings: { effect: 'idempotent' } },
    });
    expect(approvals.call().call.preview).toBeUndefined();
  });

  it('an edit that could not be previewed leaves the request as it was, and says why', () => {
    const approvals = approvalsWith({ preview: 'old' });
    const before = approvals.call().seenDigest;
    decide(approvals, { callId: '1.1', decision: 'modified', arguments: { amount: 5 } });
    const remote = { kind: 'remote' as const, callId: '1.1', id: 'm', tool: 'pay', raw: '', taskQueue: 'q' };
    approvals.do({ type: 'prepared', callId: '1.1', prepared: remote, at: 2 });
    expect(approvals.call()).toMatchObject({
      phase: 'request',
      seenDigest: before,
      effective: { amount: 10 },
      note: 'the edit could not be previewed: its tool moved to another queue',
    });
  });
});

describe('hunks', () => {
  it.each([
    ['one', ['1'], 'ready'],
    ['all', ['1', '2'], 'ready'],
    ['none', [], 'done'],
  ])('%s accepted', (_, hunks, phase) => {
    const approvals = approvalsWith({ plan: PLAN });
    const { seenDigest } = approvals.call();
    expect(decide(approvals, { callId: '1.1', decision: 'approved', hunks, seenDigest })).toMatchObject({
      accepted: true,
    });
    expect(approvals.call().phase).toBe(phase);
    if (phase === 'done') expect(approvals.result()?.error?.code).toBe('denied');
    else expect(approvals.start()?.hunks).toEqual(hunks);
  });

  it('that do not exist are malformed', () => {
    const approvals = approvalsWith({ plan: PLAN });
    const { seenDigest } = approvals.call();
    const third = { callId: '1.1', decision: 'approved', hunks: ['3'], seenDigest };
    expect(decide(approvals, third)).toMatchObject({ code: 'malformed' });
  });

  it.each([['one'], ['none']])('%s, without what was seen, are malformed', (count) => {
    const approvals = approvalsWith({ plan: PLAN });
    const hunks = count === 'one' ? ['1'] : [];
    expect(decide(approvals, { callId: '1.1', decision: 'approved', hunks })).toMatchObject({
      code: 'malformed',
      message: expect.stringContaining('seenDigest'),
    });
    expect(approvals.call().phase).toBe('request');
  });
});

it('registers a call anew under another key without its old decision', () => {
  const approvals = approvalsWith({});
  decide(approvals, { callId: '1.1', decision: 'approved' });
  approvals.do({ type: 'registered', call: validCall({ args: { amount: 99 } }), callKey: 'k2:1.1', at: 0 });
  expect(leaveOf(approvals.call())).toBeUndefined();
  expect(() => approvals.start()).toThrow('not ready');
});
