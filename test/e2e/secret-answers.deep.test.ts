import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/client';
import type { JsonObject } from '../../src/contract/json';
import { makeAnswerKey } from '../../src/encryption/answer-keys';
import { makeKeys } from '../../src/history/audit/file-key';
import { sealAnswer } from '../../src/sealing/seal-answer';
import type { QuestionOpened } from '../../src/history/events';
import { askUser } from '../../src/tools/builtin/ask-user';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { ensureBuilt, root } from '../support/build';
import { testAddress } from '../support/server';
import { decide, openOf, send, waitFor } from '../support/turns';
import { rawBytes } from '../support/vault';

const SECRET = 'correct-horse-"battery"-ä-staple';
const FORM = {
  type: 'object',
  properties: {
    token: { type: 'string', title: 'Token', format: 'password', 'x-for': ['deploy'] },
    city: { type: 'string' },
  },
  required: ['token'],
} satisfies JsonObject;

const effects = useEffects();
const book = scriptBook();
const client = connectOnce();
let directory = '';
let fixture: Fixture;
let keyFile = '';
let fingerprint = '';

const reads = recordTool(effects, { name: 'deploy', safety: 'dangerous' }, async (tag, context) => {
  const [, handle = ''] = /<(.*)>/.exec(tag) ?? [];
  const value = await context.secrets.get(handle);
  await writeFile(join(directory, `got-${context.turn}`), value);
  context.partial(`partly ${value}`);
  context.log.info(`logged ${value}`, { value });
  return `deployed with ${value}, ${Buffer.from(value).toString('base64')}`;
});
const steals = recordTool(effects, { name: 'steal' }, async (tag, { secrets }) => {
  const [, handle = ''] = /<(.*)>/.exec(tag) ?? [];
  return secrets.get(handle);
});

function connectOnce() {
  let made: Awaited<ReturnType<typeof connect>>;
  beforeAll(async () => {
    made = await connect({ address: testAddress() });
  });
  afterAll(() => made.close());
  return () => made;
}

