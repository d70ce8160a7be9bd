import { connect } from '../../src/client/connect';
import { detailsOf, isAnswerLost, STATUS } from '../../src/history/server-errors';
import { startRefusingServer } from '../support/refusing-server';

test('a call is rejected where the client is closed between two tries, and the process goes on', async () => {
  const refusal = { status: STATUS.unavailable, message: 'away', answered: ['GetSystemInfo'] };
  const server = await startRefusingServer(refusal);
  const connected = await connect({ address: server.address });
  const { client } = connected;
  const described = client.workflow.getHandle('any').describe();
  // The first try is refused in a few milliseconds, the next one comes after 100.
  await client.workflowService.getSystemInfo({});
  await connected.close();
  await expect(described).rejects.toMatchObject({
    cause: { details: expect.stringMatching(/^Channel has been shut down/) },
  });
  await server.stop();
});

test('a call whose first try was sent may have arrived, though nobody listens at its last', async () => {
  const refusal = { status: STATUS.unavailable, message: 'away', answered: ['GetSystemInfo'] };
  const server = await startRefusingServer(refusal);
  const connected = await connect({ address: server.address });
  const { client } = connected;
  const send = () => client.workflow.getHandle('any').signal('go');
  const sent = client.withDeadline(Date.now() + 1_000, send).catch((error: unknown) => error);
  await client.workflowService.getSystemInfo({});
  await server.stop();
  const error = await sent;
  expect(detailsOf(error)).toMatch(/an earlier try may have arrived$/);
  expect(isAnswerLost(error)).toBe(true);
  await connected.close();
});
