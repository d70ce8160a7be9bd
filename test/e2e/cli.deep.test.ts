import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../src/engine/server-args';
import { listens } from '../cli/cli-worker';
import { startCli, startNode, type RunningCommand } from '../cli/process';
import { runCli } from '../cli/run-cli';
import { lib } from '../support/build';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { approveSeen, sawOf } from '../cli/saw';

const queue = `cli-${randomUUID()}`;
let directory: string;
let worker: RunningCommand;

/** `pay` pays what is asked; `lose` breaks in the middle, so that nobody knows. */
const CONFIG = `
import { defineAgent, defineConfig, defineTool, TransportError, type Model } from 'countersign';
import { z } from 'zod';

const about = { safety: 'dangerous', description: 'Pays.' } as const;
const pay = defineTool({
  ...about,
  name: 'pay',
  parameters: z.object({ amount: z.number().max(100), to: z.string().optional() }),
  handler: ({ amount, to = 'nobody' }) => \`paid \${amount} to \${to}\`,
});
const lose = defineTool({
  ...about,
  name: 'lose',
  parameters: z.object({}),
  handler: () => {
    throw new TransportError('the line went dead');
  },
});

const model: Model = {
  id: 'fixed',
  generate: async ({ messages }) => {
    const words = messages.findLast((message) => message.role === 'user')?.content ?? '';
    const result = messages.findLast((message) => message.role === 'tool')?.content;
    if (result !== undefined) return { text: \`it says: \${result}\`, toolCalls: [], finishReason: 'stop' };
    const [name = '', to] = words.split(' ');
    const args = name === 'pay' ? { amount: 10, ...(to === undefined ? {} : { to }) } : {};
    return { text: '', toolCalls: [{ name, arguments: JSON.stringify(args) }], finishReason: 'tool-calls' };
  },
};

export default defineConfig({
  agents: [defineAgent({ name: 'payer', instructions: 'Pay.', model, tools: [pay, lose] })],
  taskQueue: '${queue}',
});
`;

const env = (): NodeJS.ProcessEnv => ({ TEMPORAL_ADDRESS: testAddress(), XDG_STATE_HOME: directory });
const cli = (...args: string[]) => runCli(args, { env: env(), cwd: directory });
const newId = (): string => `cli-${randomUUID()}`;

const startWorker = async (): Promise<RunningCommand> => {
  const started = startCli(['worker', 'agent.ts'], { env: env(), cwd: directory });
  await listens(started);
  return started;
};

/** Starts a turn and waits until its first call waits for a person. */
const waiting = async (prompt: string): Promise<string> => {
  const turn = newId();
  const { code, err } = await cli('run', 'payer', prompt, '--queue', queue, '--id', turn, '--wait', '0');
  expect({ code, err }).toEqual({ code: 6, err: expect.stringContaining('[still_waiting]') });
  return turn;
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-cli-'));
  await writeFile(join(directory, 'agent.ts'), CONFIG);
  worker = await startWorker();
});

afterAll(async () => {
  worker.signal('SIGTERM');
  await worker.ended;
  await rm(directory, { recursive: true, force: true });
});

