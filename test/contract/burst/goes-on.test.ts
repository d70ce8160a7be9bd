import type { PreparedCall } from '../../../src/contract/call';
import { fitInto, retryWaitMs, runsHere, whyCommit } from '../../../src/contract/burst/goes-on';
import { makeFailure } from '../../../src/contract/result';
import type { Order } from '../../../src/contract/tool';
import { afterStep } from '../../../src/contract/repeats';
import { type CallShape, validCall } from '../../support/calls';

const NONE = { calls: '', results: '', times: 0, refused: 0 };
const pure = (more: Partial<ReturnType<typeof validCall>> = {}, shape: CallShape = {}): PreparedCall => ({
  ...validCall({ kind: 'run', effect: 'pure', ...shape }),
  ...more,
});
const settings = (more: object): PreparedCall => {
  const call = validCall({ kind: 'run', effect: 'pure' });
  return { ...call, settings: { ...call.settings, ...more } };
};
const invalid = (code: 'validation' | 'tool_not_found' | 'refused'): PreparedCall => {
  const head = { id: 'c', callId: '1.1', tool: 'pay' };
  const result = makeFailure({ ...head, arguments: {} }, { code, message: 'no' }, { timestamp: '' });
  return { kind: 'invalid', ...head, proposed: {}, result };
};
const remote: PreparedCall = { kind: 'remote', callId: '1.1', id: 'c', tool: 'far', taskQueue: 'q', raw: '' };

test.each<[string, PreparedCall[], boolean]>([
  ['a pure call', [pure()], true],
  ['several pure calls', [pure(), pure({ callId: '1.2' })], true],
  ['a call that is not valid, as the model only reads why', [invalid('validation'), pure()], true],
  ['a tool that is not there', [invalid('tool_not_found')], true],
  ['an answer', [], false],
  ['what the policy refuses', [pure(), invalid('refused')], false],
  ['a call that waits for a decision', [pure(), validCall({ kind: 'ask', effect: 'pure' })], false],
  ['a question', [validCall({ question: true, effect: 'pure' })], false],
  ['an idempotent call', [pure(), validCall({ kind: 'run', effect: 'idempotent' })], false],
  ['an unsafe call', [validCall({ kind: 'run', effect: 'unsafe' })], false],
  ['a call that a grant allows', [pure({ grant: { id: 'g', by: 'ann', until: '', times: 1 } })], false],
  ['a call of another queue', [remote], false],
  ['a call on a queue of its own', [settings({ taskQueue: 'q' })], false],
  ['a child turn', [settings({ child: { agent: 'a', outputBytes: 1 } })], false],
  ['a call that shares state', [settings({ state: { scope: 'turn', group: 'g' } })], false],
  ['a call that may ask people', [settings({ askMs: 1000 })], false],
  ['a call that may take long', [settings({ timeoutMs: 700_000 })], false],
  [
    'a call that may take long by its attempts',
    [settings({ retry: { maximumAttempts: 1e6, initialIntervalMs: 1000, backoffCoefficient: 1 } })],
    false,
  ],
])('%s: its reply runs in the burst or ends it', (_, calls, expected) => {
  expect(runsHere({ calls }, NONE)).toBe(expected);
});

test('calls that were asked for too often end a burst: the turn refuses them', () => {
  const calls = [pure()];
  const once = afterStep({ repeated: NONE, repeats: 2 }, calls, ['d']);
  const twice = afterStep({ repeated: once, repeats: 2 }, calls, ['d']);
  expect([once, twice].map((repeated) => runsHere({ calls, repeats: 2 }, repeated))).toEqual([true, false]);
  expect(runsHere({ calls }, twice)).toBe(true);
  expect(runsHere({ calls: [pure({ argsDigest: 'other' })], repeats: 2 }, twice)).toBe(true);
});

test.each<[string, number, Order, number, boolean]>([
  ['one call', 1, 'lane', 1000, true],
  ['one call that is longer', 1, 'lane', 999, false],
  ['as many calls as run at the same time', 16, 'lane', 1000, true],
  ['one more', 17, 'lane', 1999, false],
  ['one more, with the time for two rounds', 17, 'lane', 2000, true],
  ['two calls, one after the other', 2, 'strict', 1999, false],
  ['two calls, with the time for both', 2, 'strict', 2000, true],
  ['no call', 0, 'strict', 0, true],
])('%s fits into the time that is left, or does not', (_, count, order, ms, expected) => {
  const calls = Array.from({ length: count }, () =>
    settings({ timeoutMs: 1000, retry: { maximumAttempts: 1, initialIntervalMs: 1, backoffCoefficient: 1 } }),
  );
  expect(fitInto(ms, { calls: [...calls, invalid('validation')], order })).toBe(expected);
});

type BurstSoFar = Parameters<typeof whyCommit>[0];

const soFar: BurstSoFar = {
  ...{ ms: 10, bytes: 100, size: 100, step: 3, maxSteps: 50, commitMs: 1000 },
  limits: [],
  spent: { tokens: 5, steps: 1, time: 20, money: { EUR: 1 } },
};
const left = (budget: object, spent = { tokens: 0, steps: 0, time: 0 }) => ({ limits: [{ budget, spent }] });

test.each<[string, Partial<BurstSoFar>, ReturnType<typeof whyCommit>]>([
  ['nothing is over', {}, undefined],
  ['just before its time', { ms: 999 }, undefined],
  ['its time is over', { ms: 1000 }, 'time'],
  ['each step is committed', { ms: 0, commitMs: 0 }, 'time'],
  ['just before its size', { bytes: 256 * 1024 - 1 }, undefined],
  ['its size is reached', { bytes: 256 * 1024 }, 'bytes'],
  ['the last step', { step: 50 }, 'steps'],
  ['a forged step after the last', { step: 51 }, 'steps'],
  ['the transcript is full', { size: 1_500_001 }, 'transcript'],
  ['tokens are left', left({ tokens: 6 }), undefined],
  ['tokens are spent', left({ tokens: 5 }), 'budget'],
  ['tokens are spent with those before', left({ tokens: 10 }, { tokens: 5, steps: 0, time: 0 }), 'budget'],
  ['steps are spent', left({ steps: 1 }), 'budget'],
  ['time is spent', left({ time: 20 }), 'budget'],
  ['money is spent', left({ money: 1, currency: 'EUR' }), 'budget'],
  ['money of another currency', left({ money: 1, currency: 'USD' }), undefined],
])('%s: a burst goes on or says why it ends', (_, more, expected) => {
  expect(whyCommit({ ...soFar, ...more })).toBe(expected);
});

test.each([
  [{ initialIntervalMs: 1000, backoffCoefficient: 2 }, [1000, 2000, 4000]],
  [{ initialIntervalMs: 10, backoffCoefficient: 1 }, [10, 10, 10]],
  [{ initialIntervalMs: 10, backoffCoefficient: 100, maximumIntervalMs: 500 }, [10, 500, 500]],
  [{ initialIntervalMs: 10, backoffCoefficient: 1000 }, [10, 1000, 1000]],
])('the waits before attempts 2, 3 and 4 of %j are those of the server', (retry, waits) => {
  const of = { maximumAttempts: 5, ...retry };
  expect([2, 3, 4].map((attempt) => retryWaitMs(of, attempt))).toEqual(waits);
});
