import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { RunningServer } from '../../src/engine/server-launch';
import { defineAgent } from '../../src/tools/define-agent';
import { startMailServer } from '../notify/mail-server';
import { startPostServer, type PostServer } from '../cli/receiver';
import { type RunningCommand, useCommands } from '../cli/process';
import { runCli } from '../cli/run-cli';
import { TAG_SCHEMA, recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook } from '../support/script-book';
import { startOwnServer, testAddress } from '../support/server';
import { emptyInbox } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const agent = `watched-${process.pid}`;
let fixture: Fixture;
let client: Countersign;
let server: PostServer;
const startCommand = useCommands();

beforeAll(async () => {
  const about = { safety: 'dangerous', parameters: TAG_SCHEMA } as const;
  const tools = [
    recordTool(effects, { name: 'pay', ...about }),
    recordTool(effects, { name: 'soon', ...about, requestExpires: '30 minutes' }),
  ];
  fixture = await startFixture({
    agents: [defineAgent({ name: agent, instructions: 'do', model: book.model, tools })],
  });
  client = await connect({ address: testAddress() });
});
afterAll(async () => {
  for (const { turn } of await client.inbox({ agent })) await client.cancel(turn);
  await client.close();
});
beforeEach(async () => {
  server = await startPostServer();
});
afterEach(async () => {
  await server.close();
  await emptyInbox(client, agent);
});

// Made after the hook above, so that it is removed after nobody writes there.
const directory = scratchDirectory();

const waiting = async (tool = 'pay'): Promise<string> => {
  const prompt = book.add({ toolCalls: [{ name: tool, arguments: { tag: 'x' } }] }, readBack);
  const { turn } = await client.start({ agent, prompt, taskQueue: fixture.taskQueue });
  await until('it in the inbox', async () =>
    (await client.inbox({ agent })).some((item) => item.turn === turn),
  );
  return turn;
};
const env = (address = testAddress()): NodeJS.ProcessEnv => ({
  TEMPORAL_ADDRESS: address,
  XDG_STATE_HOME: directory(),
  COUNTERSIGN_NOTIFY_SECRET: 'a secret that is long enough',
});
const args = (...more: string[]): string[] => ['watch', '--notify', server.url, '--agent', agent, ...more];
const watch = (...more: string[]): RunningCommand => startCommand(args(...more), { env: env() });
const sent = (): string[] =>
  server.posts.map(({ type, body }) => `${type} ${JSON.parse(body).data.turn}`).sort();

it('sends what waits, what comes, and what expires soon, each once', async () => {
  const first = await waiting();
  watch();
  await until('the first', () => server.posts.length === 1);
  const second = await waiting('soon');
  await until('the second', () => server.posts.length === 3);
  expect(sent()).toEqual(
    [`request.opened ${first}`, `request.opened ${second}`, `deadline.near ${second}`].sort(),
  );
});

it('loses nothing and repeats nothing that was taken, killed in the middle and started again', async () => {
  const turns = [await waiting(), await waiting(), await waiting()];
  server.script(204, 'hang');
  const killed = watch();
  await until('the second post', () => server.posts.length === 2);
  killed.signal('SIGKILL');
  await killed.ended;
  const [taken, hanging] = server.posts;
  watch();
  await until('the rest', () => server.posts.length === 4);
  const again = server.posts.slice(2).map(({ id }) => id);
  expect(again).not.toContain(taken?.id);
  expect(again).toContain(hanging?.id);
  expect(server.posts.find(({ id }, at) => at > 1 && id === hanging?.id)?.body).toBe(hanging?.body);
  expect(new Set(sent())).toEqual(new Set(turns.map((turn) => `request.opened ${turn}`)));
});

it('goes on when its receiver is back', async () => {
  server.script(500, 500);
  const turn = await waiting();
  const running = watch();
  await until('the third try', () => server.posts.length === 3);
  expect(new Set(server.posts.map(({ id }) => id)).size).toBe(1);
  running.signal('SIGINT');
  const { code, err } = await running.ended;
  expect(code).toBe(0);
  expect(err).toMatch(/could not send to 127\.0\.0\.1:\d+: it answered 500; again in 1 s: request\.opened/);
  expect(err).toContain(`sent to ${new URL(server.url).host}: request.opened ${turn}/1.1 pay`);
  expect(err).not.toMatch(/s3cret|long enough/);
});

it('two watches of one receiver that look for other calls do not wait for each other', async () => {
  const pays = watch('--tool', 'pay');
  await until('the first at work', () => pays.err().includes('Ctrl-C ends it'));
  const soons = watch('--tool', 'soon');
  await until('the second at work', () => soons.err().includes('Ctrl-C ends it'));
  const turns = [await waiting('pay'), await waiting('soon')];
  await until('both', () => new Set(sent().map((line) => line.split(' ')[1])).size === turns.length);
});