describe('a turn, from the command line', () => {
  it('is followed, shown, edited and answered', async () => {
    const turn = newId();
    const running = startCli(['run', 'payer', 'pay ann', '--queue', queue, '--id', turn], { env: env() });
    await until('the request', () => running.out().includes(`countersign deny ${turn}/1.1`));
    expect(running.out()).toMatch(/amount {2}10\n {2}to {6}ann\n/);
    const refused = await approveSeen(cli, `${turn}/1.1`, '--set', 'amount=1000');
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(/validation[\s\S]*amount[\s\S]*\[refused\]\n$/);
    const saw = await sawOf(cli, `${turn}/1.1`);
    const approved = await cli(
      'approve',
      `${turn}/1`,
      ...saw,
      '--set',
      'amount=7',
      '--reason',
      'less',
      '--as',
      'bob',
    );
    expect(approved).toMatchObject({
      code: 0,
      out: `${turn}/1.1 modified by bob\n  pay amount=7 to=ann\n`,
    });
    const { code, out } = await running.ended;
    expect(code).toBe(0);
    expect(out).toContain('modified by bob (as claimed): less');
    expect(out).toContain('paid 7 to ann');
    const again = await cli('approve', `${turn}/1.1`);
    expect(again.code).toBe(3);
    expect(again.err).toContain('already_decided');
    const shown = await cli('show', turn, '--json');
    expect(JSON.parse(shown.out)).toMatchObject({
      turn,
      status: 'answered',
      calls: [{ effective: { amount: 7 } }],
    });
  });

  it('is in the inbox and the list, and a denial reaches the model', async () => {
    const turn = await waiting('pay');
    const listed = (...args: string[]) =>
      until(args.join(' '), async () => {
        const found: { turn: string }[] = JSON.parse((await cli(...args, '--json')).out);
        return found.find((one) => one.turn === turn);
      });
    expect(await listed('inbox', '--agent', 'payer')).toMatchObject({ callId: '1.1', tool: 'pay' });
    const denied = await cli('deny', `${turn}/1.1`, '--reason', 'not today', '--json');
    expect(JSON.parse(denied.out)).toMatchObject({ status: 'accepted', verdict: { decision: 'denied' } });
    const followed = await cli('show', turn, '--follow');
    expect(followed.code).toBe(0);
    expect(followed.out).toContain('not today');
    expect(await listed('list', '--state', 'answered')).toMatchObject({ state: 'answered' });
  });

  it('streams its events as JSON', async () => {
    const turn = newId();
    const { code, out } = await cli(
      'run',
      'payer',
      'pay',
      '--queue',
      queue,
      '--id',
      turn,
      '--wait',
      '0',
      '--json',
    );
    expect(code).toBe(6);
    const types = out
      .trim()
      .split('\n')
      .map((line) => String(JSON.parse(line).type));
    expect(types).toEqual(['turn_started', 'thinking', 'step', 'request_opened']);
  });

  it('is refused where its id was used, and found by any unique prefix', async () => {
    const turn = await waiting('pay');
    const again = await cli('run', 'payer', 'pay', '--queue', queue, '--id', turn, '--detach');
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining('[exists]') });
    const found = await cli('show', turn.slice(0, -3));
    expect(found).toMatchObject({ code: 0, out: expect.stringContaining(turn) });
    const many = await cli('show', 'cli-');
    expect(many).toMatchObject({ code: 2, err: expect.stringContaining('[usage]') });
    const none = await cli('show', 'nobody-has-this');
    expect(none).toMatchObject({ code: 4, err: expect.stringContaining('[not_found]') });
  });

  it('needs its call named, and says what is open', async () => {
    const turn = await waiting('pay');
    const unnamed = await cli('approve', turn);
    expect(unnamed).toMatchObject({ code: 2, err: expect.stringContaining(`Open: ${turn}/1.1`) });
    const wrong = await cli('approve', `${turn}/9.9`);
    expect(wrong).toMatchObject({ code: 4, err: expect.stringContaining(`Open: ${turn}/1.1`) });
    const stale = await cli('approve', `${turn}/1.1`, '--saw', 'deadbeef'.repeat(4));
    expect(stale).toMatchObject({ code: 3, err: expect.stringContaining('is not what you saw') });
    const short = await cli('approve', `${turn}/1.1`, '--saw', 'deadbeef');
    expect(short).toMatchObject({ code: 2, err: expect.stringContaining('32 hex digits') });
    const unseen = await cli('approve', `${turn}/1.1`);
    expect(unseen).toMatchObject({
      code: 2,
      err: expect.stringContaining(`countersign.js show ${turn}/1.1`),
    });
    const asIs = await cli('approve', `${turn}/1.1`, '--yes');
    expect(asIs).toMatchObject({ code: 2, err: expect.stringContaining('--saw') });
  });

  it('is cancelled', async () => {
    const turn = await waiting('pay');
    expect((await cli('cancel', turn, '--reason', 'enough')).code).toBe(0);
    const followed = await cli('show', turn, '--follow');
    expect(followed).toMatchObject({ code: 1, err: expect.stringContaining('[failed]') });
    expect((await cli('cancel', turn)).out).toContain('had ended already: cancelled');
  });

  it('has a call in doubt resolved', async () => {
    const turn = await waiting('lose');
    expect((await approveSeen(cli, `${turn}/1.1`)).code).toBe(0);
    await until(
      'doubt',
      async () => JSON.parse((await cli('show', turn, '--json')).out).status === 'in_doubt',
    );
    const misuse = await cli('approve', `${turn}/1.1`);
    expect(misuse).toMatchObject({ code: 2, err: expect.stringContaining('countersign.js resolve') });
    const args = [
      'resolve',
      `${turn}/1.1`,
      'happened',
      '--reason',
      'the bank says so',
      '--content',
      'paid after all',
    ];
    expect((await cli(...args)).code).toBe(0);
    const followed = await cli('show', turn, '--follow');
    expect(followed).toMatchObject({ code: 0, out: expect.stringContaining('paid after all') });
    expect((await cli(...args)).code).toBe(3);
  });

  it('ends at once where its agent is unknown, and names the nearest', async () => {
    const turn = newId();
    const { code, err } = await cli('run', 'paier', 'pay', '--queue', queue, '--id', turn);
    expect(code).toBe(4);
    expect(err).toMatch(/no worker with agent "paier" here.*near it: payer\n.*\n\[not_found\]/);
    expect(JSON.parse((await cli('show', turn, '--json')).out)).toMatchObject({ cancelRequested: true });
  });
});

