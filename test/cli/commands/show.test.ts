import { addShow } from '../../../src/cli/commands/show';
import { runCommand } from '../command';
import { call, turn } from '../support';

const changedTools = [{ callId: '1.1', now: 'gone' }];
const show = (...args: string[]) =>
  runCommand(addShow, { view: turn([call()]), changedTools }, 'show', ...args);

it('shows a call in full, with a tool that is gone and what decides it', async () => {
  const { printed } = await show('t-1/1.1');
  const text = printed.join('\n');
  expect(text).toContain('the tool pay is not there any more');
  expect(text).toContain('cs approve t-1/1.1 --saw 0123456789abcdef');
});

it('prints a call as JSON', async () => {
  const { printed } = await show('t-1/1.1', '--json');
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ callId: '1.1', phase: 'requested' });
});

it.each<[name: string, target: string, code: string]>([
  ['a call that is not there', 't-1/7', 'call_not_found'],
  ['more than a turn and a call', 't-1/1/1', 'usage'],
])('refuses %s', async (_name, target, code) => {
  await expect(show(target)).rejects.toMatchObject({ code });
});
