import { Client, Connection, type WorkflowService } from '@temporalio/client';
import type { Countersign } from '../../src/client';
import { ensureAttributes } from '../../src/engine/search-attributes';
import { isLimited } from '../../src/history/server-errors';
import type { InboxPage } from '../../src/server/api';
import { createTestApp, eventsIn, testClient } from '../server/support';
import { isVisibility, mostASecond, startWaiting } from '../server/waiting-turns';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { makeNamespace } from './support/place';

/** The server lists ten times a second in it, and refuses the rest. */
const NAMESPACE = 'limited';
const TURNS = 120;

let connection: Connection;
let proxy: FaultProxy;
let countersign: Countersign;

beforeAll(async () => {
  connection = await Connection.connect({ address: testAddress() });
  await makeNamespace(connection, NAMESPACE);
  await ensureAttributes({ connection, namespace: NAMESPACE });
  proxy = await startFaultProxy(testAddress());
  countersign = await testClient(proxy.address, NAMESPACE);
  const client = new Client({ connection, namespace: NAMESPACE });
  for (let place = 0; place < TURNS; place++) await startWaiting(client, place, TURNS);
});

afterAll(async () => {
  await countersign.close();
  await proxy.stop();
  await connection.close();
});

/** A program of somebody else that takes all that the namespace has; it counts what the server refuses it. */
const takeAll = (workflowService: WorkflowService) => {
  const ended = new AbortController();
  let refused = 0;
  const ask = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      try {
        await workflowService.countWorkflowExecutions({ namespace: NAMESPACE });
      } catch (error) {
        if (!isLimited(error)) throw error;
        refused += 1;
      }
    }
  };
  const asking = Promise.all(Array.from({ length: 8 }, ask));
  const stop = async (): Promise<void> => {
    ended.abort();
    await asking;
  };
  return { refusals: () => refused, stop };
};

it('reads less and says why where others take all that the server allows, and reads all of it afterwards', async () => {
  const app = await createTestApp(countersign);
  const cookie = await app.signIn();
  const raw = await Connection.connect({ address: testAddress(), interceptors: [] });
  const neighbour = takeAll(raw.workflowService);
  await until('the server to refuse', () => neighbour.refusals() > 20);
  const from = performance.now();
  const events = eventsIn(await app.ask('/api/inbox/events', { cookie }));
  const trouble = await until('the page to be told', async () => {
    const { value } = await events.next();
    return value?.event === 'trouble' ? value.data : undefined;
  });
  expect(trouble).toMatchObject({ code: 'server_busy' });
  const limited = proxy.calls.filter((call) => isVisibility(call) && call.at >= from).length;
  expect(limited).toBeLessThanOrEqual(2 * Math.ceil((performance.now() - from) / 1000) + 1);
  await neighbour.stop();
  const read = async (): Promise<InboxPage> =>
    JSON.parse(await (await app.ask('/api/inbox', { cookie })).text());
  await until('all of it', async () => (await read()).complete, 120);
  expect((await read()).waiting).toBe(TURNS + TURNS / 10);
  expect(mostASecond(proxy, from)).toBeLessThanOrEqual(2);
  app.close();
  await events.return(undefined);
  await app.remove();
  await raw.close();
});
