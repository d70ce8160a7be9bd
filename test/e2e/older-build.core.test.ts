import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { defineAgent } from '../../src/tools/define-agent';
import { startFixture, type Fixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { eventsOf } from '../support/turns';
import { until } from '../support/until';

const book = scriptBook();
let fixture: Fixture;
let directory: string;
let newer: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-newer-'));
  newer = join(directory, 'workflows.js');
  const workflowsPath = join(__dirname, '..', 'fixtures', 'newer-workflows.ts');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR', () => {}) });
  await writeFile(newer, code);
  const agents = [defineAgent({ name: 'any', instructions: 'do', model: book.model, tools: [] })];
  fixture = await startFixture({ agents, workers: 0 });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test('a turn, a session and the pauses that a newer build passed on wait for that build, and none of them fails', async () => {
  const ours = await fixture.addWorker();
  const queue = `${fixture.taskQueue}-newer`;
  const first = await fixture.addWorker({ workflowBundle: newer }, { taskQueue: queue });
  const handles = await Promise.all(
    ['agentTurn', 'agentSession', 'countersignControl'].map((type) =>
      fixture.client.workflow.start(type, {
        args: [{ queue: fixture.taskQueue }],
        taskQueue: queue,
        workflowId: `test-newer-${randomUUID()}`,
        workflowTaskTimeout: '2s',
      }),
    ),
  );
  for (const handle of handles) {
    const passedOn = fixture.client.workflow.getHandle(handle.workflowId);
    await until('its task to fail', async () => {
      const { pendingWorkflowTask: task } = (await passedOn.describe()).raw;
      return (task?.attempt ?? 0) >= 2;
    });
    const failures = (await eventsOf(passedOn)).map(
      (event) => event.workflowTaskFailedEventAttributes?.failure,
    );
    expect(failures).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('it needs a newer worker') }),
    );
  }
  await ours.stop();
  await first.stop();
  await fixture.addWorker({ workflowBundle: newer });
  for (const handle of handles) expect(await handle.result()).toBe('the newer build');
});
