import { randomUUID } from 'node:crypto';
import { Worker } from '@temporalio/worker';
import { connect, type Countersign, type Session, type SessionEvent } from '../../src/client';
import { type Model, ModelError, type ModelRequest } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress, testBundle } from '../support/server';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

/** What the models were asked to summarize, by the session's tag, which each conversation says first. */
const summarized: string[] = [];
/** How the next summary of a conversation with this tag is written. */
const writers = new Map<string, (request: ModelRequest) => Promise<string>>();

const model: Model = {
  id: 'book',
  generate: async (request) => {
    if (!request.instructions.startsWith('You keep the memory')) return book.model.generate(request);
    const material = String(request.messages[0]?.content);
    summarized.push(material);
    const tag = [...writers.keys()].find((one) => material.includes(one));
    const text = await writers.get(tag ?? '')?.(request);
    return { text: text ?? 'a summary', toolCalls: [], finishReason: 'stop', usage: { inputTokens: 5 } };
  },
};

/** The most tokens that an agent may remember here: some 4 KB. */
const OVER = 1000;

beforeAll(async () => {
  const tools = [recordTool(effects, { name: 'look' }, (tag) => `${tag} ${'o'.repeat(1500)}`)];
  const limits = { compactOver: OVER };
  fixture = await startFixture({
    agents: [
      defineAgent({ name: 'talker', instructions: 'do', model, tools, limits }),
      defineAgent({ name: 'never', instructions: 'do', model, tools, limits: { compactOver: false } }),
    ],
  });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

const open = (agent = 'talker'): Session =>
  client.session(`s-${randomUUID()}`, { agent, taskQueue: fixture.taskQueue });

const ended = (session: Session, count: number) =>
  until(`${count} turns`, async () => {
    const view = await session.history();
    return view.turns.filter(({ status }) => status !== 'running').length >= count && view;
  });

/** Says something to which the answer has some 300 tokens. */
async function say(session: Session, count: number, word: string): Promise<void> {
  await session.send(book.add({ text: `${word} ${'x'.repeat(1200)}` }));
  await ended(session, count);
}

/** What the model of the next turn reads. */
async function read(session: Session, count: number): Promise<string[]> {
  const seen: string[][] = [];
  const step = ({ messages }: ModelRequest) => (
    seen.push(messages.map(({ content }) => content)),
    { text: 'ok' }
  );
  await session.send(book.add(step));
  await ended(session, count);
  return seen[0] ?? [];
}

/** The first event of this type. */
const happened = async (session: Session, type: SessionEvent['type']) => {
  for await (const event of session.follow({ signal: AbortSignal.timeout(20_000) }))
    if (event.type === type) return event;
  throw new Error(`no ${type}`);
};

const idle = (session: Session) =>
  until('the summary', async () => (await session.state()).state !== 'compacting');

test('over its limit the oldest turns become a summary, and the last ones stay word by word', async () => {
  const session = open();
  writers.set(session.id, async () => 'They spoke of ONE and TWO.');
  await session.send(book.add({ text: `${session.id} ONE ${'x'.repeat(1200)}` }));
  await ended(session, 1);
  await say(session, 2, 'TWO');
  await say(session, 3, 'THREE');
  const event = await happened(session, 'compacted');
  expect(event).toMatchObject({ turns: 2, model: 'book', text: 'They spoke of ONE and TWO.' });
  const material = summarized.find((one) => one.includes(session.id)) ?? '';
  expect(material.split('\n').map((line) => Object.keys(JSON.parse(line))[0])).toEqual(
    Array.from({ length: 2 }, () => ['person', 'assistant']).flat(),
  );
  const seen = await read(session, 4);
  expect(seen[0]).toBe(
    '[The first 2 turns of this conversation are kept only in this summary of yours:]\nThey spoke of ONE and TWO.',
  );
  expect(seen.slice(1).map((text) => text.slice(0, 4))).toEqual(['foll', 'THRE', 'foll']);
  const view = await session.history();
  expect(view).toMatchObject({ summary: { turns: 2 }, summaryUsage: { inputTokens: 5 } });
  expect(view.turns).toHaveLength(4);
});

test('a later summary holds the earlier one, and calls keep their results', async () => {
  const session = open();
  writers.set(session.id, async () => 'EARLIER');
  await session.send(book.add({ text: `${session.id} ${'x'.repeat(1200)}` }));
  await ended(session, 1);
  for (const n of [2, 3]) await say(session, n, 'more');
  await happened(session, 'compacted');
  writers.set('EARLIER', async () => 'LATER');
  writers.delete(session.id);
  const looks = { toolCalls: [{ name: 'look', arguments: { tag: 'kept' } }] };
  for (const n of [4, 5]) {
    await session.send(book.add(looks, { text: 'looked' }));
    await ended(session, n);
  }
  const later = await until('the later summary', async () => {
    const { summary } = await session.history();
    return summary?.text === 'LATER' && summary;
  });
  expect(later).toMatchObject({ turns: 4 });
  const lines = (summarized.find((one) => one.includes('EARLIER')) ?? '')
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines[0].person).toContain('EARLIER');
  for (const [at, { calls }] of lines.entries())
    if (calls !== undefined) expect(lines[at + 1]).toMatchObject({ tool: 'look', success: true });
  expect(lines.filter(({ calls }) => calls !== undefined)).toHaveLength(
    lines.filter(({ tool }) => tool).length,
  );
});

test('where no model can write one, the oldest outputs are dropped with a mark', async () => {
  const session = open();
  writers.set(session.id, async () => {
    throw new ModelError('auth', 'the key is wrong', { retryable: false });
  });
  const looks = { toolCalls: [{ name: 'look', arguments: { tag: session.id } }] };
  for (const n of [1, 2, 3, 4]) {
    await session.send(book.add(looks, { text: `looked ${n}` }));
    await ended(session, n);
  }
  expect(await happened(session, 'compaction_failed')).toMatchObject({
    error: expect.stringContaining('the key is wrong'),
  });
  const seen = await read(session, 5);
  expect(seen).toContain('[older output dropped to keep the transcript within its limit]');
  expect(seen.filter((text) => text.startsWith('looked'))).toHaveLength(4);
  expect(seen.some((text) => text.startsWith(`${session.id} ooo`))).toBe(true);
});

test('what is said meanwhile waits; closing does not wait for the summary', async () => {
  const session = open();
  let asked = (): void => undefined;
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  writers.set(session.id, (request) => {
    asked();
    return new Promise((_, reject) =>
      request.signal.addEventListener('abort', () => reject(new Error('stopped'))),
    );
  });
  await session.send(book.add({ text: `${session.id} ${'x'.repeat(1200)}` }));
  await ended(session, 1);
  for (const n of [2, 3]) await say(session, n, 'more');
  await isAsked;
  await until('the state', async () => (await session.state()).state === 'compacting');
  const waits = await session.send({ text: 'and now?', messageId: 'late' });
  expect(waits).toMatchObject({ status: 'taken' });
  await session.close();
  expect(await fixture.client.workflow.getHandle(session.id).result()).toEqual({
    ...{ status: 'closed', turns: 3, left: ['late'] },
  });
});

test('somebody asks for it; an agent may refuse it by itself, and with one turn alone it is refused', async () => {
  const session = open('never');
  await session.send(book.add({ text: `${session.id} ${'x'.repeat(9000)}` }));
  await ended(session, 1);
  await expect(session.compact({ sender: 'ann' })).rejects.toMatchObject({ code: 'refused' });
  await say(session, 2, 'second');
  expect(summarized.some((one) => one.includes(session.id))).toBe(false);
  writers.set(session.id, async () => 'asked for');
  await session.pause();
  await session.compact({ sender: 'ann' });
  expect(await happened(session, 'compacted')).toMatchObject({ turns: 1, text: 'asked for' });
  await idle(session);
  expect((await session.state()).state).toBe('paused');
  await session.resume();
  expect((await read(session, 3))[0]).toBe(
    '[The first turn of this conversation is kept only in this summary of yours:]\nasked for',
  );
});

test('the history of a session with summaries replays', async () => {
  const session = open();
  writers.set(session.id, async () => 'S');
  await session.send(book.add({ text: `${session.id} ${'x'.repeat(1200)}` }));
  await ended(session, 1);
  for (const n of [2, 3]) await say(session, n, 'more');
  await happened(session, 'compacted');
  const history = await fixture.client.workflow.getHandle(session.id).fetchHistory();
  const replay = Worker.runReplayHistory({ workflowBundle: { codePath: testBundle() } }, history, session.id);
  await expect(replay).resolves.toBeUndefined();
});
