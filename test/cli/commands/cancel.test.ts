import { addCancel } from '../../../src/cli/commands/cancel';
import { runCommand } from '../command';
import { AT, turn } from '../support';

it.each<[name: string, args: string[], ended: string | null, asked: unknown[][], printed: string[]]>([
  [
    'asks an open turn to end',
    ['--reason', 'wrong order'],
    null,
    [['cancel', 't-1', 'wrong order']],
    ['t-1 was asked to end; running calls are waited for', 'Follow it: cs show t-1 --follow'],
  ],
  [
    'gives a turn up',
    ['--abandon', '--as', 'ann'],
    null,
    [['abandon', 't-1', { approver: 'ann' }]],
    ['t-1 is given up'],
  ],
  ['leaves a turn that has ended', [], AT, [], ['t-1 had ended already: timed out']],
  ['says so as JSON', ['--json'], AT, [], ['{"turn":"t-1","abandoned":false,"ended":"timed_out"}']],
])('%s', async (_name, args, endedAt, asked, printed) => {
  const view = turn([], { endedAt, status: endedAt === null ? 'running' : 'timed_out' });
  const run = await runCommand(addCancel, { view }, 'cancel', 't-1', ...args);
  expect(run).toEqual({ code: 0, printed, asked: [['view', 't-1'], ...asked] });
});
