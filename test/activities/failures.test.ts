import { MockActivityEnvironment } from '@temporalio/testing';
import {
  lackOf,
  leaveToAnother,
  modelFailure,
  notHere,
  retryFailure,
  setupFailure,
  waitedMs,
} from '../../src/activities/failures';
import { makeFailure } from '../../src/contract/result';
import { ModelError } from '../../src/models/model';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { makeTool } from '../tools/support';

it.each<[string, unknown, object]>([
  [
    'a model that is busy',
    new ModelError('rate_limit', 'm: busy', { retryable: true }),
    { type: 'ModelError.rate_limit', message: 'm: busy', nonRetryable: false },
  ],
  [
    'a model that refuses the key',
    new ModelError('auth', 'm: no key', { retryable: false }),
    { nonRetryable: true },
  ],
  ['any other error', new Error('bug'), { message: 'bug', nonRetryable: false }],
  ['what is not an error', 'bug', { message: 'bug', nonRetryable: false }],
])('%s as a failure', (_, error, failure) => {
  const made = modelFailure(error);
  expect(made.nonRetryable).toBe(Reflect.get(failure, 'nonRetryable'));
  expect(made.message).toContain(Reflect.get(failure, 'message') ?? '');
});

it('says when the next attempt comes, or why there is none', () => {
  expect(modelFailure(new Error('busy'), { waitMs: 500 })).toMatchObject({
    nextRetryDelay: 500,
    nonRetryable: false,
  });
  expect(modelFailure(new Error('busy'), { last: 'asked twice' })).toMatchObject({
    message: 'busy (asked twice)',
    nonRetryable: true,
  });
});

it('keeps the cause', () => {
  const cause = new Error('socket hang up');
  expect(modelFailure(new Error('busy', { cause })).cause).toBe(cause);
});

it('what a worker lacks is not tried again', () => {
  expect(setupFailure('no agent')).toMatchObject({ message: 'no agent', nonRetryable: true });
});

it('a call that may run again keeps its result so far', () => {
  const head = { id: 'm1', callId: '1.1', tool: 'pay', arguments: {} };
  const result = makeFailure(
    head,
    { code: 'transport', message: 'cut' },
    { timestamp: '2026-01-01T00:00:00.000Z' },
  );
  expect(retryFailure(result)).toMatchObject({ message: 'cut', nonRetryable: false, details: [result] });
});

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
    message: 'no agent; nobody came for 60 s',
  });
});

it('counts from when the task was first scheduled', async () => {
  const environment = new MockActivityEnvironment({ scheduledTimestampMs: Date.now() - 5000 });
  expect(await environment.run(async () => waitedMs())).toBeGreaterThanOrEqual(5000);
});
