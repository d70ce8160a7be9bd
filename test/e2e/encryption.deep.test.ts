import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { type Countersign, turnEventsOfJson } from '../../src/client';
import type { RunningServer } from '../../src/engine/server-launch';
import { type Model, ModelError } from '../../src/models/model';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { defineAgent } from '../../src/tools/define-agent';
import { runCli } from '../cli/run-cli';
import { drawKey, ringOf } from '../encryption/ring';
import { TAG_SCHEMA, recordTool, useEffects } from '../support/effects';
import { operator, resetTurn } from '../support/operator';
import { readBack, scriptBook } from '../support/script-book';
import { startOwnServer, testAddress, testBundle } from '../support/server';
import { eventsOf, listedItem, resolve, send, verdictsOf, waitFor } from '../support/turns';
import { clientWith, handleOf, rawBytes, rawDescription, rawHistory } from '../support/vault';
import { approveSeen } from '../cli/saw';
import { startFixture, type Fixture } from '../support/fixture';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const key = drawKey('first');
const newer = drawKey('second');
const encryption = { keys: [key], required: true };
/** In every text of a turn that nobody but us may read. */
const CANARY = 'CANARY-7f3a';
const gates = new Map<string, () => void>();
let server: RunningServer;
let fixture: Fixture;
let client: Countersign;

const tools = [
  recordTool(effects, { name: 'pay', safety: 'dangerous', parameters: TAG_SCHEMA }),
  recordTool(effects, { name: 'look', safety: 'safe', local: true, timeout: 2000, parameters: TAG_SCHEMA }),
  recordTool(
    effects,
    { name: 'wait', safety: 'cautious', parameters: TAG_SCHEMA },
    (tag) => new Promise<void>((release) => gates.set(tag, release)),
  ),
];
const payer = defineAgent({ name: 'sealed-payer', instructions: 'do', model: book.model, tools });
/** Answers with the last words that it reads, and the files in them. */
const reader: Model = {
  id: 'reader',
  generate: async ({ messages }) => ({
    text: messages.at(-1)?.content ?? '',
    ...{ toolCalls: [], finishReason: 'stop' },
  }),
};
const agents = [
  payer,
  defineAgent({ name: 'sealed-reader', instructions: 'do', model: reader, tools: [] }),
  defineAgent({ name: 'sealed-boss', instructions: 'do', model: book.model, tools: [agentTool(payer)] }),
];
const store = mkdtempSync(join(tmpdir(), 'countersign-test-'));
const newFixture = (workers = 1): Promise<Fixture> =>
  startFixture({ agents, workers, worker: { encryption }, files: store });

// A server of its own: without keys nobody could list the turns of this file, nor those beside them.
beforeAll(async () => {
  server = await startOwnServer();
  process.env['COUNTERSIGN_TEST_ADDRESS'] = server.address;
  fixture = await newFixture();
  client = await clientWith(encryption, store);
});

afterAll(async () => {
  await client.close();
  await server.stop();
  await rm(store, { recursive: true, force: true });
});

const call = (name: string, tag: string) => ({ toolCalls: [{ name, arguments: { tag } }] });

/** Starts a turn whose prompt is in the book. */
const start = async (prompt: string, { by = client, on = fixture } = {}): Promise<string> =>
  (await by.start({ agent: 'sealed-payer', prompt, taskQueue: on.taskQueue })).turn;

/** A turn that waits with one request, 1.1. */
const waiting = async (tag: string): Promise<string> => {
  const turn = await start(book.add(call('pay', tag), readBack));
  await waitFor(handleOf(client, turn), '1.1');
  return turn;
};

const decision = {
  callId: '1.1',
  decision: 'approved',
  approver: `${CANARY} ann`,
  reason: `${CANARY} reason`,
} as const;

