import { randomUUID } from 'node:crypto';
import { Worker } from '@temporalio/worker';
import { connect, type Countersign, type Session } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { resetRun } from '../support/operator';
import { scriptBook } from '../support/script-book';
import { testAddress, testBundle } from '../support/server';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous' })];
  const agents = [defineAgent({ name: 'talker', instructions: 'do', model: book.model, tools })];
  fixture = await startFixture({ agents });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

const asksIn = (turn: string) =>
  until(`the request of ${turn}`, async () =>
    (await client.inbox({ agent: 'talker', limit: Infinity })).some((item) => item.turn === turn),
  );

/** Takes a session back to before its last turn. */
const resetTurn = async ({ id, state }: Session): Promise<void> => {
  const { events } = await fixture.client.workflow.getHandle(id).fetchHistory();
  const begun = (events ?? []).flatMap(
    (event) => event.startChildWorkflowExecutionInitiatedEventAttributes ?? [],
  );
  const eventId = Number(begun.at(-1)?.workflowTaskCompletedEventId);
  await resetRun(fixture.client, { workflowId: id, runId: (await state()).runId, eventId });
};

const statusOf = async (turn: string): Promise<string> =>
  (await fixture.client.workflow.getHandle(turn).describe()).status.name;

test("Temporal's own reset to before a turn: the turn that it took back is cancelled", async () => {
  const session = client.session(`s-${randomUUID()}`, { agent: 'talker', taskQueue: fixture.taskQueue });
  const [second, third] = [`${session.id}.t2`, `${session.id}.t3`] as const;
  await session.send(book.add({ text: 'one' }));
  await until('the first turn', async () => (await session.history()).turns[0]?.status === 'answered');
  const pay = { toolCalls: [{ name: 'pay', arguments: { tag: session.id } }] };
  await session.send(book.add(pay, { text: 'paid' }));
  await asksIn(second);
  await resetTurn(session);
  await asksIn(third);
  await until(
    'the end of the turn that was taken back',
    async () => (await statusOf(second)) === 'CANCELLED',
  );
  await client.decide(third, { callId: '1.1', decision: 'approved' });
  await until('the answer', async () => {
    const { turns } = await session.history();
    return turns.some(({ answer }) => answer === 'paid');
  });
  expect(await effects.lines(session.id)).toHaveLength(1);
  const history = await fixture.client.workflow.getHandle(session.id).fetchHistory();
  const replay = Worker.runReplayHistory({ workflowBundle: { codePath: testBundle() } }, history, session.id);
  await expect(replay).resolves.toBeUndefined();
});
