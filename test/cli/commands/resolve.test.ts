import { addResolve } from '../../../src/cli/commands/resolve';
import { runCommand } from '../command';
import { call, turn } from '../support';

const recorded = { status: 'recorded' };
const resolve = (...args: string[]) =>
  runCommand(
    addResolve,
    { view: turn([call({ phase: 'in_doubt' })]), resolve: recorded },
    'resolve',
    ...args,
  );

it('sends what happened, and what the call returned', async () => {
  const { printed, asked } = await resolve(
    ...['t-1/1.1', 'happened', '--reason', 'the bank says so', '--content', 'paid', '--as', 'ann'],
  );
  expect(printed).toEqual([
    expect.stringContaining('t-1/1.1 recorded; it takes effect if a worker takes it up'),
  ]);
  expect(asked[1]).toMatchObject([
    'resolve',
    't-1',
    { callId: '1.1', resolution: 'happened', reason: 'the bank says so', content: 'paid', approver: 'ann' },
  ]);
});

it.each<[name: string, args: string[], code: string]>([
  ['content of a call that did not happen', ['t-1/1.1', 'did-not', '--content', 'x'], 'usage'],
  ['an outcome that does not exist', ['t-1/1.1', 'maybe'], 'commander.invalidArgument'],
  ['a turn without a call', ['t-1', 'happened'], 'usage'],
])('refuses %s', async (_name, args, code) => {
  await expect(resolve(...args, '--reason', 'x')).rejects.toMatchObject({ code });
});