test('a turn that is approved by update leaves no word of it with the server', async () => {
  const prompt = book.add(
    call('look', `${CANARY}-look`),
    call('pay', `${CANARY}-pay`),
    call('wait', `${CANARY}-wait`),
    (request) => ({ text: `${CANARY} answer after ${readBack(request).text}` }),
  );
  const turn = await start(prompt);
  await waitFor(handleOf(client, turn), '2.1');
  const item = await listedItem(client, turn);
  expect(item).toMatchObject({ tool: 'pay', prompt, summary: expect.stringContaining(CANARY) });
  expect((await rawBytes(fixture, turn)).includes(CANARY)).toBe(false);
  expect(await client.decide(turn, { ...decision, callId: '2.1' })).toMatchObject({ status: 'accepted' });
  const release = await until('the call that waits', () => gates.get(`${CANARY}-wait`));
  const beat = await until('a heartbeat', async () => {
    const { pendingActivities } = await rawDescription(fixture, turn);
    return pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0];
  });
  expect(Buffer.from(beat.metadata?.['encoding'] ?? []).toString()).toBe('binary/encrypted');
  expect((await rawBytes(fixture, turn)).includes(CANARY)).toBe(false);
  release();
  expect(await handleOf(client, turn).result()).toMatchObject({ answer: expect.stringContaining(CANARY) });
  const raw = await rawBytes(fixture, turn);
  for (const secret of [CANARY, prompt]) expect(raw.includes(secret)).toBe(false);
  const view = await client.view(turn);
  expect(view.calls.map(({ tool, result }) => [tool, result?.success])).toEqual([
    ['look', true],
    ['pay', true],
    ['wait', true],
  ]);
  await until('the list', async () =>
    (await client.list({ limit: 20 })).find((one) => one.prompt === prompt),
  );
});

