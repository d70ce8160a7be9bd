import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { decide, eventsOf, signalDecision, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const SIGNALS = 3000;
/** So long that a task has room for less than a thousand. */
const JUNK = { junk: 'x'.repeat(3500) };
let fixture: Fixture;

beforeAll(async () => {
  const ownServer = { dynamicConfig: ['history.maximumSignalsPerExecution=10000'] };
  const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous' })];
  const agents = [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })];
  fixture = await startFixture({ workers: 0, ownServer, agents });
});

const asking = (tag: string): Promise<TurnHandle> =>
  fixture.start('payer', book.add({ toolCalls: [{ name: 'pay', arguments: { tag } }] }));

test('more messages than one task may judge are judged in order, and the turn stays decidable', async () => {
  const worker = await fixture.addWorker();
  const handle = await asking('flood');
  await waitFor(handle, '1.1', 'request');
  await worker.stop();
  const { runId } = await handle.describe();
  for (let sent = 0; sent < SIGNALS; sent += 200)
    await Promise.all(Array.from({ length: 200 }, () => handle.signal('approval', JUNK)));
  await signalDecision(handle, { callId: '1.1', decision: 'approved', approver: 'first' });
  await signalDecision(handle, { callId: '1.1', decision: 'denied', approver: 'second' });
  await fixture.addWorker();
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect(await effects.lines('flood')).toHaveLength(1);
  // A history of this size goes on as a new run, so this one is asked for by its id.
  const events = await eventsOf(fixture.client.workflow.getHandle(handle.workflowId, runId));
  expect(events.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
  expect(events.filter((event) => event.timerStartedEventAttributes).length).toBeGreaterThanOrEqual(3);
  expect((await verdictsOf(handle)).length).toBeLessThanOrEqual(20);
  const next = await asking('after the flood');
  await waitFor(next, '1.1', 'request');
  expect(await decide(next, { callId: '1.1', decision: 'approved' })).toMatchObject({ accepted: true });
  await until('the payment', async () => (await effects.lines('after the flood')).length === 1);
  await next.result();
});