beforeAll(async () => {
  await ensureBuilt();
  directory = await mkdtemp(join(tmpdir(), 'countersign-sealed-'));
  keyFile = join(directory, 'answers.key');
  const made = await makeAnswerKey();
  fingerprint = made.fingerprint;
  await writeFile(keyFile, `${made.line}\n`, { mode: 0o600 });
  const tools = [askUser(), reads, steals];
  const agent = defineAgent({ name: 'sealed', instructions: 'do', model: book.model, tools });
  const worker = { answerKeyFile: keyFile, logLevel: 'DEBUG' as const };
  fixture = await startFixture({ agents: [agent], log: {}, worker });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const asks = (form: JsonObject = FORM) => ({
  toolCalls: [{ name: 'ask_user', arguments: { question: 'Which token?', schema: form } }],
});
const uses = (name = 'deploy', handle = 'answer:1.1/token') => ({
  toolCalls: [{ name, arguments: { tag: `<${handle}>` } }],
});
const start = async (...steps: Parameters<typeof book.add>): Promise<TurnHandle> => {
  const { turn } = await client().start({
    agent: 'sealed',
    prompt: book.add(...steps, readBack),
    taskQueue: fixture.taskQueue,
  });
  return fixture.client.workflow.getHandle(turn);
};
const questionOf = async (handle: TurnHandle): Promise<QuestionOpened> => {
  const { calls } = await client().view(handle.workflowId);
  const asked = calls.find(({ phase }) => phase === 'asked')?.question;
  if (asked === undefined) throw new Error('nothing is asked');
  return asked;
};
const sealed = async (handle: TurnHandle, content: JsonObject = { token: SECRET }): Promise<JsonObject> =>
  sealAnswer(await questionOf(handle), content);
const answer = (handle: TurnHandle, content: JsonObject) =>
  send(handle, 'answer', { callId: '1.1', answer: 'answered', content });
const cli = (args: string[], stdin = '', env: NodeJS.ProcessEnv = {}) =>
  new Promise<{ code: number | null; out: string }>((resolve) => {
    const child = spawn(process.execPath, [join(root, 'bin', 'countersign.js'), ...args], {
      env: { ...process.env, TEMPORAL_ADDRESS: testAddress(), ...env },
    });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (out += String(piece)));
    child.on('close', (code) => resolve({ code, out }));
    child.stdin.end(stdin);
  });
const got = (handle: TurnHandle): Promise<string> =>
  readFile(join(directory, `got-${handle.workflowId}`), 'utf8');

test('from the command line: only the tool gets the value, and nothing on record, on a screen or in a log has it', async () => {
  const logged: string[] = [];
  const stderr = jest.spyOn(process.stderr, 'write').mockImplementation((line) => {
    logged.push(String(line));
    return true;
  });
  const handle = await start(asks(), uses());
  await waitFor(handle, '1.1', 'question');
  const id = `${handle.workflowId}/1.1`;
  expect((await cli(['show', id])).out).toContain('secret: only deploy can read it; the model cannot');
  const inArguments = await cli(['answer', id, '--set', `token=${SECRET}`]);
  expect(inArguments.out).toContain('token is secret');
  const wrongPin = await cli(['answer', id, '--set', 'token=-'], SECRET, { COUNTERSIGN_ANSWER_KEY: 'other' });
  expect(wrongPin).toMatchObject({
    code: expect.any(Number),
    out: expect.stringContaining('nothing was sent'),
  });
  expect((await openOf(handle))?.count).toBe(1);
  const pinned = { COUNTERSIGN_ANSWER_KEY: fingerprint };
  const taken = await cli(['answer', id, '--set', 'token=-', '--set', 'city=Rome'], `${SECRET}\n`, pinned);
  expect(taken).toMatchObject({ code: 0 });
  await waitFor(handle, '2.1');
  await decide(handle, { callId: '2.1', decision: 'approved' });
  const { answer: said } = await handle.result();
  stderr.mockRestore();
  expect(await got(handle)).toBe(SECRET);
  expect(logged.join('')).toContain('TOOL_LOG tool=deploy');
  expect(said).toContain('"token":"answer:1.1/token"');
  const file = join(tmpdir(), `${handle.workflowId}.json`);
  await cli(['export', handle.workflowId, '--no-redact', '--out', file]);
  const exported = await readFile(file, 'utf8');
  await rm(file);
  const shown = await Promise.all([
    ...['show', 'timeline'].map((name) => cli([name, handle.workflowId])),
    cli(['show', handle.workflowId, '--json']),
    cli(['list', '--json']),
  ]);
  const audit = join(directory, 'audit.jsonl');
  const { privatePem } = makeKeys();
  const key = join(directory, 'audit.key');
  await writeFile(key, privatePem, { mode: 0o600 });
  const audited = await cli(['audit', 'export', '--turn', handle.workflowId, '--out', audit, '--key', key]);
  expect(audited).toMatchObject({ code: 0 });
  const everything = [
    ...[audited.out, await readFile(audit, 'utf8'), ...logged],
    (await rawBytes(fixture, handle.workflowId)).toString('latin1'),
    (await rawBytes(fixture, handle.workflowId)).toString('utf8'),
    ...shown.map(({ out }) => out),
    exported,
    said,
    JSON.stringify(await client().view(handle.workflowId)),
  ].join('\n');
  const json = JSON.stringify(SECRET).slice(1, -1);
  for (const form of [SECRET, json, Buffer.from(SECRET).toString('base64'), 'horse-'])
    expect(everything.includes(form)).toBe(false);
  expect(shown[0]?.out).not.toMatch(/eyJ[\w-]{50}/);
});

test.each<[what: string, change: (content: JsonObject, other: JsonObject) => JsonObject, said: string]>([
  ['plain text', () => ({ token: SECRET }), 'has to be encrypted'],
  ['the ciphertext of another question', (_own, other) => other, 'another question'],
  ['what is cut', ({ token }) => ({ token: String(token).slice(0, -1) }), 'has to be encrypted'],
])('refuses %s, and records nothing of it', async (_what, change, said) => {
  const [handle, other] = [await start(asks()), await start(asks())];
  await waitFor(handle, '1.1', 'question');
  await waitFor(other, '1.1', 'question');
  const verdict = await answer(handle, change(await sealed(handle), await sealed(other)));
  expect(verdict).toMatchObject({ accepted: false, code: 'invalid_answer', issues: [{ path: '/token' }] });
  expect(JSON.stringify(verdict)).toContain(said);
  expect((await rawBytes(fixture, handle.workflowId)).includes('horse')).toBe(false);
  await Promise.all([handle.terminate(), other.terminate()]);
});

test.each<[what: string, use: ReturnType<typeof uses>, said: string]>([
  ['another tool', uses('steal'), 'is for deploy; steal cannot read it'],
  ['a handle that nobody gave', uses('steal', 'answer:9.9/token'), 'there is no secret answer:9.9/token'],
])('%s gets nothing', async (_what, use, said) => {
  const handle = await start(asks(), use);
  await waitFor(handle, '1.1', 'question');
  await answer(handle, await sealed(handle));
  const { answer: read } = await handle.result();
  expect(read).toContain(said);
  expect(read).not.toContain('horse');
});

test('a form for a tool that is not there, or for no tool, is an error for the model', async () => {
  const forTools = (tools: string[]): JsonObject => ({
    type: 'object',
    properties: { token: { type: 'string', format: 'password', 'x-for': tools } },
  });
  const unknown = await start(asks(forTools(['launch'])));
  expect((await unknown.result()).answer).toContain('a secret field is for the tool "launch"');
  const none = await start(asks(forTools([])));
  expect((await none.result()).answer).toContain('x-for');
});

test('a worker is killed while the question waits: plain text is not even signalled, and the next worker gets the secret', async () => {
  const place = await startFixture();
  const worker = await place.addProcess({ answerKeyFile: keyFile });
  const form = { ...FORM, properties: { token: { ...FORM.properties.token, 'x-for': ['deliver'] } } };
  const { toolCalls: asked } = asks(form);
  const delivers = [{ name: 'deliver', arguments: { tag: 'answer:1.1/token' } }];
  const handle = await place.startSteps({ toolCalls: asked }, { toolCalls: delivers });
  await waitFor(handle, '1.1', 'question');
  await worker.kill();
  const head = { callId: '1.1', answer: 'answered', approver: 'ann', decisionId: 'once' } as const;
  const bare = await client().answer(handle.workflowId, { ...head, content: { token: SECRET } });
  expect(bare).toMatchObject({ status: 'refused', verdict: { code: 'invalid_answer' } });
  const given = { ...head, content: await sealed(handle) };
  expect(await client().answer(handle.workflowId, given)).toMatchObject({ status: 'recorded' });
  await place.addProcess({ answerKeyFile: keyFile });
  await handle.result();
  expect(await readFile(join(place.directory, 'delivered'), 'utf8')).toBe(SECRET);
  expect(await place.effects('answer:1.1/token')).toHaveLength(1);
  expect((await rawBytes(place, handle.workflowId)).includes('horse')).toBe(false);
  expect(await client().answer(handle.workflowId, given)).toMatchObject({ status: 'accepted' });
});

test('a fork keeps the answer: its tool reads the secret again', async () => {
  const handle = await start(asks(), uses());
  await waitFor(handle, '1.1', 'question');
  await answer(handle, await sealed(handle));
  await waitFor(handle, '2.1');
  await decide(handle, { callId: '2.1', decision: 'approved' });
  await handle.result();
  const { turn } = await client().fork({ turn: handle.workflowId, at: '2.1', world: 'live' });
  const fork: TurnHandle = fixture.client.workflow.getHandle(turn);
  await waitFor(fork, '2.1');
  await decide(fork, { callId: '2.1', decision: 'approved' });
  await fork.result();
  expect(await got(fork)).toBe(SECRET);
  expect((await rawBytes(fixture, turn)).includes('horse')).toBe(false);
});
