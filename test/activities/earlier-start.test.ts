import { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { defaultPayloadConverter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { earlierStart, startInThisRun } from '../../src/activities/earlier-start';
import type { GiveBacks } from '../../src/activities/given-back';
import { defined } from '../../src/contract/defined';
import type { HistoryEvent } from '../../src/history/decode/decode';
import { fakeServer, grpcError } from '../history/fake-server';
import { PAY_INPUT } from '../support/calls';
import { clientWith } from './fake-worker';

type Info = ConstructorParameters<typeof MockActivityEnvironment>[0];

const inRun = (runId: string, info: Info = {}, options: object = {}) =>
  new MockActivityEnvironment({ workflowExecution: { workflowId: 'turn', runId }, ...info }, options);

it.each<[string, Info, RegExp]>([
  ['a second attempt', { attempt: 2 }, /this is attempt 2; an earlier one was started/],
  ['heartbeat details', { heartbeatDetails: { key: 'k' } }, /an earlier attempt had begun to beat/],
  [
    'a second scheduling',
    { scheduledTimestampMs: 1000, currentAttemptScheduledTimestampMs: 2000 },
    /it was scheduled a second time/,
  ],
  ['a server that cannot be asked', {}, /whether it was started before could not be read/],
])('%s counts as a start', async (_, info, why) => {
  expect(await inRun('run-1', info).run(() => earlierStart({}, PAY_INPUT))).toMatch(why);
});

const RESET = 'an earlier attempt was started; an operator reset it';
const GONE = 'the server no longer knows this attempt';
const COMPLETED = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED;

it.each<[string, Parameters<typeof clientWith>[0], string | undefined]>([
  ['of no earlier attempt', {}, undefined],
  ['of a failure', { pending: { lastFailure: { message: 'lost' } } }, RESET],
  ['of the end of an attempt', { pending: { lastAttemptCompleteTime: { seconds: 1 } } }, RESET],
  ['of a heartbeat', { pending: { heartbeatDetails: { payloads: [{}] } } }, RESET],
  ['only of another attempt', { pending: { attempt: 2 } }, GONE],
  ['only of another activity', { pending: { activityId: 'other' } }, GONE],
  ['that the run is over', { status: COMPLETED }, GONE],
])('the server that knows %s', async (_, onRecord, expected) => {
  const info = { workflowExecution: { workflowId: 'turn', runId: 'run-1' } };
  const environment = new MockActivityEnvironment(info, { client: clientWith(onRecord) });
  expect(await environment.run(() => earlierStart({}, PAY_INPUT))).toBe(expected);
});

it('asks a server again that was too busy to answer', async () => {
  const client = clientWith({});
  const { workflowService: service } = client;
  const answer = service.describeWorkflowExecution.bind(service);
  const expired = Object.assign(new Error('late'), { code: 1, details: 'Timeout expired', metadata: {} });
  const answers = [() => Promise.reject(expired), answer];
  Object.assign(service, { describeWorkflowExecution: (request: object) => answers.shift()?.(request) });
  expect(await inRun('run-1', {}, { client }).run(() => earlierStart({}, PAY_INPUT))).toBeUndefined();
  expect(answers).toEqual([]);
});

it('reads a history again that could not be read', async () => {
  const client = clientWith({});
  const { workflowService: service } = client;
  const answer = service.getWorkflowExecutionHistory.bind(service);
  const answers = [() => Promise.reject(grpcError(7)), answer];
  Object.assign(service, { getWorkflowExecutionHistory: (request: object) => answers.shift()?.(request) });
  await inRun('run-1', {}, { client }).run(async () => {
    await expect(startInThisRun({}, PAY_INPUT)).rejects.toThrow();
    expect(await startInThisRun({}, PAY_INPUT)).toBeUndefined();
  });
  expect(answers).toEqual([]);
});

const OTHER = defaultPayloadConverter.toPayload({ ...PAY_INPUT, callKey: 'key:1.2' });

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
        input: { payloads: [defaultPayloadConverter.toPayload(PAY_INPUT)] },
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

  const now = (eventId: number): HistoryEvent =>
    event(eventId, 200, { activityTaskScheduledEventAttributes: { activityId: 'call-1.1-0' } });
  const given = (output: object, identity = 'w1'): HistoryEvent[] => [
    scheduled(),
    event(2, 101, { activityTaskStartedEventAttributes: { scheduledEventId: 1, identity: 'w1' } }),
    event(3, 102, {
      activityTaskCompletedEventAttributes: {
        ...{ scheduledEventId: 1, identity },
        result: { payloads: [defaultPayloadConverter.toPayload(output)] },
      },
    }),
  ];

  /** What the worker that has the call now reads of the round before, in the history of the run. */
  const read = async (events: HistoryEvent[], giveBacks?: GiveBacks): Promise<string | undefined> => {
    const { connection } = fakeServer([{ events: [...events, now(events.length + 1)], more: false }]).server;
    const environment = new MockActivityEnvironment(
      { activityId: 'call-1.1-0' },
      { client: new Client({ connection }) },
    );
    let found: string | undefined;
    await environment.run(async () => {
      found = await startInThisRun(defined({ giveBacks }), PAY_INPUT);
    });
    return found;
  };

  it.each([
    [true, undefined],
    [false, 'it was scheduled before, and nothing proves that it did not start'],
  ])('that was given back counts by its proof, where there are keys: %s', async (isOurs, why) => {
    const giveBacks = { isOurs: async () => isOurs, prove: async <T>(output: T) => output };
    expect(await read(given({ paused: 'by ann', proof: 'p' }), giveBacks)).toBe(why);
  });

  it.each<[string, HistoryEvent[]]>([
    ['was not taken in time', [scheduled(), timedOut(115)]],
    [
      'was of another call',
      [scheduled({ input: { payloads: [OTHER] }, activityId: 'call-1.2-0' }), timedOut(115, HEARTBEAT)],
    ],
    ['was given back by its worker', given({ notHere: 'no tool' })],
    ['never was', []],
  ])('that %s started nothing', async (_, events) => {
    expect(await read(events)).toBeUndefined();
  });

  it.each<[string, HistoryEvent[]]>([
    ['was not taken, so late that an attempt may have been lost', [scheduled(), timedOut(125)]],
    ['was lost with its worker', [scheduled(), timedOut(115, HEARTBEAT)]],
    [
      'had begun to beat',
      [scheduled(), timedOut(115, SCHEDULE_TO_START, { payloads: [{ data: Buffer.from('1') }] })],
    ],
    ['was given back by somebody else', given({ notHere: 'no tool' }, 'w2')],
    ['was completed', given({ result: {} })],
    ['had more attempts', [scheduled({ retryPolicy: { maximumAttempts: 5 } }), timedOut(115)]],
  ])('that %s may have started it', async (_, events) => {
    expect(await read(events)).toMatch(/it was scheduled before/);
  });
});
