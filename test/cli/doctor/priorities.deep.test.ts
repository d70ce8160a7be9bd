import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { checkPriorities } from '../../../src/cli/doctor/probes';
import { connect } from '../../../src/client';
import { defineAgent } from '../../../src/tools/define-agent';
import { recordTool, useEffects } from '../../support/effects';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy';
import { startFixture } from '../../support/fixture';
import { startRefusingServer } from '../../support/refusing-server';
import { readBack, scriptBook } from '../../support/script-book';
import { startOwnServer, testAddress } from '../../support/server';
import { decide, waitFor } from '../../support/turns';
import { until } from '../../support/until';
import { runCli } from '../run-cli';

const effects = useEffects();
const book = scriptBook();

/** What the check finds at a server. */
const findingAt = async (address: string) => {
  const client = await connect({ address });
  try {
    return await checkPriorities(client);
  } finally {
    await client.close();
  }
};

const ON = 'the server follows priorities; fairness keys are on';
const OFF = 'the server follows priorities; fairness keys are off';
const IGNORED = 'the server ignores priorities: a call that a person decided does not overtake a backlog';

const partitions = (count: number): string[] =>
  ['Read', 'Write'].map((side) => `matching.numTaskqueue${side}Partitions=${count}`);

it.each([
  ['without fairness', [], 'ok', OFF],
  ['without fairness, on one partition', partitions(1), 'ok', OFF],
  ['with fairness', ['matching.enableFairness=true'], 'ok', ON],
  ['with fairness, on one partition', ['matching.enableFairness=true', ...partitions(1)], 'ok', ON],
  ['with fairness from the first key on', ['matching.autoEnableV2=true', ...partitions(1)], 'ok', ON],
  ['with the matcher before priorities', ['matching.useNewMatcher=false'], 'warning', IGNORED],
])(
  'tells of a server %s',
  async (_case, dynamicConfig, state, detail) => {
    const server = await startOwnServer({ dynamicConfig });
    try {
      expect(await findingAt(server.address)).toMatchObject({ name: 'priorities', state, detail });
    } finally {
      await server.stop();
    }
  },
  90_000,
);

it('is among the lines of doctor, and leaves nothing that runs', async () => {
  const { out } = await runCli(['doctor', '--json', '--address', testAddress()]);
  const findings = z.array(z.object({ name: z.string(), detail: z.string() })).parse(JSON.parse(out));
  expect(findings.find(({ name }) => name === 'priorities')?.detail).toBe(OFF);
  const client = await connect({ address: testAddress() });
  await until('the workflows of doctor to be closed', async () => {
    const { count } = await client.client.workflow.count(
      "WorkflowType = 'countersign.doctor' AND ExecutionStatus = 'Running'",
    );
    return count === 0;
  });
  await client.close();
}, 90_000);

it('is skipped where it may not be tried', async () => {
  const refusing = await startRefusingServer({
    ...{ status: 7, message: 'no starts', answered: ['GetSystemInfo'] },
  });
  expect(await findingAt(refusing.address)).toMatchObject({
    state: 'skipped',
    detail: expect.stringMatching(/^could not be tried: .*no starts/),
  });
  await refusing.stop();
}, 90_000);

describe('a server that does not know priorities', () => {
  const { StartWorkflowExecutionRequest, RespondWorkflowTaskCompletedRequest } =
    temporal.api.workflowservice.v1;
  let proxy: FaultProxy;

  // Such a server skips the field, as any field that it does not know.
  beforeAll(async () => {
    proxy = await startFaultProxy(testAddress(), {
      StartWorkflowExecution: (message) => {
        const request = StartWorkflowExecutionRequest.decode(message);
        request.priority = null;
        return StartWorkflowExecutionRequest.encode(request).finish();
      },
      RespondWorkflowTaskCompleted: (message) => {
        const request = RespondWorkflowTaskCompletedRequest.decode(message);
        for (const { scheduleActivityTaskCommandAttributes: activity } of request.commands)
          if (activity) activity.priority = null;
        return RespondWorkflowTaskCompletedRequest.encode(request).finish();
      },
    });
  });

  afterAll(() => proxy.stop());

  it('is named in the finding', async () => {
    expect(await findingAt(proxy.address)).toMatchObject({ state: 'warning', detail: IGNORED });
  }, 90_000);

  it('runs turns, and the call that a person approves', async () => {
    const agent = defineAgent({
      ...{ name: 'clerk', instructions: 'do', model: book.model },
      tools: [recordTool(effects, { name: 'pay', safety: 'dangerous' })],
    });
    const { address, taskQueue, client, stop } = await startFixture({
      address: proxy.address,
      agents: [agent],
    });
    const ours = await connect({ address });
    const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'ann' } }] }, readBack);
    const priority = { priorityKey: 5, fairnessKey: 'acme' };
    const { turn } = await ours.start({ agent: 'clerk', prompt, taskQueue, priority });
    const handle = client.workflow.getHandle(turn);
    await waitFor(handle, '1.1');
    await decide(handle, { callId: '1.1', decision: 'approved' });
    expect(await handle.result()).toMatchObject({ answer: 'pay did ann' });
    expect((await handle.describe()).priority?.fairnessKey ?? '').toBe('');
    await ours.close();
    await stop();
  }, 90_000);
});
