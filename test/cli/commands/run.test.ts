import { userInfo } from 'node:os';
import { addRun } from '../../../src/cli/commands/run';
import { runCommand } from '../command';

const start = { turn: 't-1', runId: 'r-1' };
const run = (...args: string[]) => runCommand(addRun, { start }, 'run', 'clerk', ...args);

it.each<[name: string, args: string[], printed: string]>([
  ['its id', [], 't-1'],
  ['both ids as JSON', ['--json'], '{"turn":"t-1","runId":"r-1"}'],
])('only starts a turn of the system’s user with --detach, and prints %s', async (_name, args, printed) => {
  const found = await run('pay ann', '--detach', '--queue', 'other', ...args);
  expect(found).toEqual({
    code: 0,
    printed: [printed],
    asked: [
      ['start', { agent: 'clerk', prompt: 'pay ann', taskQueue: 'other', requester: userInfo().username }],
    ],
  });
});

it('takes what comes first in a backlog', async () => {
  const words = ['key=4', 'fairness-key=acme=eu', 'fairness-weight=0.5'].flatMap((one) => [
    '--priority',
    one,
  ]);
  const { asked } = await run('pay ann', '--detach', ...words);
  const priority = { priorityKey: 4, fairnessKey: 'acme=eu', fairnessWeight: 0.5 };
  expect(asked).toEqual([['start', expect.objectContaining({ priority })]]);
});

it.each([
  ['a priority of another name', ['pay', '--priority', 'weight=2']],
  ['a budget with more after its amount', ['pay', '--budget', 'money=2=9']],
  ['--detach with --wait', ['pay', '--detach', '--wait', '1m']],
  ['a time that is not one', ['pay', '--wait', 'soon']],
  ['a prompt of a file that is not there', ['@/no/such/file']],
])('refuses %s', async (_name, args) => {
  await expect(run(...args)).rejects.toMatchObject({ code: 'usage' });
});