it('runs a command with the notice on stdin, once a notice, for cron', async () => {
  const turn = await waiting();
  const out = join(directory(), 'out');
  const once = (command: string) =>
    runCli(['watch', '--notify', command, '--agent', agent, '--once'], { env: env() });
  expect(await once('exit 7')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/ended with 7[^]*\[failed\]/),
  });
  expect(await once(`cat > ${out}`)).toMatchObject({ code: 0, err: expect.stringContaining(turn) });
  expect(existsSync(out)).toBe(true);
  expect(await once(`cat > ${out}`)).toMatchObject({ code: 0, err: '' });
});

it('sends over each channel of a file, and mails those who may decide, each once', async () => {
  const mails = await startMailServer({ authOptional: true });
  const turn = await waiting();
  const file = join(directory(), 'notify.yaml');
  const people = '{ ann: { mail: ann@example.org }, bob: { mail: bob@example.org } }';
  writeFileSync(
    join(directory(), 'approvers.yaml'),
    `installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'\npeople: ${people}\nrules: [{ name: default, then: by_safety }]`,
  );
  writeFileSync(
    file,
    `
page: https://inbox.example.org
approvers: approvers.yaml
channels:
  broken: { kind: command, run: exit 1 }
  hook: { kind: webhook, url: '${server.url}' }
  mail: { kind: mail, tls: none, from: bot@example.org, to: voters }
`,
  );
  const mailing = { ...env(), COUNTERSIGN_SMTP_URL: `smtp://127.0.0.1:${mails.port}` };
  const once = () =>
    runCli(['watch', '--channels', file, '--agent', agent, '--once'], { env: mailing, cwd: directory() });
  // One that fails holds up no other.
  expect(await once()).toMatchObject({ code: 1, err: expect.stringContaining('it ended with 1') });
  expect(await once()).toMatchObject({ code: 1 });
  expect(mails.mails.flatMap(({ to }) => to)).toEqual(['ann@example.org', 'bob@example.org']);
  expect(mails.mails[0]?.text.replaceAll('=\r\n', '')).toContain(`/#/turns/${turn}/calls/1.1`);
  expect(sent()).toEqual([`request.opened ${turn}`]);
  expect((await client.view(turn)).calls[0]?.phase).toBe('request');
  await mails.close();
});

describe('a Temporal server that goes away', () => {
  let own: RunningServer;
  let there: Fixture;
  let starter: Countersign;
  const dbFile = (): string => join(directory(), 'temporal.db');

  beforeEach(async () => {
    own = await startOwnServer({ dbFile: dbFile() });
    const pay = recordTool(effects, { name: 'pay', safety: 'dangerous', parameters: TAG_SCHEMA });
    const agents = [defineAgent({ name: agent, instructions: 'do', model: book.model, tools: [pay] })];
    there = await startFixture({ address: own.address, agents });
    starter = await connect({ address: own.address });
  });
  afterEach(async () => {
    await starter.close();
    await there.stop();
    await own.stop();
  });

  const start = async (): Promise<void> => {
    const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'x' } }] }, readBack);
    await starter.start({ agent, prompt, taskQueue: there.taskQueue });
  };

  it('is waited for by both watchers, which go on where they were', async () => {
    const inbox = startCommand(['inbox', '--watch', '--json'], { env: env(own.address) });
    const notices = startCommand(args(), { env: env(own.address) });
    const both = (text: string): boolean => [notices, inbox].every((one) => one.err().includes(text));
    await start();
    await until('the first', () => server.posts.length === 1 && inbox.out().split('\n').length === 2);
    process.kill(own.pid, 'SIGKILL');
    await own.exited;
    await until('both to notice', () => both('does not answer'));
    own = await startOwnServer({ dbFile: dbFile(), port: Number(own.address.split(':')[1]) });
    await until('both to be back', () => both('is back'));
    await start();
    await until('the second', () => server.posts.length === 2 && inbox.out().split('\n').length === 3);
  });
});

it.each([
  [[], /nothing says where to send/],
  [['--notify', 'true', '--channels', 'x'], /are given both/],
  [['--notify', ' '], /names neither/],
  [['--notify', 'https://'], /this is not a URL/],
  [['--notify', 'https://example.org', '--secret-file', '/no/such/file'], /does not exist/],
  [['--notify', 'true', '--before', 'soon'], /this is not a time/],
])('refuses a mistake in %j', async (more, message) => {
  const { code, err } = await runCli(['watch', ...more], { env: { TEMPORAL_ADDRESS: testAddress() } });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(message) });
});
