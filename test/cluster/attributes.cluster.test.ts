import { Client, type Connection } from '@temporalio/client';
import { connectNative } from '../../src/engine/connect-native';
import { ensureAttributes, missingAttributes } from '../../src/engine/search-attributes';
import { ATTRIBUTE_TYPES } from '../../src/engine/server-args';
import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { scriptedModel } from '../../src/models/scripted';
import { startWorker } from '../../src/worker';
import { scratchDirectory } from '../support/scratch';
import { testAddress, testBundle, testConnection } from '../support/server';
import { countersign } from './support/cli';
import { makeNamespace } from './support/place';

const scratch = scratchDirectory();
const names = Object.keys(ATTRIBUTE_TYPES);
let connection: Connection;
let namespace: string;

beforeAll(async () => {
  connection = await testConnection();
});
afterAll(() => connection.close());
beforeEach(async () => {
  namespace = await makeNamespace(connection);
});

const config = () => {
  const model = scriptedModel([{ text: 'done' }]);
  const agent = defineAgent({ name: 'quiet', instructions: 'do', model, tools: [] });
  return defineConfig({ agents: [agent], taskQueue: `attributes-${namespace}`, stateDir: scratch() });
};

const start = () =>
  startWorker({
    config: config(),
    address: testAddress(),
    namespace,
    workflowBundle: testBundle(),
    logLevel: 'ERROR',
  });

it('a worker registers what its namespace lacks and works only once queries take each', async () => {
  expect((await missingAttributes({ connection, namespace })).sort()).toEqual([...names].sort());
  const worker = await start();
  try {
    const client = new Client({ connection, namespace });
    for (const name of names)
      expect(await client.workflow.count(`WorkflowType = 'agentTurn' AND ${name} IS NULL`)).toMatchObject({
        count: 0,
      });
    const turn = {
      taskQueue: worker.taskQueue,
      workflowId: 'first',
      args: [{ agent: 'quiet', prompt: 'hello' }],
    };
    expect(await client.workflow.execute('agentTurn', turn)).toMatchObject({ answer: 'done' });
  } finally {
    await worker.stop();
  }
});

it('two workers that start at once both register, and both work', async () => {
  const workers = await Promise.all([start(), start()]);
  expect(await missingAttributes({ connection, namespace })).toEqual([]);
  await Promise.all(workers.map((worker) => worker.stop()));
});

it('registers only what is missing', async () => {
  const place = await connectNative({ address: testAddress(), namespace });
  const [first = ''] = names;
  await ensureAttributes(place);
  await connection.operatorService.removeSearchAttributes({ namespace, searchAttributes: [first] });
  expect(await missingAttributes({ connection, namespace })).toEqual([first]);
  await ensureAttributes(place);
  expect(await missingAttributes({ connection, namespace })).toEqual([]);
  await place.connection.close();
});

it('gives up in time, saying why', async () => {
  const place = await connectNative({ address: testAddress(), namespace });
  await expect(ensureAttributes(place, -1)).rejects.toMatchObject({ code: 'not_ready' });
  await place.connection.close();
});

it('countersign doctor --setup registers them without a worker, and says when there is nothing to do', async () => {
  const settings = { TEMPORAL_ADDRESS: testAddress(), TEMPORAL_NAMESPACE: namespace };
  const first = await countersign(['doctor', '--setup', '--json'], settings);
  expect([first.code, JSON.parse(first.out)]).toEqual([0, { namespace, registered: names }]);
  expect(await missingAttributes({ connection, namespace })).toEqual([]);
  const again = await countersign(['doctor', '--setup'], settings);
  expect([again.code, again.out]).toEqual([0, `${namespace} has all search attributes\n`]);
});
