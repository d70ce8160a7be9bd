import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign, type Session } from '../../src/client';
import type { FileRef } from '../../src/contract/session/files';
import type { Model, ModelRequest } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { until } from '../support/until';

const effects = useEffects();
const store = mkdtempSync(join(tmpdir(), 'countersign-test-'));
let fixture: Fixture;
let client: Countersign;
let opened: Promise<void> | undefined;

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** All that a person gave, as a model reads it. */
const seenIn = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => {
    if (message.role !== 'user') return [];
    const { content, files = [] } = message;
    return [{ content, files: files.map(({ name, bytes }) => `${name} ${sha256(bytes)}`) }];
  });

/** What the models were asked to summarize. */
const summarized: string[] = [];

/** Answers with what it saw. Where it is to wait it calls a tool first. */
const model: Model = {
  id: 'viewer',
  takes: ['image/*'],
  async generate(request) {
    const last = request.messages.at(-1);
    if (request.instructions.startsWith('You keep the memory')) {
      summarized.push(String(last?.content));
      return { text: 'A PICTURE', toolCalls: [], finishReason: 'stop' };
    }
    if (last?.role === 'user' && last.content.startsWith('wait')) {
      await opened;
      return {
        text: '',
        toolCalls: [{ name: 'look', arguments: '{"tag":"x"}' }],
        finishReason: 'tool-calls',
      };
    }
    return { text: JSON.stringify(seenIn(request)), toolCalls: [], finishReason: 'stop' };
  },
};

beforeAll(async () => {
  const tools = [recordTool(effects, { name: 'look' })];
  fixture = await startFixture({
    agents: [defineAgent({ name: 'viewer', instructions: 'see', model, tools })],
    files: store,
  });
  client = await connect({ address: testAddress(), files: store });
});
afterAll(async () => {
  await client.close();
  rmSync(store, { recursive: true, force: true });
});

/** A picture that no other test sends. */
const picture = (): Buffer => Buffer.from(`\x89PNG\r\n\x1a\n${randomUUID()}`, 'latin1');

const shown = (name: string, bytes: Buffer): string => `[File: ${name} (image/png, ${bytes.byteLength} B)]`;

const answerOf = async (turn: string): Promise<unknown> => {
  const { answer } = await fixture.client.workflow.getHandle(turn).result();
  return JSON.parse(answer);
};

const start = async (
  files: NonNullable<Parameters<Countersign['start']>[0]['files']>,
  prompt = 'look',
): Promise<string> => {
  const { turn } = await client.start({ agent: 'viewer', prompt, taskQueue: fixture.taskQueue, files });
  return turn;
};

const open = (): Session =>
  client.session(`s-${randomUUID()}`, { agent: 'viewer', taskQueue: fixture.taskQueue });

const ended = (session: Session, count: number) =>
  until(`${count} turns`, async () => {
    const view = await session.history();
    return view.turns.filter(({ status }) => status !== 'running').length >= count && view;
  });

test('a model sees a file; history has only what stands for it', async () => {
  const bytes = picture();
  const turn = await start([{ name: '/home/ann/a.png', bytes }]);
  const seen = [{ content: `look\n\n${shown('a.png', bytes)}`, files: [`a.png ${sha256(bytes)}`] }];
  expect(await answerOf(turn)).toEqual(seen);
  const ref: FileRef = {
    ...{ digest: sha256(bytes), mediaType: 'image/png', size: bytes.byteLength, name: 'a.png' },
  };
  expect(await client.view(turn)).toMatchObject({ prompt: 'look', files: [ref] });
  const [history] = await client.histories(turn);
  const record = JSON.stringify(history?.events?.map((event) => JSON.stringify(event)));
  const text = bytes.subarray(8);
  expect(record.includes(text.toString('base64').slice(0, 30))).toBe(false);
  expect(record.includes(text.toString())).toBe(false);
  expect(readFileSync(join(store, ref.digest.slice(0, 2), ref.digest))).toEqual(bytes);
});

test('a fork sees the same file', async () => {
  const bytes = picture();
  const turn = await start([{ name: 'a.png', bytes }]);
  const answer = await answerOf(turn);
  const fork = await client.fork({ turn, at: '1', world: 'dry' });
  expect(await answerOf(fork.turn)).toEqual(answer);
});

test('a file that is gone is said to the model in words', async () => {
  const bytes = picture();
  const digest = sha256(bytes);
  const turn = await start([{ digest, mediaType: 'image/png', size: bytes.byteLength, name: 'a.png' }]);
  const why = 'it is not in the store of files';
  const content = `look\n\n[File that you cannot read: a.png (image/png, ${bytes.byteLength} B): ${why}]`;
  expect(await answerOf(turn)).toEqual([{ content, files: [] }]);
});

