import { Command } from 'commander';
import type { GrantSeen } from '../../../src/client';
import { addGrants } from '../../../src/cli/commands/grants';
import { testScreen } from '../support';
import { grantsClient } from './grants-client';

const GRANT: GrantSeen = {
  id: '0a1b2c3d-0000-4000-8000-000000000001',
  ...{ agent: 'clerk', tool: 'pay', toolDigest: 'a'.repeat(64), ruleDigest: '', policyDigest: '' },
  narrowing: { cents: { is: 'range', max: 5000 } },
  ...{ times: 3, used: 1, by: 'ann', reason: 'due\u202e' },
  ...{
    at: '2026-11-25T12:00:00.000Z',
    until: '2126-11-25T12:00:00.000Z',
    takenAt: '2026-11-25T12:00:00.000Z',
  },
};
const OTHER: GrantSeen = { ...GRANT, id: '0a1b2c3e-0000-4000-8000-000000000002', tool: 'note' };

interface Ran {
  printed: string[];
  revoked: unknown[];
}

async function run(grants: GrantSeen[], ...args: string[]): Promise<Ran> {
  const screen = testScreen();
  const { client, revoked } = grantsClient(grants);
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addGrants(program, {
    ...{ screen, env: {}, keyboard: undefined, options: () => ({}) },
    withClient: (use) => use(client),
    command: (line) => `cs ${line}`,
    typed: (sentence) => sentence,
  });
  await program.parseAsync(['grants', ...args], { from: 'user' });
  return { printed: screen.printed, revoked };
}

it.each([
  ['what there is', [GRANT], [/^0a1b2c3d {2}clerk {2}pay {2}1 of 3 used, ends .* by ann$/]],
  ['nothing', [], [/^There are no grants\.$/]],
])('lists %s', async (_case, grants, lines) => {
  const { printed } = await run(grants, 'list');
  expect(printed).toEqual(lines.map((line) => expect.stringMatching(line)));
  expect((await run(grants)).printed).toEqual(printed);
});

it('shows one, with a hostile reason as what it is', async () => {
  const { printed } = await run([GRANT, OTHER], 'show', '0a1b2c3d');
  const text = printed.join('\n');
  expect(text).toMatch(/Allows clerk to run pay with cents up to 5000, and no other argument/);
  expect(text).toMatch(/given by ann at 2026-11-25T12:00:00.000Z, unsigned\n *1 of 3 uses claimed/);
  expect(text).not.toContain('\u202e');
  expect(text).toContain('⟦U+202E⟧');
});

it('prints JSON', async () => {
  expect(JSON.parse((await run([GRANT], 'list', '--json')).printed.join('\n'))).toEqual({ grants: [GRANT] });
});

it.each<[string, string[], object]>([
  ['one, by the beginning of its id', ['0a1b2c3d', '--as', 'bob'], { by: 'bob', id: GRANT.id }],
  ['all, with a reason', ['--all', '--as', 'bob', '--reason', 'over'], { by: 'bob', reason: 'over' }],
])('revokes %s', async (_case, args, asked) => {
  const { printed, revoked } = await run([GRANT, OTHER], 'revoke', ...args);
  expect(revoked).toEqual([asked]);
  expect(printed[0]).toBe(`Revoked ${GRANT.id} of ann`);
});

it.each<[string, string[], RegExp]>([
  ['neither one nor all', ['revoke'], /name one grant, or --all/],
  ['one and all', ['revoke', '0a1b2c3d', '--all'], /name one grant, or --all/],
  ['one that is not there', ['revoke', 'ffff'], /there is no grant ffff/],
  ['the beginning of two', ['show', '0a1b'], /the beginning of 2 grants/],
])('refuses %s', async (_case, args, why) => {
  await expect(run([GRANT, OTHER], ...args)).rejects.toThrow(why);
});
