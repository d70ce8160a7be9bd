import type { Drained } from '../../../src/client';
import { addDeploy, drainedLine } from '../../../src/cli/commands/deploy';
import { runCommand } from '../command';

it.each<[Drained, string]>([
  [{ id: 't', outcome: 'moved' }, 't moved'],
  [{ id: 't', outcome: 'ended' }, 't ended'],
  [
    { id: 's', outcome: 'held', why: 'busy', reason: 'its turn s.t1 is open' },
    's is held: its turn s.t1 is open',
  ],
  [
    { id: 't\u001b[2J', outcome: 'held', why: 'busy', reason: 'a\u001b[2Jb' },
    't\\x1b[2J is held: a\\x1b[2Jb',
  ],
])('%j is printed as: %s', (drained, line) => {
  expect(drainedLine(drained)).toBe(line);
});

const builds = { current: '1' };
const deploy = (...args: string[]) => runCommand(addDeploy, { builds }, 'deploy', ...args);

it('makes a build current, and says how to move what waits on the one before', async () => {
  const { printed, asked } = await deploy('2', '--deployment', 'shop');
  expect(asked).toEqual([
    ['builds', 'shop'],
    ['makeCurrent', { build: '2', deployment: 'shop' }],
  ]);
  expect(printed).toEqual([
    '2 is the current build; new turns begin on it',
    'Move what waits on 1: cs deploy --drain 1 --deployment shop',
  ]);
});

it('says as JSON which build was current before', async () => {
  expect((await deploy('2', '--json')).printed).toEqual(['{"current":"2","before":"1"}']);
});

it('refuses to do nothing', async () => {
  await expect(deploy()).rejects.toMatchObject({ code: 'usage' });
});