test('a turn that is reset sees the same file again', async () => {
  const bytes = picture();
  const turn = await start([{ name: 'a.png', bytes }], 'wait');
  const seen = [{ content: `wait\n\n${shown('a.png', bytes)}`, files: [`a.png ${sha256(bytes)}`] }];
  expect(await answerOf(turn)).toEqual(seen);
  const { runId } = await client.reset(await client.planReset(turn, '1.1'));
  const { answer } = await fixture.client.workflow.getHandle(turn, runId).result();
  expect(JSON.parse(answer)).toEqual(seen);
  expect(await client.view(turn)).toMatchObject({ files: [{ name: 'a.png' }] });
});

test('a summary names a file, and the turns after it no longer have its bytes', async () => {
  const session = open();
  const [old, fresh] = [picture(), picture()];
  await session.send({ text: `${session.id} first`, files: [{ name: 'old.png', bytes: old }] });
  await ended(session, 1);
  await session.send({ text: 'second', files: [{ name: 'fresh.png', bytes: fresh }] });
  await ended(session, 2);
  await session.compact();
  await until('the summary', async () => (await session.history()).summary !== undefined);
  const material = summarized.find((one) => one.includes(session.id)) ?? '';
  expect(material).toContain('old.png');
  expect(material).not.toContain(old.subarray(8).toString());
  await session.send('third');
  const { turns, messages } = await ended(session, 3);
  const seen = JSON.parse(turns[2]?.answer ?? '');
  expect(seen[0].content).toContain('A PICTURE');
  const second = { content: `second\n\n${shown('fresh.png', fresh)}`, files: [`fresh.png ${sha256(fresh)}`] };
  expect(seen.slice(1)).toEqual([second, { content: 'third', files: [] }]);
  expect(messages[0]).toMatchObject({ files: [{ name: 'old.png' }] });
  await session.close();
});

test('a file that is taken out of the store before a later turn asks is said in words, and the turn answers', async () => {
  const bytes = picture();
  const ref = await client.files()?.put({ name: 'a.png', bytes });
  if (ref === undefined) throw new Error('no store');
  rmSync(join(store, ref.digest.slice(0, 2), ref.digest));
  const session = open();
  await session.send({ text: 'look', files: [ref] });
  const { turns } = await ended(session, 1);
  expect(turns[0]?.status).toBe('answered');
  expect(turns[0]?.answer).toContain('it is not in the store of files');
  expect(readdirSync(join(store, ref.digest.slice(0, 2)))).not.toContain(ref.digest);
  await session.close();
});

test('the turns of a session see the files of the messages before them', async () => {
  const session = open();
  const bytes = picture();
  await session.send({ text: 'first', files: [{ name: 'a.png', bytes }] });
  await ended(session, 1);
  await session.send('second');
  const { turns, messages } = await ended(session, 2);
  const first = { content: `first\n\n${shown('a.png', bytes)}`, files: [`a.png ${sha256(bytes)}`] };
  expect(JSON.parse(turns[1]?.answer ?? '')).toEqual([first, { content: 'second', files: [] }]);
  expect(turns[0]).toMatchObject({ prompt: 'first', files: [{ name: 'a.png' }] });
  expect(messages[0]).toMatchObject({ text: 'first', files: [{ name: 'a.png' }] });
  await session.close();
});

test('a running turn takes up the file of a message that steers it', async () => {
  const session = open();
  const bytes = picture();
  let release = (): void => undefined;
  opened = new Promise<void>((resolve) => (release = resolve));
  await session.send('wait');
  await until('the turn', async () => (await session.state()).state === 'running');
  const sent = await session.send({ text: 'see this', mode: 'steer', files: [{ name: 'b.png', bytes }] });
  expect(sent).toMatchObject({ outcome: 'steering' });
  release();
  const { turns } = await ended(session, 1);
  const steered = { content: `see this\n\n${shown('b.png', bytes)}`, files: [`b.png ${sha256(bytes)}`] };
  expect(JSON.parse(turns.at(-1)?.answer ?? '')).toContainEqual(steered);
  await session.close();
});

test('the same id with other files is another message', async () => {
  const session = open();
  const messageId = randomUUID();
  const bytes = picture();
  const send = (content: Buffer) =>
    session.send({ text: 'look', messageId, files: [{ name: 'a.png', bytes: content }] });
  await send(bytes);
  expect(await send(bytes)).toMatchObject({ status: 'taken' });
  await expect(send(picture())).rejects.toMatchObject({ code: 'exists' });
  await session.close({ cancel: true });
});

test('more files than a message may have are refused, and a file without a store', async () => {
  const files = Array.from({ length: 9 }, (_, n) => ({ name: `${n}.png`, bytes: picture() }));
  await expect(start(files)).rejects.toMatchObject({ code: 'usage' });
  const without = await connect({ address: testAddress(), files: '' });
  try {
    const request = { agent: 'viewer', prompt: 'look', files: files.slice(0, 1) };
    await expect(without.start(request)).rejects.toMatchObject({
      code: 'usage',
      message: 'there is no store for the files of a message',
    });
  } finally {
    await without.close();
  }
});
