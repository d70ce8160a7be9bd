import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import type { RunningServer } from '../../../src/engine/server-launch';
import { parseExport, turnEventsOfJson } from '../../../src/history/exported';
import { viewOf } from '../../../src/history/view';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { defineTool } from '../../../src/tools/define-tool';
import { ToolError } from '../../../src/tools/errors';
import { scratchDirectory } from '../../support/scratch';
import { startOwnServer, testAddress, testBundle } from '../../support/server';
import { decide, waitFor } from '../../support/turns';
import { clientWith, handleOf } from '../../support/vault';
import { runCli } from '../run-cli';
import { type Fixture, startFixture, type TurnHandle } from '../../support/fixture';

const directory = scratchDirectory();
const SECRET = 'sk-0123456789abcdef0123';
const KEYS = [`k1:${randomBytes(32).toString('base64')}`];
let server: RunningServer;
let fixture: Fixture;
let sealed: Fixture;

/** Secrets in the prompt, in arguments, in results, in an error, in an edit and in a reason. */
const agents = () => {
  const parameters = {
    type: 'object',
    properties: { password: { type: 'string', minLength: 2 }, note: { type: 'string' } },
  } as const;
  const login = defineTool({
    name: 'login',
    description: 'Logs in.',
    parameters,
    safety: 'dangerous',
    handler: ({ password }) => `used ${SECRET} and ${String(password)}`,
  });
  const fail = defineTool({
    name: 'fail',
    description: 'Fails.',
    parameters,
    handler: () => {
      throw new ToolError(`no such key: ${SECRET}`);
    },
  });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'fail', arguments: { note: `token=${SECRET}` } },
        { name: 'login', arguments: { password: 'hunter2' } },
      ],
    },
    { text: `the key is ${SECRET}` },
  ]);
  return [defineAgent({ name: 'keeper', instructions: 'x', model, tools: [login, fail] })];
};

// A server of its own: without keys nobody could read an inbox with turns of this file.
beforeAll(async () => {
  server = await startOwnServer();
  process.env['COUNTERSIGN_TEST_ADDRESS'] = server.address;
  fixture = await startFixture({ agents: agents() });
  sealed = await startFixture({ agents: agents(), worker: { encryption: { keys: KEYS } } });
});
afterAll(() => server.stop());

const cli = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  runCli(['export', ...args], { env: { TEMPORAL_ADDRESS: testAddress(), ...env }, cwd: directory() });

const act = async (handle: TurnHandle): Promise<string> => {
  await waitFor(handle, '1.2');
  const edited = { password: 'correct horse', note: 'x' };
  await decide(handle, { callId: '1.2', decision: 'modified', arguments: edited, reason: `use ${SECRET}` });
  await handle.result();
  return handle.workflowId;
};
const played = async (): Promise<string> => act(await fixture.start('keeper', `log in with ${SECRET}`));

/** Everything that a file says, its payloads opened. */
const opened = (text: string): string =>
  text.replace(/"data": ?"([^"]*)"/g, (_all, data: string) => Buffer.from(data, 'base64').toString());

const replays = async (text: string): Promise<void> => {
  for (const run of parseExport(text))
    await Worker.runReplayHistory({ workflowBundle: { codePath: testBundle() } }, run);
};

it('writes a file that only its owner can read, without secrets, that replays and tells the same turn', async () => {
  const turn = await played();
  const { code, out, err } = await cli([turn]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/Took out \d+ values/);
  const file = join(directory(), `${turn}.json`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, 'utf8');
  expect(opened(text)).not.toMatch(/sk-0123|hunter2|correct horse/);
  expect(JSON.parse(text)).toMatchObject({ countersign: 1, redacted: { secrets: true } });
  expect(viewOf(await turnEventsOfJson(text))).toMatchObject({
    turn,
    status: 'answered',
    answer: 'the key is [redacted]',
    prompt: 'log in with [redacted]',
    calls: [
      { callId: '1.1', phase: 'done', result: { success: false } },
      {
        callId: '1.2',
        phase: 'done',
        effective: { password: '[redacted]', note: 'x' },
        result: { success: true },
      },
    ],
  });
  await replays(text);
});

it('leaves secrets in only where that is asked for, and says so', async () => {
  const turn = await played();
  const { code, out } = await cli([turn, '--no-redact', '--out', 'open']);
  expect(code).toBe(0);
  expect(out).toContain('It still holds secrets');
  // Without its path it would name a turn.
  expect(out).toMatch(/show \.\/open$/m);
  const text = readFileSync(join(directory(), 'open'), 'utf8');
  expect(opened(text)).toContain(SECRET);
  expect(JSON.parse(text)).toMatchObject({ redacted: { secrets: false, values: 0 } });
  await replays(text);
});

describe('an encrypted turn', () => {
  const playSealed = async (): Promise<string> => {
    const client = await clientWith({ keys: KEYS });
    const { turn } = await client.start({
      agent: 'keeper',
      prompt: `log in with ${SECRET}`,
      taskQueue: sealed.taskQueue,
    });
    await act(handleOf(client, turn));
    await client.close();
    return turn;
  };

  it('replays without the key, and without its secrets', async () => {
    const turn = await playSealed();
    const { code, err } = await cli([turn], { COUNTERSIGN_ENCRYPTION_KEYS: KEYS.join() });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const text = readFileSync(join(directory(), `${turn}.json`), 'utf8');
    expect(opened(text)).not.toMatch(/sk-0123|hunter2|correct horse|binary\/encrypted/);
    expect(viewOf(await turnEventsOfJson(text))).toMatchObject({ status: 'answered' });
    await replays(text);
  });

  it('is not written without the key', async () => {
    const turn = await playSealed();
    expect(await cli([turn])).toMatchObject({ code: 1, err: expect.stringContaining('[key_missing]') });
  });

  it('is in no audit file without the key', async () => {
    const turn = await playSealed();
    const audit = (...args: string[]) =>
      runCli(args, {
        env: { TEMPORAL_ADDRESS: testAddress(), COUNTERSIGN_AUDIT_KEY_FILE: 'audit.key' },
        cwd: directory(),
      });
    await audit('audit', 'keys', 'audit.key');
    expect(await audit('audit', 'export', '--turn', turn)).toMatchObject({
      code: 1,
      err: expect.stringContaining('[key_missing]'),
    });
    expect(await audit('audit', 'verify', 'countersign-audit.jsonl')).toMatchObject({ code: 1 });
  });
});

describe('says what is wrong', () => {
  it('with an unknown turn', async () => {
    expect(await cli(['no-such-turn'])).toMatchObject({
      code: 4,
      err: expect.stringContaining('[not_found]'),
    });
  });

  it('with a file that is there already, and leaves it', async () => {
    const turn = await played();
    writeFileSync(join(directory(), 'mine.json'), 'mine');
    expect(await cli([turn, '--out', 'mine.json'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('[file_failed]'),
    });
    expect(readFileSync(join(directory(), 'mine.json'), 'utf8')).toBe('mine');
  });
});
