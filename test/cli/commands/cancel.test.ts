import { addCancel } from '../../../src/cli/commands/cancel';
import { CountersignError } from '../../../src/contract/errors';
import { runCommand } from '../command';
import { AT, turn } from '../support';

const none = async () => Promise.reject(new CountersignError('not_found', 'there is no such session'));

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
  const run = await runCommand(
    addCancel,
    { view, session: () => ({ history: none }) },
    'cancel',
    't-1',
    ...args,
  );
  expect(run).toEqual({ code: 0, printed, asked: [['view', 't-1'], ...asked] });
});

describe('a session', () => {
  const closed: unknown[] = [];
  const session = (id: string) => ({
    history: async () => ({ session: id }),
    close: async (how: unknown) => void closed.push(how),
  });
  const cancel = (...args: string[]) =>
    runCommand(addCancel, { session }, 'cancel', 's-1', '--as', 'ann', ...args);

  it.each<[name: string, args: string[], how: object, printed: string]>([
    ['ends with its running turn', [], { cancel: true, sender: 'ann' }, 's-1 takes no more messages'],
    [
      'ends after its running turn, with a reason',
      ['--finish', '--reason', 'done', '--json'],
      { cancel: false, sender: 'ann', reason: 'done' },
      '{"session":"s-1","cancel":false}',
    ],
  ])('%s', async (_name, args, how, printed) => {
    closed.length = 0;
    expect((await cancel(...args)).printed).toEqual([printed]);
    expect(closed).toEqual([how]);
  });

  it('is not given up, and a turn has nothing to finish', async () => {
    await expect(cancel('--abandon')).rejects.toMatchObject({ code: 'usage' });
    const turn = runCommand(addCancel, { session: () => ({ history: none }) }, 'cancel', 't-1', '--finish');
    await expect(turn).rejects.toMatchObject({ code: 'usage' });
  });
});
