import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { checkTasks } from '../../src/cli/doctor/server';
import { connect } from '../../src/client';
import { denyNext, waitForEnd } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { runCli } from '../cli/run-cli';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { decide, eventsOf, signalDecision, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();

let directory: string;
let broken: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-stuck-'));
  broken = join(directory, 'workflows.js');
  const workflowsPath = join(__dirname, '..', 'fixtures', 'broken-workflows.ts');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR', () => {}) });
  await writeFile(broken, code);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** A turn that has paid once, and whose workflow task fails since then. */
const stuck = async (fixture: Fixture) => {
  const pay = (tag: string) => ({ toolCalls: [{ name: 'pay', arguments: { tag } }] });
  const good = await fixture.addWorker();
  const prompt = book.add(pay('stuck'), pay('later'), { text: 'done' });
  const started = await fixture.start('payer', prompt, { workflowTaskTimeout: '2s' });
  const handle: TurnHandle = fixture.client.workflow.getHandle(started.workflowId);
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '2.1');
  await good.stop();
  const bad = await fixture.addWorker({ workflowBundle: broken });
  await signalDecision(handle, { callId: 'any' });
  await until('a third attempt', async () => {
    const { pendingWorkflowTask: task } = (await handle.describe()).raw;
    return (task?.attempt ?? 0) >= 3;
  });
  return { handle, bad };
};

test('show says why a workflow task fails, and doctor names the turn', async () => {
  const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous', effect: 'idempotent' })];
  const agents = [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })];
  const fixture = await startFixture({ agents, workers: 0 });
  const { handle } = await stuck(fixture);
  const turn = handle.workflowId;
  const address = ['--address', testAddress()];
  const line = /right now:\n {2}its workflow task fails \(attempt \d+\): \S.*\n/;
  expect((await runCli(['show', turn, ...address])).out).toMatch(line);
  const shown: unknown = JSON.parse((await runCli(['show', turn, '--json', ...address])).out);
  expect(shown).toMatchObject({
    pending: { failingTask: { attempt: expect.any(Number), reason: expect.any(String) } },
  });
  const client = await connect({ client: fixture.client });
  // It reports the fifth attempt; of those after the first one, each times out.
  const finding = await until(
    'the server to report it',
    async () => {
      const found = await checkTasks(client);
      return found.state === 'warning' && found.detail.includes(turn) && found;
    },
    60,
  );
  expect(finding).toMatchObject({
    detail: expect.stringContaining('fail again and again in '),
    todo: expect.stringContaining('countersign show'),
  });
  await handle.terminate();
  await fixture.stop();
});

test.each([
  ['with a worker that fails it', true],
  ['with no worker', false],
])('a turn whose workflow task keeps failing is reset, %s', async (_, stays) => {
  const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous', effect: 'idempotent' })];
  const agents = [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })];
  const fixture = await startFixture({ agents, workers: 0 });
  const { handle, bad } = await stuck(fixture);
  if (!stays) await bad.stop();
  const client = await connect({ client: fixture.client });
  const turn = handle.workflowId;
  const plan = await client.planReset(turn, '1.1');
  expect(plan.calls).toMatchObject([{ callId: '1.1', outcome: 'asked_again', ran: true }]);
  // The record that a plan was made from ends with a workflow task that is only tried; what ends it is not kept.
  expect(plan.lastEventId).toBeLessThan(Number((await eventsOf(handle)).at(-1)?.eventId));
  const { runId } = await client.reset(plan, { approver: 'bob' });
  if (stays) await bad.stop();
  await fixture.addWorker();
  await denyNext(client, turn, { reason: 'not twice' });
  await denyNext(client, turn, { reason: 'no more' });
  expect(await waitForEnd(client, turn)).toMatchObject({ status: 'answered', runId });
});
