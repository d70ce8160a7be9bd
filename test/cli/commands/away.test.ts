import { Command } from 'commander';
import type { Away, AwayAsked, BackAsked } from '../../../src/client';
import { addAway, addBack } from '../../../src/cli/commands/away';
import { testScreen } from '../support';
import { clientWith } from './away-client';

const ENTRY: Away = {
  ...{ id: '0a1b2c3d-0000-4000-8000-000000000001', from: 'dora', to: 'xena', reason: 'rest\u202e' },
  ...{ start: '2026-11-25T12:00:00.000Z', end: '2126-11-25T12:00:00.000Z' },
  ...{ at: '2026-11-25T12:00:00.000Z', takenAt: '2026-11-25T12:00:00.000Z' },
};

interface Ran {
  printed: string[];
  put: AwayAsked[];
  ended: BackAsked[];
}

async function run(entries: Away[], ...args: string[]): Promise<Ran> {
  const screen = testScreen();
  const { client, put, ended } = clientWith(entries);
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  for (const add of [addAway, addBack])
    add(program, {
      ...{ screen, env: {}, keyboard: undefined, options: () => ({}), exitWith: () => undefined },
      withClient: (use) => use(client),
      command: (line) => `cs ${line}`,
      typed: (sentence) => sentence,
    });
  await program.parseAsync(args, { from: 'user' });
  return { printed: screen.printed, put, ended };
}

it.each<[string, Away[], RegExp]>([
  ['nobody', [], /^Nobody is away\.$/],
  ['who is', [ENTRY], /dora +xena .*unsigned +rest⟦U\+202E⟧/],
])('lists %s', async (_case, entries, lines) => {
  expect((await run(entries, 'away')).printed.join('\n')).toMatch(lines);
});

it('prints JSON', async () => {
  expect(JSON.parse((await run([ENTRY], 'away', '--json')).printed.join('\n'))).toEqual({ entries: [ENTRY] });
});

it.each<[string, string[], (put: AwayAsked) => number, number]>([
  ['for 3 days', ['--until', '3d'], ({ start, end }) => Date.parse(end) - Date.parse(start), 3 * 86_400_000],
  [
    'from a day on',
    ['--from', '2026-12-24', '--until', '2d'],
    ({ start, end }) => Date.parse(end) - Date.parse(start),
    2 * 86_400_000,
  ],
  [
    'until a moment',
    ['--until', '2126-12-24T08:00:00Z'],
    ({ end }) => Date.parse(end),
    Date.parse('2126-12-24T08:00:00.000Z'),
  ],
])('says that somebody is away %s', async (_case, args, of, expected) => {
  const { put, printed } = await run([], 'away', '--to', 'xena', '--as', 'dora', '--reason', 'rest', ...args);
  expect(put).toMatchObject([{ from: 'dora', to: 'xena', reason: 'rest' }]);
  expect(put.map(of)).toEqual([expected]);
  expect(printed.join('\n')).toMatch(
    /dora is away.*xena votes in their place\n.*not signed.*\nEnd it: cs back/,
  );
});

it.each([
  ['no end', ['away', '--to', 'xena']],
  ['no delegate', ['away', '--until', '3d']],
  ['a reason alone', ['away', '--reason', 'rest']],
  ['a time that is none', ['away', '--to', 'xena', '--until', 'soon']],
  ['a day that is none', ['away', '--to', 'xena', '--until', '2026-02-99']],
])('refuses %s', async (_case, args) => {
  await expect(run([], ...args)).rejects.toMatchObject({ code: 'usage' });
});

it('ends the first one of somebody, and says where there is none', async () => {
  const later = { ...ENTRY, id: '0a1b2c3d-0000-4000-8000-000000000002', start: '2026-12-25T12:00:00.000Z' };
  const { ended, printed } = await run([later, ENTRY], 'back', 'DORA', '--as', 'ed');
  expect(ended).toEqual([{ id: ENTRY.id, by: 'ed' }]);
  expect(printed).toEqual(['dora is back; xena no more votes in their place']);
  await expect(run([], 'back', '--as', 'ed')).rejects.toMatchObject({ code: 'away_not_found' });
});
