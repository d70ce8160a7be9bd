import { connectNative } from '../../src/engine/connect-native';
import { startRefusingServer, type RefusingServer } from '../support/refusing-server';

const KEY = 'a-key';
const before = { ...process.env };
let server: RefusingServer;

beforeEach(async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('TEMPORAL_')) delete process.env[name];
  process.env['TEMPORAL_CONFIG_FILE'] = '/nowhere/temporal.toml';
  server = await startRefusingServer({ status: 16, message: 'no', answered: ['GetSystemInfo'] });
});

afterEach(async () => {
  process.env = { ...before };
  await server.stop();
});

it('takes the namespace and the key of the environment, where only an option names the address', async () => {
  Object.assign(process.env, {
    ...{ TEMPORAL_NAMESPACE: 'agents', TEMPORAL_API_KEY: KEY, TEMPORAL_TLS: 'false' },
  });
  const { connection, address, namespace } = await connectNative({ address: server.address });
  await connection.close();
  expect({ address, namespace }).toEqual({ address: server.address, namespace: 'agents' });
  expect([...server.keys]).toEqual([`Bearer ${KEY}`]);
});
