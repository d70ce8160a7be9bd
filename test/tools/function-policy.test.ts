import type { Safety } from '../../src/contract/tool';
import { createCallLog, type CallLog } from '../../src/tools/call-log';
import { askPolicy, NOTHING_RAN, policyRefusal, type PolicyVerdict } from '../../src/tools/function-policy';
import type { Policy } from '../../src/tools/types';
import { keepLines, makeTool } from './support';

const ask = (policy: Policy | undefined, safety: Safety, log?: CallLog) =>
  askPolicy(
    { agent: 'clerk', policy, log },
    { tool: makeTool({ name: 'refund', safety }), args: { cents: 7 }, value: { cents: 7 } },
  );

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
  expect(await ask(answering(answer), safety)).toMatchObject({ decision });
});

it.each([
  ['safe', 'run'],
  ['cautious', 'run'],
  ['dangerous', 'ask'],
] as const)('without a policy a %s call is: %s', async (safety, decision) => {
  expect(await ask(undefined, safety)).toEqual({ decision });
});

it('passes its reason on, cut', async () => {
  const verdict = await ask(() => ({ decision: 'refuse', reason: 'x'.repeat(100_000) }), 'safe');
  expect(verdict.reason?.length).toBeLessThan(5000);
});

it.each<[string, Policy]>([
  [
    'throws',
    () => {
      throw new Error('password=hunter2');
    },
  ],
  ['rejects', () => Promise.reject(new Error('password=hunter2'))],
])('refuses when it %s, and says why in the log only, without secrets', async (_, policy) => {
  const logger = keepLines();
  const verdict = await ask(policy, 'safe', createCallLog(logger));
  expect(verdict).toEqual({ decision: 'refuse', reason: 'the policy could not decide' });
  expect(logger.lines).toEqual(['the policy failed on refund: password=[redacted]']);
});

it('sees the agent, the tool and the arguments, as a copy', async () => {
  const args = { cents: 7 };
  const seen: unknown[] = [];
  const policy: Policy = (call) => {
    seen.push({ ...call, arguments: { ...call.arguments } });
    call.arguments['cents'] = 700;
    return 'run';
  };
  const tool = makeTool({ name: 'refund', categories: ['money'] });
  await askPolicy({ agent: 'clerk', policy }, { tool, args, value: args });
  expect(seen).toEqual([
    {
      agent: 'clerk',
      tool: 'refund',
      safety: 'safe',
      effect: 'pure',
      categories: ['money'],
      arguments: { cents: 7 },
    },
  ]);
  expect(args).toEqual({ cents: 7 });
});

it.each<[string, PolicyVerdict, string, string]>([
  ['a reason', { decision: 'refuse', reason: 'not today' }, '', 'Policy refused this call: not today.'],
  [
    'no reason, before anything ran',
    { decision: 'refuse' },
    NOTHING_RAN,
    'Policy refused this call: no reason was given. Nothing ran.',
  ],
])('a refusal with %s', (_, verdict, rest, message) => {
  expect(policyRefusal(verdict, rest)).toEqual({ code: 'refused', message });
});
