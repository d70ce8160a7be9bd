import { connect, type Countersign } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { decide, eventsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const gates = new Map<string, () => void>();
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  const ownServer = { dynamicConfig: ['history.maximumSignalsPerExecution=5'] };
  const late = (tag: string): Promise<void> => new Promise((release) => gates.set(tag, release));
  const tools = [
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
    recordTool(effects, { name: 'slow', safety: 'dangerous', timeout: 1000 }, late),
  ];
  const agents = [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })];
  fixture = await startFixture({ workers: 0, ownServer, agents });
  client = await connect({ address: fixture.address });
});
afterAll(() => client.close());

const asking = async (name: string, tag: string): Promise<TurnHandle> => {
  const handle = await fixture.start('payer', book.add({ toolCalls: [{ name, arguments: { tag } }] }));
  await waitFor(handle, '1.1', 'request');
  return handle;
};

const fill = async (handle: TurnHandle): Promise<void> => {
  for (let sent = 0; sent < 5; sent++) await handle.signal('nobody_listens');
  await expect(handle.signal('nobody_listens')).rejects.toThrow();
};

test('a decision past the limit is refused in words without a worker, and taken with one', async () => {
  const worker = await fixture.addWorker();
  const handle = await asking('pay', 'past the limit');
  await worker.stop();
  await fill(handle);
  // The server may hand the first update to the worker that comes: it is taken once.
  const approved = { callId: '1.1', decision: 'approved', decisionId: 'one' } as const;
  await expect(client.decide(handle.workflowId, approved)).rejects.toMatchObject({
    code: 'full',
    message: expect.stringContaining('not on record'),
  });
  const again = await fixture.addWorker();
  expect(await client.decide(handle.workflowId, approved)).toMatchObject({ status: 'accepted' });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect(await effects.lines('past the limit')).toHaveLength(1);
  await again.stop();
});

test('an outcome that is late and past the limit is found in the journal', async () => {
  const worker = await fixture.addWorker();
  const handle = await asking('slow', 'late');
  await fill(handle);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '1.1', 'in_doubt');
  await until('the gate', () => gates.get('late'));
  gates.get('late')?.();
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect(await effects.lines('late')).toHaveLength(1);
  const events = await eventsOf(handle);
  expect(events.filter((event) => event.workflowExecutionSignaledEventAttributes)).toHaveLength(5);
  await worker.stop();
});
