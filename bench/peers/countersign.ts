/** Countersign. Arguments: the server's address, the folder for its journal, and how durable a step is; see `MODES`. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { connect } from '../../lib/client';
import {
  defineAgent,
  defineConfig,
  defineTool,
  type Model,
  scriptedModel,
  startWorker,
} from '../../lib/index';
import { requestOf } from '../figures/decision';
import { freshId } from '../subjects';
import { effectThenKill, host, reply, starts, text } from './host.cjs';
import { Client, Connection } from '@temporalio/client';

const MODES = {
  step: {},
  gate: { durability: 'gate' },
  each: { durability: 'gate', commitEvery: 0 },
} as const;

const [, , address = '', stateDir = '', given] = process.argv;
const mode = z.enum(['step', 'gate', 'each']).parse(given);
const QUEUE = `peers-${mode}`;
const KILLED = `peers-pays-${mode}`;
const { tell, next } = starts();

/** What a turn is about, in the words of its prompt. */
const Loop = z.object({ steps: z.number(), bytes: z.number() });

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { n: { type: 'number' }, bytes: { type: 'number' } } },
  effect: 'pure',
  handler: ({ bytes }) => text(Number(bytes)),
});
const go = defineTool({
  name: 'go',
  description: 'Tells that it runs.',
  parameters: { type: 'object', properties: { key: { type: 'string' } } },
  safety: 'dangerous',
  effect: 'idempotent',
  handler: ({ key }) => void tell(String(key)),
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays, and ends the process.',
  parameters: { type: 'object', properties: { file: { type: 'string' } } },
  safety: 'dangerous',
  handler: ({ file }) => effectThenKill(String(file), readFileSync(String(file), 'utf8').length),
});

/** Asks for one call in each step. */
const looping: Model = {
  id: 'looping',
  generate: ({ messages }) => {
    const { steps, bytes } = Loop.parse(JSON.parse(messages[0]?.content ?? ''));
    const { content, toolCalls } = reply(messages, steps);
    const calls = toolCalls.map(({ name, arguments: args }) => ({
      ...{ name, arguments: JSON.stringify({ ...args, bytes }) },
    }));
    return Promise.resolve({ text: content, toolCalls: calls, finishReason: 'stop' });
  },
};

/** Calls one tool with what the prompt says, then answers. */
const once = (name: string) =>
  scriptedModel([
    ({ messages }) => ({
      toolCalls: [
        { name, arguments: z.record(z.string(), z.string()).parse(JSON.parse(messages[0]?.content ?? '')) },
      ],
    }),
    { text: 'done' },
  ]);

const base = { instructions: 'Do it.', tools: [look, go, pay] };
const limits = { steps: 1001, repeats: false as const };
const agents = [
  defineAgent({ ...base, ...MODES[mode], name: 'loop', model: looping, limits }),
  defineAgent({ ...base, name: 'go', model: once('go') }),
  defineAgent({ ...base, name: 'pay', model: once('pay') }),
];

async function main(): Promise<void> {
  const config = defineConfig({ agents, taskQueue: QUEUE, stateDir, log: { calls: false } });
  await startWorker({ config, address, logLevel: 'ERROR' });
  const countersign = await connect({ address });
  const client = new Client({ connection: await Connection.connect({ address }) });
  const start = async (agent: string, about: unknown, id = freshId(agent)): Promise<string> => {
    const { turn } = await countersign.start({ agent, prompt: JSON.stringify(about), taskQueue: QUEUE, id });
    return turn;
  };
  const waiting = async (turn: string): Promise<void> => requestOf({ client }, turn);
  const approve = (turn: string) => countersign.decide(turn, { callId: '1.1', decision: 'approved' });
  host({
    run: async (about) => {
      const began = performance.now();
      await client.workflow.getHandle(await start('loop', about)).result();
      return performance.now() - began;
    },
    decide: async () => {
      const key = freshId('key');
      const turn = await start('go', { key });
      await waiting(turn);
      const started = next(key);
      const sent = performance.now();
      await approve(turn);
      const ms = (await started) - sent;
      await client.workflow.getHandle(turn).result();
      return ms;
    },
    kill: async ({ file }) => {
      const turn = await start('pay', { file }, KILLED);
      await waiting(turn);
      await approve(turn);
      await client.workflow.getHandle(turn).result();
    },
    recover: async () => {
      for (;;) {
        const { calls, status } = await countersign.view(KILLED);
        if (calls.some(({ phase }) => phase === 'in_doubt')) return 'a person is asked';
        if (status !== 'running' && status !== 'waiting') return status;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
