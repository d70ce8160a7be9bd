import { approvalsWith, type Calls, PLAN } from '../support/calls';

/** A call that a person let run by this decision, and whose outcome nobody knows. */
function inDoubt(decision: object = { decision: 'approved' }, approvals = approvalsWith({})): Calls {
  approvals.say('decision', { callId: '1.1', decisionId: 'a', approver: 'ann', ...decision });
  approvals.start();
  approvals.lose();
  return approvals;
}

const resolve = (approvals: Calls, message: unknown) => approvals.say('resolution', message, 10);

it.each([
  ['happened', { success: true }],
  ['did-not', { success: false, error: { code: 'transport' } }],
])('%s gives the call its result, with the reason', (resolution, result) => {
  const approvals = inDoubt();
  expect(resolve(approvals, { callId: '1.1', resolution, reason: 'looked' })).toMatchObject({
    accepted: true,
  });
  expect(approvals.call()).toMatchObject({ phase: 'done', result });
  expect(approvals.result()?.content).toContain('looked');
});

it('accepts with the time of the workflow, and remembers who resolved', () => {
  const approvals = inDoubt();
  const at = new Date(10).toISOString();
  expect(resolve(approvals, { callId: '1.1', resolution: 'happened', approver: 'bob' })).toEqual({
    accepted: true,
    decisionId: 'drawn-1',
    callId: '1.1',
    decision: 'happened',
    approver: 'bob',
    at,
  });
  expect(approvals.state.closed.get('1.1')).toEqual({
    standing: { decision: 'happened', approver: 'bob', at },
  });
});

it('gives the model the content that a person found', () => {
  const approvals = inDoubt();
  resolve(approvals, { callId: '1.1', resolution: 'happened', content: 'receipt 7' });
  expect(approvals.result()?.content).toMatch(/receipt 7$/);
});