describe('a worker', () => {
  it('is well, says doctor', async () => {
    const { code, out } = await cli('doctor', 'agent.ts', '--json');
    expect(JSON.parse(out).filter(({ state }: { state: string }) => state === 'bad')).toEqual([]);
    expect(code).toBe(0);
  });

  it('drains on SIGTERM, and a decision made without it takes effect when one returns', async () => {
    const turn = await waiting('pay');
    worker.signal('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, err: expect.stringContaining('worker stopped') });
    const recorded = await approveSeen(cli, `${turn}/1.1`);
    expect(recorded).toMatchObject({
      code: 0,
      out: expect.stringContaining('if a worker takes it up before the deadline'),
    });
    worker = await startWorker();
    expect(await cli('show', turn, '--follow')).toMatchObject({ code: 0 });
  });
});

describe('dev', () => {
  it('runs server and worker until Ctrl-C, and goes on where it was', async () => {
    const data = join(directory, 'data');
    const start = async (): Promise<{ dev: RunningCommand; address: string }> => {
      const port = await freePort();
      const args = [
        'dev',
        'agent.ts',
        '--port',
        String(port),
        '--ui-port',
        String(await freePort()),
        '--data-dir',
        data,
      ];
      const dev = startCli(args, { cwd: directory });
      await Promise.race([
        until('the server', () => dev.out().includes('Ctrl-C')),
        dev.ended.then(({ err }) => Promise.reject(new Error(err))),
      ]);
      return { dev, address: `127.0.0.1:${port}` };
    };
    const turn = newId();
    const first = await start();
    const run = ['run', 'payer', 'pay', '--queue', queue, '--id', turn, '--wait', '0'];
    expect((await runCli([...run, '--address', first.address])).code).toBe(6);
    first.dev.signal('SIGINT');
    expect((await first.dev.ended).code).toBe(0);
    const second = await start();
    const there = (...args: string[]) => runCli([...args, '--address', second.address]);
    expect((await approveSeen(there, `${turn}/1.1`)).code).toBe(0);
    expect((await runCli(['show', turn, '--follow', '--address', second.address])).code).toBe(0);
    // A terminal that closes leaves no server behind.
    second.dev.signal('SIGHUP');
    expect((await second.dev.ended).code).toBe(0);
    expect((await there('list')).code).toBe(5);
  });

  it('refuses options of a server that it does not start', async () => {
    const args = ['dev', 'agent.ts', '--address', testAddress(), '--data-dir', 'x'];
    expect(await runCli(args, { cwd: directory })).toMatchObject({
      code: 2,
      err: expect.stringContaining(`--data-dir has no effect: --address names ${testAddress()}`),
    });
  });
});

describe('the demo', () => {
  it.each([
    ['approve', 'README.md says "Northwind GmbH", and nothing else changed'],
    ['edit', 'README.md says "Northwind GmbH & Co. KG", and nothing else changed'],
    ['deny', 'no file was touched'],
  ])(
    'does what --answer %s implies, on disk',
    async (answer, checked) => {
      const { code, out } = await startNode([lib('cli', 'demo', 'main.js'), '--answer', answer]).ended;
      expect(out).toContain(`Checked on disk: ${checked}.`);
      expect(code).toBe(0);
    },
    120_000,
  );

  it('leaves cleanly when it is ended', async () => {
    const demo = startNode([lib('cli', 'demo', 'main.js'), '--answer', 'approve']);
    await until('the first line', () => demo.out().includes('the model is asked'));
    demo.signal('SIGINT');
    expect([0, 130]).toContain((await demo.ended).code);
  });
});

async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}
