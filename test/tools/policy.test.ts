import type { Safety } from '../../src/contract/tool';
import { askPolicy } from '../../src/tools/policy';
import type { Policy, PolicyCall } from '../../src/tools/types';

const callOf = (safety: Safety): PolicyCall => ({
  agent: 'clerk',
  tool: 'refund',
  safety,
  effect: 'unsafe',
  categories: [],
  arguments: {},
});

const answering = (answer: unknown): Policy => jest.fn().mockReturnValue(answer);

it.each<[Safety, unknown, string]>([
  ['safe', 'run', 'run'],
  ['safe', 'ask', 'ask'],
  ['safe', 'refuse', 'refuse'],
  ['cautious', 'run', 'run'],
  ['cautious', 'ask', 'ask'],
  ['dangerous', 'run', 'ask'],
  ['dangerous', 'ask', 'ask'],
  ['dangerous', 'refuse', 'refuse'],
  ['dangerous', { decision: 'run' }, 'ask'],
  ['safe', Promise.resolve('ask'), 'ask'],
  ['safe', undefined, 'refuse'],
  ['safe', null, 'refuse'],
  ['safe', true, 'refuse'],
  ['safe', 'allow', 'refuse'],
  ['safe', {}, 'refuse'],
  ['safe', { decision: 'run', reason: 7 }, 'refuse'],
  ['safe', ['run'], 'refuse'],
])('a %s call and the answer %j: %s', async (safety, answer, decision) => {
  expect(await askPolicy(answering(answer), callOf(safety))).toMatchObject({ decision });
});

it.each([
  ['safe', 'run'],
  ['cautious', 'run'],
  ['dangerous', 'ask'],
] as const)('without a policy a %s call is: %s', async (safety, decision) => {
  expect(await askPolicy(undefined, callOf(safety))).toEqual({ decision });
});

it('passes its reason on, cut', async () => {
  const verdict = await askPolicy(
    () => ({ decision: 'refuse', reason: 'x'.repeat(100_000) }),
    callOf('safe'),
  );
  expect(verdict.reason?.length).toBeLessThan(5000);
});

it.each([
  [
    'throws',
    () => {
      throw new Error('password=hunter2');
    },
  ],
  ['rejects', () => Promise.reject(new Error('password=hunter2'))],
] as [string, Policy][])('refuses when it %s, and says so without the words', async (_, policy) => {
  const { cause, ...verdict } = await askPolicy(policy, callOf('safe'));
  expect(verdict).toEqual({ decision: 'refuse', reason: 'the policy could not decide' });
  expect(cause).toBeInstanceOf(Error);
});
