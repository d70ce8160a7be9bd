import { MockActivityEnvironment } from '@temporalio/testing';
import { lackOf, leaveToAnother, notHere, waitedMs } from '../../src/activities/leave-to-another';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { makeTool } from '../tools/support';

const clerk = defineAgent({
  name: 'clerk',
  instructions: 'x',
  model: scriptedModel([]),
  tools: [makeTool({ name: 'pay' })],
});
const agents = new Map([['clerk', clerk]]);

it.each<[string, { agent: string; tool?: string }, RegExp | undefined]>([
  ['an agent that is here', { agent: 'clerk' }, undefined],
  ['a tool that is here', { agent: 'clerk', tool: 'pay' }, undefined],
  ['another agent', { agent: 'guide' }, /no worker with agent "guide" here.*has clerk/],
  ['an agent with a name like one that is here', { agent: 'clrk' }, /has clerk; near it: clerk$/],
  ['another tool', { agent: 'clerk', tool: 'fly' }, /no worker with the tool fly of agent "clerk"/],
])('what a worker lacks of %s', (_, needed, lack) => {
  if (lack === undefined) expect(lackOf({ agents }, needed)).toBeUndefined();
  else expect(lackOf({ agents }, needed)).toMatch(lack);
});

it('hands back the secret of a call only where it has one', () => {
  expect(notHere({ secret: 's' }, 'no agent')).toEqual({ notHere: 'no agent', secret: 's' });
  expect(notHere({}, 'no agent')).toEqual({ notHere: 'no agent' });
});

/** What is thrown by an attempt that was first scheduled so long ago. */
const thrownAfter = async (waited: number, attempt: number, agentWaitMs = 60_000) => {
  const environment = new MockActivityEnvironment({ attempt, scheduledTimestampMs: Date.now() - waited });
  return environment.run(async () => leaveToAnother({ agentWaitMs }, 'no agent'));
};

it.each([
  [1, 250],
  [2, 500],
  [4, 2000],
  [9, 5000],
])('at attempt %d the next one comes after %d ms', async (attempt, wait) => {
  expect(await thrownAfter(0, attempt)).toMatchObject({ nextRetryDelay: wait, nonRetryable: false });
});

it('fails for good when nobody came in time, and says how long it waited', async () => {
  expect(await thrownAfter(61_000, 9)).toMatchObject({
    nonRetryable: true,
    type: 'countersign.model.setup',
    message: 'no agent; nobody came for 60 s',
  });
});

it('counts from when the task was first scheduled', async () => {
  const environment = new MockActivityEnvironment({ scheduledTimestampMs: Date.now() - 5000 });
  expect(await environment.run(async () => waitedMs())).toBeGreaterThanOrEqual(5000);
});
