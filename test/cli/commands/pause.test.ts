import type { Pause } from '../../../src/client';
import { addInbox } from '../../../src/cli/commands/inbox';
import { addPause, addResume, pauseLine } from '../../../src/cli/commands/pause';
import { runCommand } from '../command';
import { AT, NOW } from '../support';

const PAUSE: Pause = { id: 'p', at: AT, by: 'ann', reason: 'an incident', tool: 'pay' };

it('pauses, says that it is in effect, and how it ends', async () => {
  const answers = { pause: { pause: PAUSE } };
  const { printed, asked } = await runCommand(
    addPause,
    answers,
    ...['pause', '--tool', 'pay', '--models', '--reason', 'an incident', '--as', 'ann'],
  );
  expect(asked).toEqual([['pause', { tool: 'pay', models: true, reason: 'an incident', by: 'ann' }]]);
  expect(printed).toEqual(['In effect: every worker holds calls of pay', 'End it: cs resume --tool "pay"']);
});

it('says what holds already', async () => {
  const answers = { pause: { pause: PAUSE, already: true } };
  const { printed } = await runCommand(addPause, answers, 'pause', '--tool', 'pay', '--reason', 'x');
  expect(printed[0]).toMatch(/^It was paused: calls of pay, by ann .*: an incident$/);
});

it.each([
  ['no reason', ['--tool', 'pay'], /--reason is missing/],
  ['a blank reason', ['--reason', ' '], /--reason is missing/],
])('refuses %s', async (_case, args, message) => {
  await expect(runCommand(addPause, {}, 'pause', ...args)).rejects.toThrow(message);
});

it.each([
  ['nothing', { control: 'open', pauses: [] }, [/^Nothing is paused; --reason makes a pause\.$/]],
  ['a pause', { control: 'open', pauses: [PAUSE] }, [/^paused: calls of pay, by ann/]],
  [
    'that none was ever there',
    { control: 'absent', pauses: [] },
    [/^Nothing is paused; --reason makes a pause\.$/],
  ],
  [
    'that nothing may start',
    { control: 'closed', pauses: [] },
    [/was closed: no call .*countersign doctor --setup/],
  ],
])('lists %s', async (_case, pauses, lines) => {
  const { printed } = await runCommand(addPause, { pauses }, 'pause');
  expect(printed).toEqual(lines.map((line) => expect.stringMatching(line)));
});

it('ends a pause', async () => {
  const args = ['resume', '--tool', 'pay', '--as', 'bob', '--reason', 'over'];
  const { printed, asked } = await runCommand(addResume, { resume: [PAUSE] }, ...args);
  expect(asked).toEqual([['resume', { by: 'bob', tool: 'pay', reason: 'over' }]]);
  expect(printed).toEqual([expect.stringMatching(/^No longer paused: calls of pay, by ann/)]);
});

it('refuses --all beside a scope', async () => {
  await expect(runCommand(addResume, {}, 'resume', '--all', '--tool', 'pay')).rejects.toThrow(
    /--tool and --all exclude/,
  );
});

it('stands above the inbox', async () => {
  const pauses = { control: 'open', pauses: [PAUSE] };
  const { printed } = await runCommand(addInbox, { pauses, inbox: [] }, 'inbox');
  expect(printed).toEqual([expect.stringMatching(/^paused: calls of pay/), 'Nothing waits for a person.']);
});

it('shows a hostile reason as what it is', () => {
  const line = pauseLine({ ...PAUSE, reason: 'fine\u202e\u001b[2J\nNothing is paused', by: 'a\u0000b' }, NOW);
  expect(line).not.toMatch(/[\u202e\u001b\n\u0000]/);
  expect(line).toContain('⟦U+202E⟧');
});
