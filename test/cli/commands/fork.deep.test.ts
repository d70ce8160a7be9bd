import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Client } from '@temporalio/client';
import { useCliWorker } from '../cli-worker';
import { testConnection } from '../../support/server';
import { until } from '../../support/until';
import { approveSeen } from '../saw';

const queue = `fork-cli-${randomUUID()}`;

/** Pays what it is asked to, writes down that it did, and tells what the payment said. */
const CONFIG = `
import { appendFileSync } from 'node:fs';
import { defineAgent, defineConfig, defineTool, scriptedModel } from 'countersign';
import { z } from 'zod';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  safety: 'dangerous',
  parameters: z.object({ amount: z.number().max(100) }),
  handler: ({ amount }) => {
    appendFileSync('effects', 'pay ' + amount + '\\n');
    return 'paid ' + amount;
  },
});

const model = (id: string) =>
  scriptedModel(
    [
      { toolCalls: [{ name: 'pay', arguments: { amount: 10 } }] },
      ({ messages }) => ({ text: id + ' heard: ' + messages.at(-1)?.content }),
    ],
    { id },
  );

export default defineConfig({
  agents: [
    defineAgent({
      name: 'payer',
      instructions: 'Pay.',
      model: model('first'),
      models: { other: model('other') },
      tools: [pay],
    }),
  ],
  taskQueue: '${queue}',
});
`;

const { cli, directory } = useCliWorker(CONFIG);

let turn: string;

beforeAll(async () => {
  turn = `fork-cli-${randomUUID()}`;
  await cli('run', 'payer', 'pay', '--queue', queue, '--id', turn, '--wait', '0');
  await approveSeen(cli, `${turn}/1.1`);
  await until('its end', async () => (await cli('show', turn)).out.includes('answered'));
});

const paid = async (): Promise<string> => readFile(join(directory(), 'effects'), 'utf8');

test('a fork is followed, then both paths are shown step by step; nothing was paid', async () => {
  const { code, out, err } = await cli('fork', turn, '--at', '1.1', '--decision', 'denied', '--reason', 'no');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.replaceAll(/\n +/g, ' ')).toContain(
    `a fork of ${turn} from 1.1 on, in a dry world; another decision; 0 results taken`,
  );
  const [, steps = ''] = out.split('\nstep 1\n');
  expect(steps).toMatch(/^1\.1 pay amount=10 +│ 1\.1 pay amount=10\n +done: paid 10 +│ +denied/);
  expect(steps).toMatch(/answered +│ answered\nfirst heard: paid 10 +│ first heard: Error \[denied\]/);
  expect(await paid()).toBe('pay 10\n');
});

test.each([
  ['arguments', ['--args', '{"amount": 20}'], 'would ask a person, then run'],
  ['an approval', ['--decision', 'approved'], 'would run: pay amount=10'],
  ['a reply', ['--reply', 'I would rather not'], 'I would rather not'],
  ['another model', ['--model', 'other'], 'other heard: [Not executed'],
])('%s', async (_, options, told) => {
  const { code, out } = await cli('fork', turn, '--at', '1.1', ...options);
  expect(code).toBe(0);
  expect(out).toContain(told);
  expect(await paid()).toBe('pay 10\n');
});

test('a reply with calls comes from a file', async () => {
  await writeFile(
    join(directory(), 'reply.json'),
    JSON.stringify({ text: 'twice', calls: [{ tool: 'pay', arguments: { amount: 1 } }, { tool: 'pay' }] }),
  );
  const { code, out } = await cli('fork', turn, '--at', '1', '--reply', '@reply.json', '--json');
  expect(code).toBe(0);
  const lines: { type: string; [key: string]: unknown }[] = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(0)).toMatchObject({ type: 'turn_started' });
  expect(lines.at(1)).toMatchObject({ type: 'forked', of: turn, changed: 'reply' });
  expect(lines.at(-1)).toMatchObject({
    type: 'comparison',
    steps: [{ right: { calls: [{ outcome: 'would_ask' }, { outcome: 'validation' }] } }, {}],
  });
});

test('an exported history on its own', async () => {
  const connection = await testConnection();
  const history = await new Client({ connection }).workflow.getHandle(turn).fetchHistory();
  await connection.close();
  await writeFile(join(directory(), 'turn.json'), historyToJSON(history));
  const { code, out } = await cli('fork', 'turn.json', '--at', '1.1', '--detach', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({ turn: expect.any(String), runId: expect.any(String), of: turn });
});

test('a live fork waits for a decision of its own', async () => {
  const { code, err } = await cli(
    'fork',
    turn,
    '--at',
    '1.1',
    '--live',
    '--wait',
    '0',
    '--id',
    `${turn}-live`,
  );
  expect({ code, err }).toEqual({ code: 6, err: expect.stringContaining(`${turn}-live/1.1`) });
  expect(await paid()).toBe('pay 10\n');
  await cli('cancel', `${turn}-live`);
});

test.each<[string, string[], number, string]>([
  ['a call that is not there', ['--at', '4.2'], 4, 'has no call or step 4.2 on record'],
  ['two changes', ['--at', '1.1', '--args', '{}', '--reply', 'x'], 2, 'exclude each other'],
  ['a reason for nothing', ['--at', '1.1', '--reason', 'x'], 2, '--reason goes with --decision'],
  ['arguments that do not fit', ['--at', '1.1', '--args', '{"amount": 500}'], 3, 'do not fit pay: /amount'],
  ['a decision on a step', ['--at', '1', '--decision', 'denied'], 3, '1 is a step'],
  ['a live approval', ['--at', '1.1', '--decision', 'approved', '--live'], 3, 'a decision of its own'],
  [
    'a file that is no reply',
    ['--at', '1', '--reply', '@agent.ts'],
    2,
    '--reply cannot be taken as it is: this is not JSON',
  ],
  ['no place', [], 2, "'--at <call>' not specified"],
])('%s: exit code and words', async (_, options, code, words) => {
  const ended = await cli('fork', turn, ...options);
  expect(ended).toMatchObject({ code, out: '', err: expect.stringContaining(words) });
});

test('a file that is not there', async () => {
  expect(await cli('fork', 'nothing.json', '--at', '1.1')).toMatchObject({ code: 2 });
});
