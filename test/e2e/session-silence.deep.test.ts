import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { connect, type Countersign, type Session } from '../../src/client';
import { LIMITS } from '../../src/contract/limits';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { until } from '../support/until';

/** All that a server takes of one run here. */
const UPDATES = 5;

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;
let directory: string;
let broken: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-silence-'));
  broken = join(directory, 'workflows.js');
  const workflowsPath = join(__dirname, '..', 'fixtures', 'broken-workflows.ts');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR', () => {}) });
  await writeFile(broken, code);
  fixture = await startFixture({
    workers: 0,
    ownServer: { dynamicConfig: [`history.maxTotalUpdates=${UPDATES}`] },
    agents: [
      defineAgent({
        ...{ name: 'talker', instructions: 'do', model: book.model },
        tools: [recordTool(effects, { name: 'pay', safety: 'dangerous' })],
      }),
    ],
  });
  client = await connect({ address: fixture.address });
});
afterAll(async () => {
  await client.close();
  await rm(directory, { recursive: true, force: true });
});

/** A session whose turn asks a person. */
const asking = async (tag: string): Promise<Session> => {
  const session = client.session(`s-${randomUUID()}`, { agent: 'talker', taskQueue: fixture.taskQueue });
  await session.send(book.add({ toolCalls: [{ name: 'pay', arguments: { tag } }] }, { text: 'paid' }));
  await until('the request', async () =>
    (await client.inbox({ agent: 'talker', limit: Infinity })).some((item) => item.session === session.id),
  );
  return session;
};

const ended = (session: Session, count: number) =>
  until(`${count} turns`, async () => {
    const view = await session.history();
    return view.turns.filter(({ status }) => status !== 'running').length >= count && view;
  });

test('what is said while a worker fails at session and turn is on record, and counts with the next worker', async () => {
  const good = await fixture.addWorker();
  const session = await asking('failing');
  await good.stop();
  const bad = await fixture.addWorker({ workflowBundle: broken });
  const failing = (id: string) =>
    until(`a failing task of ${id}`, async () => {
      const { raw } = await fixture.client.workflow.getHandle(id).describe();
      return (raw.pendingWorkflowTask?.attempt ?? 0) >= 2;
    });
  for (const id of [session.id, `${session.id}.t1`]) {
    await fixture.client.workflow.getHandle(id).signal('nobody_listens');
    await failing(id);
  }
  const sent = session.send({ text: book.add({ text: 'second' }), messageId: 'meanwhile' });
  expect(await sent).toEqual({ status: 'recorded', messageId: 'meanwhile' });
  await session.pause();
  const decided = client.decide(`${session.id}.t1`, { callId: '1.1', decision: 'approved' });
  expect(await decided).toMatchObject({ status: 'recorded' });
  await bad.stop();
  const again = await fixture.addWorker();
  expect((await ended(session, 1)).turns).toMatchObject([{ answer: 'paid' }]);
  await until('the pause', async () => (await session.state()).state === 'paused');
  await session.resume();
  expect((await ended(session, 2)).turns).toMatchObject([{}, { answer: 'second' }]);
  expect(await effects.lines('failing')).toHaveLength(1);
  await session.close();
  await again.stop();
});

test('past the updates that the server allows one run, people are heard by signal', async () => {
  const worker = await fixture.addWorker();
  const session = await asking('past the updates');
  for (let n = 0; n < UPDATES; n++) await (n % 2 === 0 ? session.pause() : session.resume());
  await session.resume();
  const sent = session.send({ text: book.add({ text: 'second' }), messageId: 'late' });
  expect(await sent).toMatchObject({ status: 'recorded' });
  await client.decide(`${session.id}.t1`, { callId: '1.1', decision: 'approved' });
  expect((await ended(session, 2)).turns).toMatchObject([{ answer: 'paid' }, { answer: 'second' }]);
  await session.close();
  await worker.stop();
});

test('what a session refuses by signal is no longer among the messages that wait', async () => {
  const worker = await fixture.addWorker();
  const session = await asking('refused');
  await worker.stop();
  const words = { text: 'x'.repeat(LIMITS.sessionWaitingBytes - 100), messageId: 'long', mode: 'queue' };
  const handle = fixture.client.workflow.getHandle(session.id);
  for (const message of [words, { ...words, messageId: 'full' }, { ...words, text: 'other' }])
    await handle.signal('send', message);
  const again = await fixture.addWorker();
  const refused = await until('the refusals', async () => {
    const { refused = [] } = await session.state();
    return refused.length === 2 && refused;
  });
  expect(refused).toEqual([
    { messageId: 'full', code: 'full' },
    { messageId: 'long', code: 'exists' },
  ]);
  const { waiting, messages } = await session.history();
  expect(waiting.map(({ messageId }) => messageId)).toEqual(['long']);
  expect(messages).toHaveLength(2);
  await session.close({ cancel: true });
  await again.stop();
});
