import { addDeny } from '../../../src/cli/commands/deny';
import { runCommand } from '../command';
import { call, turn } from '../support';

const accepted = {
  status: 'accepted',
  verdict: { accepted: true, callId: '1.1', decision: 'denied', approver: 'ann' },
};
const deny = (...args: string[]) =>
  runCommand(addDeny, { view: turn([call()]), decide: accepted }, 'deny', ...args);

it('denies a call with the reason and what was seen', async () => {
  const { printed, asked } = await deny('t-1/1', '--reason', 'not yet', '--as', 'ann');
  expect(printed).toEqual(['t-1/1.1 denied by ann']);
  expect(asked[1]).toMatchObject([
    'decide',
    't-1',
    { callId: '1.1', callKey: 'key:1.1', decision: 'denied', reason: 'not yet', approver: 'ann' },
  ]);
});

it('says what the model should do instead', async () => {
  const { asked } = await deny('t-1/1', '--reason', 'too much', '--suggest', 'Pay 5');
  expect(asked[1]).toMatchObject(['decide', 't-1', { reason: 'too much', suggestion: 'Pay 5' }]);
});

it.each<[name: string, args: string[], code: string]>([
  ['a turn without a call', ['t-1', '--reason', 'x'], 'usage'],
  ['a call that is not there', ['t-1/9.9', '--reason', 'x'], 'not_found'],
  ['an empty reason', ['t-1/1.1', '--reason', ' '], 'usage'],
  ['options of a batch without --all', ['t-1/1.1', '--reason', 'x', '--tool', 'pay'], 'usage'],
  ['a suggestion for many', ['--reason', 'x', '--suggest', 'y', '--all', '--tool', 'pay'], 'usage'],
  ['a call and --all', ['t-1/1.1', '--reason', 'x', '--all'], 'usage'],
  ['--all that chooses nothing', ['--reason', 'x', '--all'], 'usage'],
])('refuses %s', async (_name, args, code) => {
  await expect(deny(...args)).rejects.toMatchObject({ code });
});
