import { Command } from 'commander';
import type { GrantSeen } from '../../../src/client';
import { addGrants } from '../../../src/cli/commands/grants';
import { termsDigest } from '../../../src/authority/grants/confirmations';
import { exactly } from '../../../src/authority/grants/narrowing';
import { testContext } from '../command';
import { testScreen } from '../support';
import { grantsClient } from './grants-client';
import type { Assurance } from '../../../src/contract/authority';

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
  confirmed: unknown[];
}

async function run(grants: GrantSeen[], ...args: string[]): Promise<Ran> {
  const screen = testScreen();
  const { client, revoked, confirmed } = grantsClient(grants);
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addGrants(program, testContext(client, screen, { program }));
  await program.parseAsync(['grants', ...args], { from: 'user' });
  return { printed: screen.printed, revoked, confirmed };
}

it.each([
  ['what there is', [GRANT], [/^0a1b2c3d {2}clerk {2}pay {2}1 of 3 used, ends .* by ann$/]],
  ['nothing', [], [/^There are no grants\.$/]],
])('lists %s', async (_case, grants, lines) => {
  const { printed } = await run(grants);
  expect(printed).toEqual(lines.map((line) => expect.stringMatching(line)));
});

it('shows one, with a hostile reason as what it is', async () => {
  const { printed } = await run([GRANT, OTHER], '0a1b2c3d');
  const text = printed.join('\n');
  expect(text).toMatch(/Allows clerk to run pay with cents up to 5000, and no other argument/);
  expect(text).toMatch(/given by ann at 2026-11-25T12:00:00.000Z, unsigned\n *1 of 3 uses claimed/);
  expect(text).not.toContain('\u202e');
  expect(text).toContain('⟦U+202E⟧');
});

describe('a grant for exact arguments', () => {
  const people = ['ann', 'bob'].map((name) => ({ name, groups: [], delegates: [] }));
  const exact: GrantSeen = {
    ...GRANT,
    narrowing: exactly({ cents: 5, to: 'x'.repeat(400), note: 'to\u202e eve' }),
    authority: {
      ...{ fileDigest: 'f', ruleDigest: 'r', requesters: [], people },
      rule: {
        ...{ name: 'large', then: 'ask', rosters: [['ann', 'bob']], need: 2, groups: [] },
        ...{ notRequester: false, denyNeeds: 1, assurance: 'claimed' },
      },
    },
  };
  const saw = termsDigest(exact).slice(0, 32);

  it.each([
    ['show', ['0a1b2c3d']],
    ['confirm', ['0a1b2c3d', '--confirm', '--as', 'bob', '--saw', saw]],
  ])('%s names the arguments, because nobody else shows them', async (_case, args) => {
    const text = (await run([exact], ...args)).printed.join('\n');
    expect(text).toMatch(/with exactly these arguments/);
    expect(text).toMatch(/cents = 5\n/);
    expect(text).toMatch(/to exactly as it was \(SHA-256 [0-9a-f]{16}\)\n/);
    expect(text).toContain('note = "to⟦U+202E⟧ eve"');
  });
});

it('prints JSON', async () => {
  expect(JSON.parse((await run([GRANT], '--json')).printed.join('\n'))).toEqual({ grants: [GRANT] });
});

it.each<[string, string[], object]>([
  ['one, by the beginning of its id', ['0a1b2c3d', '--as', 'bob'], { by: 'bob', id: GRANT.id }],
  ['all, with a reason', ['--all', '--as', 'bob', '--reason', 'over'], { by: 'bob', reason: 'over' }],
])('revokes %s', async (_case, args, asked) => {
  const { printed, revoked } = await run([GRANT, OTHER], '--revoke', ...args);
  expect(revoked).toEqual([asked]);
  expect(printed[0]).toBe(`Revoked ${GRANT.id} of ann`);
});

it.each<[string, string[], RegExp]>([
  ['neither one nor all', ['--revoke'], /name one grant, or --all/],
  ['one and all', ['0a1b2c3d', '--revoke', '--all'], /name one grant, or --all/],
  ['no grant to confirm', ['--confirm'], /name the grant to confirm/],
  ['a reason that would be lost', ['0a1b2c3d', '--confirm', '--reason', 'ok'], /--reason goes with --revoke/],
  ['all of what is only looked at', ['--all'], /--all goes with --revoke/],
  ['a signature under nothing', ['0a1b2c3d', '--sign'], /--sign goes with --confirm/],
  ['what was seen of what is revoked', ['0a1b2c3d', '--revoke', '--saw', 'a'], /--saw goes with --confirm/],
  ['both at once', ['0a1b2c3d', '--confirm', '--revoke'], /exclude each other/],
  ['one that is not there', ['ffff', '--revoke'], /there is no grant ffff/],
  ['the beginning of two', ['0a1b'], /the beginning of 2 grants/],
])('refuses %s', async (_case, args, why) => {
  await expect(run([GRANT, OTHER], ...args)).rejects.toThrow(why);
});

describe('a grant that takes two people', () => {
  const people = ['ann', 'bob', 'carl'].map((name) => ({ name, groups: [], delegates: [] }));
  const two = (assurance: Assurance = 'claimed'): GrantSeen => ({
    ...GRANT,
    authority: {
      ...{ fileDigest: 'f', ruleDigest: 'r', requesters: [], people },
      rule: {
        ...{ name: 'large', then: 'ask', rosters: [['ann', 'bob', 'carl']], need: 2, groups: [] },
        ...{ notRequester: false, denyNeeds: 1, assurance },
      },
    },
  });
  const saw = termsDigest(GRANT).slice(0, 32);

  it('is listed and shown as what waits, and for whom', async () => {
    expect((await run([two()])).printed).toEqual([expect.stringMatching(/by ann {2}waits to be confirmed$/)]);
    const text = (await run([two()], '0a1b2c3d')).printed.join('\n');
    expect(text).toMatch(
      /Until it is confirmed it allows nothing: the rule 'large' needs 1 more of: bob, carl\./,
    );
    expect(text).toContain(`--saw ${saw}`);
  });

  it('is confirmed by who says what they saw', async () => {
    const args = ['0a1b2c3d', '--confirm', '--as', 'BOB', '--saw', saw];
    const { printed, confirmed } = await run([two()], ...args);
    expect(confirmed).toEqual([
      { id: GRANT.id, voter: 'bob', at: expect.any(String), seenDigest: termsDigest(GRANT) },
    ]);
    expect(printed.join('\n')).toMatch(
      /Allows clerk to run pay with cents up to 5000.*\n.*\n*Confirmed .* It holds\./s,
    );
  });

  it.each<[string, GrantSeen, string[], RegExp]>([
    ['who gave it', two(), ['--as', 'ann', '--saw', saw], /ann gave it/],
    ['a stranger', two(), ['--as', 'eve', '--saw', saw], /eve is not named.*these may: bob, carl/],
    ['who saw another one', two(), ['--as', 'bob', '--saw', '0'.repeat(32)], /is not what you saw/],
    ['who says no digest', two(), ['--as', 'bob', '--saw', 'yes'], /not a digest/],
    ['who saw nothing', two(), ['--as', 'bob'], /there is no terminal/],
    ['who does not sign', two('signed'), ['--as', 'bob', '--saw', saw], /wants decisions signed/],
    ['anybody where nobody has to', GRANT, ['--as', 'bob', '--saw', saw], /nobody has to confirm it/],
  ])('is not confirmed by %s', async (_case, grant, args, why) => {
    await expect(run([grant], '0a1b2c3d', '--confirm', ...args)).rejects.toThrow(why);
  });
});
