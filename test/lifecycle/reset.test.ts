import type { CallState } from '../../src/lifecycle/state';
import { isVoidAfterReset } from '../../src/lifecycle/reset';
import { type Calls, callsWith, validCall } from '../support/calls';
import { rule } from '../authority/votes/support';

const authority = {
  ...{ fileDigest: 'f', ruleDigest: 'r', requesters: [] },
  rule: { name: 'pay', then: 'ask' as const, ...rule({ rosters: [['ann', 'ben']], need: 2 }) },
};

const VOTE = { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'd-ann' };

/** A call of a rule with one vote. */
const voted = (): { calls: Calls; vote: object } => {
  const calls = callsWith({ ...validCall(), authority });
  const vote = { ...VOTE, seenDigest: calls.call().seenDigest };
  expect(calls.say('decision', vote)).toMatchObject({ accepted: true, needs: {} });
  return { calls, vote };
};

/** A call that a gate runs, in a phase. */
const ofGate = (phase: 'request' | 'ready' | 'running', effect: 'unsafe' | 'idempotent'): Calls => {
  const call = validCall({ effect });
  const calls = callsWith({ ...call, settings: { ...call.settings, gate: { activity: 'pay' } } });
  if (phase !== 'request') calls.say('decision', VOTE);
  if (phase === 'running') calls.start();
  return calls;
};

it('votes from before a reset do not count, and the request says so', () => {
  const { calls } = voted();
  calls.do({ type: 'reset' }, 5);
  expect(calls.call()).toMatchObject({
    votes: [],
    note: 'the votes from before the reset do not count',
  });
});

it('a vote from before a reset is refused if its message is sent once more', () => {
  const { calls, vote } = voted();
  calls.do({ type: 'reset' }, 5);
  expect(calls.say('decision', vote)).toMatchObject({ accepted: false, code: 'stale_args' });
});

it.each<[string, (calls: Calls) => void]>([
  ['denied', (calls) => void calls.say('decision', { ...VOTE, decision: 'denied' })],
  ['expired', (calls) => calls.do({ type: 'look' }, 10 ** 12)],
  ['cancelled', (calls) => calls.do({ type: 'cancel' }, 6)],
])('a request from before a reset that is %s may have run before it, and says so', (_, end) => {
  const calls = callsWith(validCall());
  calls.do({ type: 'reset' }, 5);
  expect(calls.call().note).toBe('the run before the reset may have started it');
  end(calls);
  expect(calls.result()?.error?.message).toMatch(/an earlier attempt of it may have run\.$/i);
});

it('a decision from before a reset is old', () => {
  const calls = ofGate('ready', 'idempotent');
  expect(calls.call()).toMatchObject({ leave: { isOld: false } });
  calls.do({ type: 'reset' }, 5);
  expect(calls.call()).toMatchObject({ leave: { isOld: true } });
});

it.each<[string, object, boolean]>([
  ['this run', { runId: 'run' }, false],
  ['no run', {}, false],
  ['another run', { runId: 'before' }, true],
])('a decision that names %s: the worker learns whether it is old', (_, run, isOld) => {
  const calls = callsWith(validCall());
  calls.say('decision', { ...VOTE, ...run });
  expect(calls.call()).toMatchObject({ phase: 'ready', leave: { isOld } });
});

it.each<['request' | 'ready' | 'running', 'unsafe' | 'idempotent', CallState['phase']]>([
  ['ready', 'unsafe', 'in_doubt'],
  ['running', 'unsafe', 'in_doubt'],
  ['request', 'unsafe', 'request'],
  ['running', 'idempotent', 'running'],
])('a call of a gate that is %s and %s is %s after a reset', (phase, effect, after) => {
  const calls = ofGate(phase, effect);
  calls.do({ type: 'reset' }, 5);
  expect(calls.call().phase).toBe(after);
});

it.each<[string, () => Calls, boolean]>([
  ['of a gate', () => ofGate('request', 'idempotent'), true],
  ['of a rule', () => callsWith({ ...validCall(), authority }), true],
  ['that anybody may decide', () => callsWith(validCall()), false],
])('a decision that a reset applies again is void for a call %s', (_, made, isVoid) => {
  const calls = made();
  expect(isVoidAfterReset(calls.call())).toBe(isVoid);
  const message = { ...VOTE, decisionId: 'again', seenDigest: calls.call().seenDigest };
  expect(calls.say('decision', message, 1, true)).toMatchObject(
    isVoid ? { accepted: false, code: 'stale_args' } : { accepted: true },
  );
});