test('a child turn is as encrypted, and its answer is read by the turn above, by a reset one and by people', async () => {
  const task = book.add({ text: `${CANARY} child` });
  const given = { toolCalls: [{ name: 'sealed_payer', arguments: { task } }] };
  const prompt = book.add(given, readBack);
  const { turn } = await client.start({ agent: 'sealed-boss', prompt, taskQueue: fixture.taskQueue });
  const handle = handleOf(client, turn);
  const answer = { answer: expect.stringContaining(`${CANARY} child`) };
  expect(await handle.result()).toMatchObject(answer);
  const scheduled = (await eventsOf(handle)).find(
    ({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name === 'sealed_payer',
  );
  const { workflowTaskCompletedEventId: at } = scheduled?.activityTaskScheduledEventAttributes ?? {};
  await resetTurn(handle, '--event-id', String(at));
  const again = handleOf(client, turn);
  expect(await again.result()).toMatchObject(answer);
  const [call] = (await client.view(turn)).calls;
  expect(call?.result).toMatchObject({ success: true, content: `${CANARY} child` });
  for (const one of [turn, call?.child ?? ''])
    expect((await rawBytes(fixture, one)).includes(CANARY)).toBe(false);
});

test('a fork of an encrypted turn needs its keys, and is as encrypted', async () => {
  const turn = await start(book.add(call('look', `${CANARY}-fork`), call('pay', `${CANARY}-fork`), readBack));
  await waitFor(handleOf(client, turn), '2.1');
  const blind = await clientWith({});
  await expect(blind.fork({ turn, at: '2.1' })).rejects.toMatchObject({ code: 'key_missing' });
  await expect(blind.planReset(turn, '1.1')).rejects.toMatchObject({ code: 'key_missing' });
  await blind.close();
  const history = historyToJSON(await rawHistory(fixture, turn));
  for (const source of [{ turn }, { history }]) {
    const fork = await client.fork({ ...source, at: '2.1' });
    expect(await handleOf(client, fork.turn).result()).toMatchObject({
      answer: expect.stringContaining(CANARY),
    });
    expect((await rawBytes(fixture, fork.turn)).includes(CANARY)).toBe(false);
  }
  await client.cancel(turn);
});

test('a turn is decided by signal, and what a model failed with is not to be read either', async () => {
  const lost = new ModelError('auth', `${CANARY} model`, { retryable: false });
  const turn = await start(book.add(call('pay', 'by signal'), lost));
  const handle = handleOf(client, turn);
  await waitFor(handle, '1.1');
  await handle.signal('approval', decision);
  await expect(handle.result()).rejects.toMatchObject({
    cause: { message: expect.stringContaining(`${CANARY} model`) },
  });
  expect((await rawBytes(fixture, turn)).includes(CANARY)).toBe(false);
  expect((await rawBytes(fixture, turn)).includes('Encoded failure')).toBe(true);
  expect(await effects.lines('by signal')).toHaveLength(1);
});

test("a plaintext signal of Temporal's own command line is malformed, and stops nothing", async () => {
  const turn = await waiting('plain signal');
  const handle = handleOf(client, turn);
  const input = '{"callId":"1.1","decision":"approved"}';
  await operator(handle, 'workflow', 'signal', '--name', 'approval', '--input', input);
  await until('the verdict', async () => (await verdictsOf(handle)).length > 0);
  expect(await verdictsOf(handle)).toMatchObject([{ verdict: 'malformed' }]);
  const plain = fixture.client.workflow.getHandle(turn);
  await expect(plain.executeUpdate('decide', { args: [JSON.parse(input)] })).rejects.toThrow();
  await expect(plain.query('transcript', { from: 0 })).rejects.toThrow();
  expect(await effects.lines('plain signal')).toEqual([]);
  expect(await send(handle, 'decide', decision)).toMatchObject({ accepted: true });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
});

test('an approval that was taken from another turn is malformed', async () => {
  const [from, to] = [await waiting('moved from'), await waiting('moved to')];
  await handleOf(client, from).signal('approval', decision);
  await handleOf(client, from).result();
  const signal = ((await rawHistory(fixture, from)).events ?? [])
    .map((event) => event.workflowExecutionSignaledEventAttributes)
    .find((one) => one?.signalName === 'approval');
  await fixture.client.workflowService.signalWorkflowExecution({
    ...{ namespace: 'default', workflowExecution: { workflowId: to }, signalName: 'approval' },
    input: signal?.input ?? null,
  });
  const handle = handleOf(client, to);
  await until('the verdict', async () => (await verdictsOf(handle)).length > 0);
  expect(await verdictsOf(handle)).toMatchObject([{ verdict: 'malformed' }]);
  await client.decide(to, { callId: '1.1', decision: 'denied' });
  await handle.result();
  expect(await effects.lines('moved to')).toEqual([]);
});

/** A workflow task that failed, as the server has it. */
const failedTask = (on: Fixture, turn: string) =>
  until('a failed workflow task', async () =>
    ((await rawHistory(on, turn)).events ?? []).find((event) => event.workflowTaskFailedEventAttributes),
  );

// Each waits for a workflow task to fail and to be tried again.
test.concurrent.each([
  ['no keys', { required: false }],
  ['another key', { keys: [newer] }],
])('a worker with %s fails the workflow task, and the turn goes on with the key', async (_, wrong) => {
  const own = await newFixture(0);
  const keyless = await own.addWorker({ encryption: wrong });
  const turn = await start(book.add({ text: 'done' }), { on: own });
  const failed = await failedTask(own, turn);
  if ('required' in wrong) expect(JSON.stringify(failed)).toContain('encrypted with the key first');
  const both = { env: { TEMPORAL_ADDRESS: testAddress(), COUNTERSIGN_ENCRYPTION_KEYS: `${key},${newer}` } };
  const said = /its workflow task fails \(attempt \d+\): .*encrypted with the key first/;
  expect((await runCli(['show', turn], both)).out).toMatch(said);
  expect(
    ((await rawHistory(own, turn)).events ?? []).some((one) => one.activityTaskScheduledEventAttributes),
  ).toBe(false);
  await keyless.stop();
  await own.addWorker();
  expect(await handleOf(client, turn).result()).toMatchObject({ answer: 'done' });
});

test('why a task fails may be sealed with a key that who looks does not have either, and that is said', async () => {
  const own = await newFixture(0);
  await own.addWorker({ encryption: { keys: [newer] } });
  const turn = await start(book.add({ text: 'done' }), { on: own });
  await failedTask(own, turn);
  const { failingTask } = await client.pendingActivities(turn);
  expect(failingTask).toEqual({
    attempt: expect.any(Number),
    reason: expect.stringMatching(/^the reason cannot be read: .*second/),
  });
  await handleOf(client, turn).terminate();
});

test('a model reads a file that is encrypted in the store, and its name is in no history', async () => {
  const bytes = Buffer.from(`the bytes of ${CANARY}`);
  const session = client.session(`s-${randomUUID()}`, {
    ...{ agent: 'sealed-reader', taskQueue: fixture.taskQueue },
  });
  await session.send({ text: 'look', files: [{ name: `${CANARY}.txt`, bytes }] });
  const { turns, messages } = await until('the answer', async () => {
    const view = await session.history();
    return view.turns[0]?.status === 'answered' && view;
  });
  expect(turns[0]?.answer).toContain(`the bytes of ${CANARY}`);
  const digest = messages[0]?.files?.[0]?.digest ?? '';
  const stored = await readFile(join(store, digest.slice(0, 2), digest));
  expect(stored.includes(CANARY)).toBe(false);
  for (const id of [session.id, `${session.id}.t1`])
    expect((await rawBytes(fixture, id)).includes(CANARY)).toBe(false);
  await session.close();
});

test('a turn that was started in plaintext does not run where encryption is required', async () => {
  const handle = await fixture.start('sealed-payer', book.add({ text: 'done' }));
  await failedTask(fixture, handle.workflowId);
  expect(await client.list({ limit: 20 })).toEqual(expect.any(Array));
  await handle.terminate();
});

test('after a rotation open turns go on and old histories replay; without the old key they do not', async () => {
  const own = await newFixture(0);
  const first = await own.addWorker();
  const turn = await start(book.add(call('pay', 'rotated'), readBack), { on: own });
  await waitFor(handleOf(client, turn), '1.1');
  await first.stop();
  const rotated = { keys: [newer, key] };
  await own.addWorker({ encryption: rotated });
  const later = await clientWith(rotated);
  expect(await later.decide(turn, decision)).toMatchObject({ status: 'accepted' });
  expect(await handleOf(later, turn).result()).toMatchObject({
    answer: expect.stringContaining('pay did rotated'),
  });
  await expect(client.view(turn)).rejects.toMatchObject({ code: 'key_missing' });
  const history = await rawHistory(own, turn);
  const replay = (keys: string[]) =>
    Worker.runReplayHistory(
      { workflowBundle: { codePath: testBundle() }, dataConverter: ringOf({ keys }).replay() },
      history,
    );
  await replay([newer, key]);
  await expect(replay([newer])).rejects.toThrow();
  await expect(turnEventsOfJson(historyToJSON(history))).resolves.toEqual(expect.any(Array));
  await later.close();
});

test('a reset to before an unsafe call that ran is in doubt on another machine, encrypted or not', async () => {
  const own = await newFixture(0);
  const first = await own.addWorker();
  const turn = await start(book.add(call('pay', 'reset'), call('pay', 'later'), readBack), { on: own });
  const handle = handleOf(client, turn);
  await waitFor(handle, '1.1');
  await handle.signal('approval', decision);
  await waitFor(handle, '2.1');
  await first.stop();
  const scheduled = ((await rawHistory(own, turn)).events ?? [])
    .map((event) => event.activityTaskScheduledEventAttributes)
    .find((one) => one?.activityType?.name === 'pay');
  await resetTurn(handle, '--event-id', String(scheduled?.workflowTaskCompletedEventId));
  const elsewhere = await mkdtemp(join(tmpdir(), 'countersign-elsewhere-'));
  await own.addWorker({ stateDir: elsewhere });
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, { callId: '1.1', resolution: 'happened', reason: 'seen' });
  await waitFor(handle, '2.1');
  await client.decide(turn, { callId: '2.1', decision: 'denied' });
  await handle.result();
  expect(await effects.lines('pay reset')).toHaveLength(1);
  await own.stop();
  await rm(elsewhere, { recursive: true, force: true });
});

describe('the command line', () => {
  const env = (more: NodeJS.ProcessEnv = {}) => ({ env: { TEMPORAL_ADDRESS: testAddress(), ...more } });

  test('says what to do without keys, and approves with keys of the environment', async () => {
    const turn = await waiting('by cli');
    for (const command of ['show', 'approve', 'inbox']) {
      const target = { show: [turn], approve: [`${turn}/1.1`], inbox: [] }[command] ?? [];
      const { code, err } = await runCli([command, ...target], env());
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('COUNTERSIGN_ENCRYPTION_KEYS') });
      expect(err).toContain('[key_missing]');
    }
    const listed = await runCli(['list', '--json'], env());
    expect(listed).toMatchObject({ code: 0, out: expect.stringContaining(turn) });
    expect(listed.out).not.toContain('by cli');
    const withKeys = env({ COUNTERSIGN_ENCRYPTION_KEYS: key });
    const shown = await runCli(['show', turn], withKeys);
    expect(shown.out).toContain('by cli');
    const approved = await approveSeen((...args) => runCli(args, withKeys), `${turn}/1.1`);
    expect(approved).toMatchObject({ code: 0 });
    expect(await handleOf(client, turn).result()).toMatchObject({
      answer: expect.stringContaining('pay did by cli'),
    });
  });

  test('takes a key file that only its owner can read', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'countersign-keys-'));
    const turn = await waiting(`file ${randomUUID()}`);
    const [good, open] = [join(directory, 'good'), join(directory, 'open')];
    await writeFile(good, key, { mode: 0o600 });
    await writeFile(open, key, { mode: 0o644 });
    expect(await runCli(['show', turn, '--encryption-key-file', open], env())).toMatchObject({
      code: 2,
      err: expect.stringContaining(`chmod 600 ${open}`),
    });
    const denied = ['--encryption-key-file', good, 'deny', `${turn}/1.1`, '--reason', 'no'];
    expect(await runCli(denied, env())).toMatchObject({ code: 0 });
    await handleOf(client, turn).result();
    await rm(directory, { recursive: true, force: true });
  });
});
