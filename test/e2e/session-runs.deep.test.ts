import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign, type Session } from '../../src/client';
import type { Model } from '../../src/models/model';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { calls, startFixture, type Fixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { until } from '../support/until';

/** A server that suggests to continue as new after a few events. */
const SUGGEST = 'limit.historyCount.suggestContinueAsNew=5';

const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

const effects = useEffects();
const helper = defineAgent({
  ...{ name: 'helper', instructions: 'do', model: book.model },
  tools: [recordTool(effects, { name: 'look' })],
});

const store = mkdtempSync(join(tmpdir(), 'countersign-test-'));

/** Answers with all that it reads of people. */
const reader: Model = {
  id: 'reader',
  generate: async ({ messages }) => ({
    text: messages.flatMap(({ role, content }) => (role === 'user' ? [content] : [])).join(' | '),
    ...{ toolCalls: [], finishReason: 'stop' },
  }),
};

beforeAll(async () => {
  fixture = await startFixture({
    files: store,
    ownServer: { dynamicConfig: [SUGGEST] },
    agents: [
      defineAgent({ name: 'talker', instructions: 'do', model: book.model, tools: [] }),
      defineAgent({ name: 'boss', instructions: 'do', model: book.model, tools: [agentTool(helper)] }),
      helper,
      defineAgent({ name: 'reader', instructions: 'read', model: reader, tools: [] }),
    ],
  });
  client = await connect({ address: fixture.address, files: store });
});
afterAll(async () => {
  await client.close();
  rmSync(store, { recursive: true, force: true });
});

const open = (agent = 'talker'): Session =>
  client.session(`s-${randomUUID()}`, { agent, taskQueue: fixture.taskQueue });

const answers = (session: Session, count: number) =>
  until(`${count} answers`, async () => {
    const { turns } = await session.history();
    const answered = turns.flatMap(({ answer }) => answer ?? []);
    return answered.length >= count && answered;
  });

test('it continues as new under load; each message of two senders is answered once, in its order', async () => {
  const session = open();
  const texts = Array.from({ length: 24 }, (_, n) => book.add({ text: `answer ${n}` }));
  const sender = async (own: string[]): Promise<void> => {
    for (const text of own) await session.send({ text, messageId: text.slice(-12) });
  };
  await Promise.all([sender(texts.slice(0, 12)), sender(texts.slice(12))]);
  const found = await answers(session, 24);
  expect([...found].sort()).toEqual(texts.map((_, n) => `answer ${n}`).sort());
  const numbers = found.map((text) => Number(text.slice(7)));
  expect(numbers.filter((n) => n < 12)).toEqual([...numbers.filter((n) => n < 12)].sort((a, b) => a - b));
  const { count } = await fixture.client.workflow.count(`WorkflowId = '${session.id}'`);
  expect(count).toBeGreaterThan(2);
  expect(await session.send({ text: texts[0] ?? '', messageId: (texts[0] ?? '').slice(-12) })).toMatchObject({
    status: 'taken',
    repeated: true,
  });
});

test('what waits keeps its file when the session continues as new, and later turns read the earlier file', async () => {
  const session = open('reader');
  const file = (text: string) => ({
    files: [{ name: `${text}.txt`, bytes: Buffer.from(`bytes of ${text}`) }],
  });
  await session.send({ text: 'one', ...file('one') });
  await session.pause();
  for (const text of ['two', 'three']) await session.send({ text, ...file(text) });
  const runs = async (): Promise<number> =>
    (await fixture.client.workflow.count(`WorkflowId = '${session.id}'`)).count;
  await session.resume();
  const found = await answers(session, 3);
  expect(await runs()).toBeGreaterThan(1);
  for (const text of ['one', 'two', 'three']) expect(found[2]).toContain(`bytes of ${text}`);
  const { messages } = await session.history();
  expect(messages.map(({ files }) => files?.[0]?.name)).toEqual(['one.txt', 'two.txt', 'three.txt']);
});

test('the next turn knows what was said in turns that are deleted', async () => {
  const session = open();
  const seen: string[][] = [];
  await session.send(book.add({ text: 'the number is 7' }));
  await answers(session, 1);
  const old = fixture.client.workflow.getHandle(`${session.id}.t1`);
  const { namespace } = fixture.client.options;
  await fixture.client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: old.workflowId },
  });
  const isGone = (): Promise<boolean> =>
    old.describe().then(
      () => false,
      () => true,
    );
  // The server deletes some half a minute later.
  await until('the turn to be gone', isGone, 90);
  await session.send(
    book.add(({ messages }) => {
      seen.push(messages.map(({ content }) => content));
      return { text: 'still 7' };
    }),
  );
  expect(await answers(session, 2)).toEqual(['the number is 7', 'still 7']);
  expect(seen[0]).toContain('the number is 7');
});

test('a child turn that has continued as new is cancelled with the turn that called it', async () => {
  const look = (tag: string) => ({ toolCalls: [{ name: 'look', arguments: { tag } }] });
  let asked = (): void => undefined;
  const wasAsked = new Promise<void>((resolve) => (asked = resolve));
  const hangs = () => (asked(), new Promise<never>(() => undefined));
  const task = book.add(look('one'), look('two'), hangs);
  const prompt = book.add({ toolCalls: [{ name: 'helper', arguments: { task } }] }, { text: 'never' });
  const { turn } = await client.start({ agent: 'boss', prompt, taskQueue: fixture.taskQueue });
  await wasAsked;
  const [call] = (await client.view(turn)).calls;
  const child = fixture.client.workflow.getHandle(call?.child ?? '');
  const runs = await fixture.client.workflow.count(`WorkflowId = '${child.workflowId}'`);
  expect(runs.count).toBeGreaterThan(1);
  await fixture.client.workflow.getHandle(turn).cancel();
  await expect(fixture.client.workflow.getHandle(turn).result()).rejects.toThrow();
  expect((await child.describe()).status.name).toBe('CANCELLED');
});

test('a worker that is killed in the middle of a turn loses nothing', async () => {
  const own = await startFixture();
  const worker = await own.addProcess();
  const session = client.session(`s-${randomUUID()}`, { agent: 'crash', taskQueue: own.taskQueue });
  const there = await connect({ address: own.address });
  const here = there.session(session.id, { agent: 'crash', taskQueue: own.taskQueue });
  await here.send({ text: JSON.stringify([calls('look:killed')]), messageId: 'first' });
  await own.effectsOf('killed', 1);
  await worker.kill();
  expect(await here.send({ text: 'later', messageId: 'second' })).toMatchObject({ status: 'recorded' });
  await own.addProcess();
  await own.open('killed');
  const { turns } = await until('both turns', async () => {
    const view = await here.history();
    return view.turns.length === 2 && view.turns.every(({ status }) => status !== 'running') && view;
  });
  expect(turns).toMatchObject([{ status: 'answered', messageId: 'first' }, { messageId: 'second' }]);
  await there.close();
});
