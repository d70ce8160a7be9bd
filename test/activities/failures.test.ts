import { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import {
  lackOf,
  leaveToAnother,
  modelFailure,
  notHere,
  retryFailure,
  setupFailure,
  startInEarlierRound,
  waitedMs,
} from '../../src/activities/failures';
import { makeFailure } from '../../src/contract/result';
import { ModelError } from '../../src/models/model';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import type { HistoryEvent } from '../../src/history/decode/decode';
import { fakeServer } from '../history/fake-server';
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

describe('an earlier round of a call', () => {
  const { SCHEDULE_TO_START, HEARTBEAT } = {
    SCHEDULE_TO_START: temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START,
    HEARTBEAT: temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_HEARTBEAT,
  };
  const event = (eventId: number, seconds: number, more: object): HistoryEvent =>
    temporal.api.history.v1.HistoryEvent.fromObject({ eventId, eventTime: { seconds }, ...more });
  const scheduled = (more: object = {}): HistoryEvent =>
    event(1, 100, {
      activityTaskScheduledEventAttributes: {
        activityId: 'call-1.1-0',
        scheduleToStartTimeout: { seconds: 15 },
        heartbeatTimeout: { seconds: 10 },
        retryPolicy: { maximumAttempts: 1 },
        ...more,
      },
    });
  const timedOut = (seconds: number, timeoutType = SCHEDULE_TO_START, beat?: object): HistoryEvent =>
    event(2, seconds, {
      activityTaskTimedOutEventAttributes: {
        scheduledEventId: 1,
        failure: { timeoutFailureInfo: { timeoutType, lastHeartbeatDetails: beat } },
      },
    });

  /** What the worker that has the call now reads of the round before, in the history of the run. */
  const read = async (events: HistoryEvent[], round: { round?: number }): Promise<string | undefined> => {
    const { connection } = fakeServer([{ events, more: false }]).server;
    const environment = new MockActivityEnvironment(
      { activityId: 'call-1.1-0' },
      { client: new Client({ connection }) },
    );
    let found: string | undefined;
    await environment.run(async () => {
      found = await startInEarlierRound(round);
    });
    return found;
  };

  it.each<[string, HistoryEvent[]]>([
    ['was not taken in time', [scheduled(), timedOut(115)]],
    ['was of another call', [scheduled({ activityId: 'call-1.2-0' }), timedOut(115, HEARTBEAT)]],
    ['never was', []],
  ])('that %s started nothing', async (_, events) => {
    expect(await read(events, { round: 1 })).toBeUndefined();
  });

  it.each<[string, HistoryEvent[]]>([
    ['was not taken, so late that an attempt may have been lost', [scheduled(), timedOut(125)]],
    ['was lost with its worker', [scheduled(), timedOut(115, HEARTBEAT)]],
    [
      'had begun to beat',
      [scheduled(), timedOut(115, SCHEDULE_TO_START, { payloads: [{ data: Buffer.from('1') }] })],
    ],
    ['had more attempts', [scheduled({ retryPolicy: { maximumAttempts: 5 } }), timedOut(115)]],
  ])('that %s may have started it', async (_, events) => {
    expect(await read(events, { round: 1 })).toBe('the worker that held its state may have started it');
    expect(await read(events, {})).toBeUndefined();
  });
});
