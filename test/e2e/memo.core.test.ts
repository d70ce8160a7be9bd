import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { bundleWorkflows } from '../../src/bundle-workflows';
import { connect, type Countersign } from '../../src/client';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { until } from '../support/until';

/** The limit of Temporal Cloud. The server ends a workflow whose memo is over it. */
const LIMIT = 'limit.memoSize.error=40960';
const KB = 1_000;
let fixture: Fixture;
let client: Countersign;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-memo-'));
  const workflowBundle = join(directory, 'workflows.js');
  const workflowsPath = require.resolve('../fixtures/gate-workflows.ts');
  const { code } = await bundleWorkflows({ workflowsPath, logger: new DefaultLogger('ERROR', () => {}) });
  await writeFile(workflowBundle, code);
  const agents = [defineAgent({ name: 'idle', instructions: 'x', model: scriptedModel([]), tools: [] })];
  fixture = await startFixture({ ownServer: { dynamicConfig: [LIMIT] }, agents, worker: { workflowBundle } });
  client = await connect({ client: fixture.client });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Starts a workflow that has a memo of its own. */
const start = (type: string, ...args: unknown[]): Promise<TurnHandle> =>
  fixture.client.workflow.start(type, {
    ...{ args, taskQueue: fixture.taskQueue, workflowId: `memo-${randomUUID()}` },
    memo: { mine: 'm'.repeat(10 * KB) },
  });

const pending = (handle: TurnHandle, count: number): Promise<unknown> =>
  until(`${count} that wait`, async () => {
    const { status, searchAttributes } = await handle.describe();
    expect(status.name).toBe('RUNNING');
    return searchAttributes['CountersignPending']?.[0] === count;
  });

it('a gate has a hundred long requests open beside a memo of its own, and each can be read whole', async () => {
  const handle = await start('many', 100, 14 * KB);
  await pending(handle, 100);
  const { requests } = await client.view(handle.workflowId);
  expect(requests).toHaveLength(100);
  expect(requests.every(({ arguments: { text } }) => String(text).length === 14 * KB)).toBe(true);
  expect(Object.keys((await handle.describe()).memo ?? {})).not.toContain('gated.1.1');
  await handle.terminate();
});
