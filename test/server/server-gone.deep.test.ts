import { startOwnServer } from '../support/server';
import { freePorts } from '../../src/engine/server-args';
import { eventsIn, testClient, createTestApp } from './support';

test('an open inbox shows that the Temporal server is gone, and goes on when it is back', async () => {
  const [port = 0] = await freePorts(1);
  const server = await startOwnServer({ port });
  const client = await testClient(server.address);
  const app = await createTestApp(client);
  const cookie = await app.signIn();
  const stream = eventsIn(await app.ask('/api/inbox/events', { cookie }));
  const next = async () => (await stream.next()).value;
  expect(await next()).toMatchObject({ event: 'waiting', data: { waiting: 0, complete: true } });
  await server.stop();
  expect(await next()).toMatchObject({
    event: 'trouble',
    data: { code: 'no_server', hint: expect.any(String) },
  });
  const kept = await app.ask('/api/inbox', { cookie });
  expect({ status: kept.status, body: await kept.json() }).toMatchObject({
    status: 200,
    body: { waiting: 0 },
  });
  const again = await startOwnServer({ port });
  let event = await next();
  while (event?.event === 'trouble') event = await next();
  expect(event).toMatchObject({ event: 'waiting' });
  app.close();
  await stream.return(undefined);
  await app.remove();
  await client.close();
  await again.stop();
});