it('gives the model also what a person changed before', () => {
  const approvals = inDoubt({ decision: 'modified', arguments: { amount: 5 }, reason: 'less' });
  resolve(approvals, { callId: '1.1', resolution: 'happened', content: 'seen' });
  expect(approvals.result()?.content).toMatch(/^\[ann changed the arguments[^]+amount: 10 → 5[^]+seen$/);
});

describe('run-again', () => {
  it('is a decision for the next generation, and counts once', () => {
    const approvals = inDoubt();
    resolve(approvals, { callId: '1.1', resolution: 'run-again', approver: 'ann', decisionId: 'r1' });
    expect(approvals.call()).toMatchObject({ phase: 'ready', generation: 1 });
    expect(approvals.start()).toMatchObject({ decisionId: 'r1', approver: 'ann' });
    expect(() => approvals.start()).toThrow('not ready');
  });

  it.each<[string, object, object]>([
    ['changed arguments', { decision: 'modified', arguments: { amount: 5 } }, { decision: 'modified' }],
    ['an approval', { decision: 'approved' }, { decision: 'approved' }],
  ])('runs what was allowed before: %s', (_, decision, expected) => {
    const approvals = inDoubt(decision);
    resolve(approvals, { callId: '1.1', resolution: 'run-again' });
    expect(approvals.start()).toMatchObject(expected);
  });

  it('keeps the hunks that were chosen', () => {
    const approvals = approvalsWith({ plan: PLAN });
    const { seenDigest } = approvals.call();
    inDoubt({ decision: 'approved', hunks: ['2'], seenDigest }, approvals);
    resolve(approvals, { callId: '1.1', resolution: 'run-again' });
    expect(approvals.start()).toMatchObject({ hunks: ['2'] });
  });
});

describe('a resolution of an earlier start', () => {
  /** A call that was started again, and is in doubt once more. */
  const inDoubtAgain = (): Calls => {
    const approvals = inDoubt();
    resolve(approvals, { callId: '1.1', resolution: 'run-again', decisionId: 'r1', generation: 0 });
    approvals.start();
    approvals.do({ type: 'settle', callId: '1.1', settlement: { inDoubt: { message: 'lost again' } } }, 11);
    return approvals;
  };

  it.each(['happened', 'did-not', 'run-again'])('does not settle a later one: %s', (resolution) => {
    const approvals = inDoubtAgain();
    const message = { callId: '1.1', resolution, generation: 0 };
    expect(resolve(approvals, message)).toMatchObject({ accepted: false, code: 'stale_args' });
    expect(approvals.call()).toMatchObject({ phase: 'in_doubt', generation: 1 });
  });

  it.each([{ generation: 1 }, {}])(
    'settles the one that it is about, or that it does not name: %j',
    (about) => {
      const approvals = inDoubtAgain();
      expect(resolve(approvals, { callId: '1.1', resolution: 'happened', ...about })).toMatchObject({
        accepted: true,
      });
    },
  );
});

describe('a resolution is refused', () => {
  it.each([
    ['that is null', null, 'malformed'],
    ['that is a text', 'happened', 'malformed'],
    ['with an unknown word', { callId: '1.1', resolution: 'maybe' }, 'malformed'],
    ['without a call', { resolution: 'happened' }, 'malformed'],
    [
      'with content where nothing happened',
      { callId: '1.1', resolution: 'did-not', content: 'x' },
      'malformed',
    ],
    [
      'with a reason that is too long',
      { callId: '1.1', resolution: 'happened', reason: '€'.repeat(2000) },
      'malformed',
    ],
    ['for a call that does not exist', { callId: '9.9', resolution: 'happened' }, 'unknown_call'],
    ['for another key', { callId: '1.1', resolution: 'happened', callKey: 'x' }, 'stale_args'],
    [
      'with the id of another message',
      { callId: '1.1', resolution: 'happened', decisionId: 'a' },
      'malformed',
    ],
  ])('%s', (_, message, code) => {
    const approvals = inDoubt();
    expect(resolve(approvals, message)).toMatchObject({ accepted: false, code });
    expect(approvals.call().phase).toBe('in_doubt');
  });

  it('where nothing is in doubt', () => {
    const message = { callId: '1.1', resolution: 'happened' };
    expect(resolve(approvalsWith({}), message)).toMatchObject({ code: 'already_decided' });
    const approvals = inDoubt();
    resolve(approvals, { ...message, decisionId: 'first' });
    expect(resolve(approvals, { ...message, decisionId: 'second' })).toMatchObject({
      code: 'already_decided',
    });
  });

  it('where it would run a call of a cancelled turn again; it may still say what happened', () => {
    const approvals = inDoubt();
    approvals.do({ type: 'cancel' }, 11);
    expect(approvals.call().phase).toBe('in_doubt');
    expect(resolve(approvals, { callId: '1.1', resolution: 'run-again' })).toMatchObject({
      code: 'cancelled',
    });
    expect(resolve(approvals, { callId: '1.1', resolution: 'happened' })).toMatchObject({ accepted: true });
  });
});

it('leaves the words of a person as they are, also of a call that ran again', () => {
  const approvals = inDoubt();
  resolve(approvals, { callId: '1.1', resolution: 'run-again' });
  approvals.start();
  approvals.lose('1.1', 11);
  const said = { callId: '1.1', decisionId: 's', resolution: 'did-not', approver: 'ann' };
  resolve(approvals, { ...said, reason: 'I looked at the bank: nothing ran.' });
  expect(approvals.result()?.error?.message).toMatch(/Reason: I looked at the bank: nothing ran\.$/);
});

it('says of a call that was to run again, and never started, that its first run may have happened', () => {
  const approvals = inDoubt();
  resolve(approvals, { callId: '1.1', resolution: 'run-again' });
  approvals.do({ type: 'cancel' }, 12);
  expect(approvals.result()?.error).toEqual({
    code: 'cancelled',
    message: 'The turn was cancelled before this call started. An earlier attempt of it may have run.',
  });
});

it('answers a repeat with the first verdict', () => {
  const approvals = inDoubt();
  const message = { callId: '1.1', resolution: 'happened', decisionId: 'same' };
  const first = resolve(approvals, message);
  expect(resolve(approvals, message)).toBe(first);
});
