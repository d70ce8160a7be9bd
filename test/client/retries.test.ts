import { connect } from '../../src/client/connect';
import { STATUS } from '../../src/history/server-errors';
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
  await expect(described).rejects.toMatchObject({ cause: { details: 'Channel has been shut down' } });
  await server.stop();
});
