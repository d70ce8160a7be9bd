import { randomUUID } from 'node:crypto';
import { useCliWorker } from '../cli-worker';
import { until } from '../../support/until';
import { approveSeen } from '../saw';

const queue = `reset-cli-${randomUUID()}`;
let turn: string;

const CONFIG = `
import { defineAgent, defineConfig, defineTool, scriptedModel } from 'countersign';

const tool = (name: string, safety: 'safe' | 'dangerous') =>
  defineTool({ name, description: name, safety, parameters: { type: 'object' }, handler: () => name + ' did it' });
const model = scriptedModel([{ toolCalls: [{ name: 'look' }, { name: 'pay' }] }, { text: 'done' }]);

export default defineConfig({
  agents: [
    defineAgent({ name: 'payer', instructions: 'Pay.', model, tools: [tool('look', 'safe'), tool('pay', 'dangerous')] }),
  ],
  taskQueue: '${queue}',
});
`;

const { cli } = useCliWorker(CONFIG);
const status = async (): Promise<string> => {
  const view: { status: string } = JSON.parse((await cli('show', turn, '--json')).out);
  return view.status;
};

beforeAll(async () => {
  turn = `reset-cli-${randomUUID()}`;
  await cli('run', 'payer', 'pay', '--queue', queue, '--id', turn, '--wait', '0');
  await approveSeen(cli, `${turn}/1.2`);
  await until('its end', async () => (await status()) === 'answered');
});

test('without a yes it is shown and not done', async () => {
  const { code, out, err } = await cli('reset', turn, '--before', '1.2');
  expect(code).toBe(2);
  expect(out.split('\n')).toEqual([
    `${turn} goes back to before 1.2`,
    'CALL  TOOL  AFTERWARDS',
    '1.1   look  runs again',
    '1.2   pay   waits for a decision; it ran already, so then in doubt',
    '',
  ]);
  expect(err).toContain('add --yes');
  expect(await status()).toBe('answered');
});

test.each<[string, string[], number, string]>([
  ['a call that is not there', ['--before', '3.1', '--yes'], 4, 'has no call 3.1'],
  ['no call', ['--yes'], 2, "'--before <call>' not specified"],
])('%s', async (_, options, code, words) => {
  expect(await cli('reset', turn, ...options)).toMatchObject({ code, err: expect.stringContaining(words) });
});

test('with a yes it is done: the call waits for a new decision', async () => {
  const { code, out } = await cli(
    'reset',
    turn,
    '--before',
    '1.2',
    '--yes',
    '--reason',
    'too early',
    '--json',
  );
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    turn,
    plan: { before: '1.2', calls: [{}, { outcome: 'asked_again' }] },
  });
  await until('the request', async () => (await status()) === 'waiting');
  expect(await cli('reset', turn, '--before', '1.2', '--yes')).toMatchObject({
    code: 3,
    err: expect.stringContaining('1.2 waits for a decision as it is'),
  });
  expect((await cli('show', turn)).out).toContain('went back to before 1.2: too early');
  await cli('deny', `${turn}/1.2`, '--reason', 'no');
  await until('its end', async () => (await status()) === 'answered');
});
