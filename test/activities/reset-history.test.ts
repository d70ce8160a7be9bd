import { temporal } from '@temporalio/proto';
import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { isAllowedHere, requestTimes, voidDecision } from '../../src/activities/reset-history';
import type { CallInput } from '../../src/contract/call';
import { defined } from '../../src/contract/defined';
import { fakeServer } from '../history/fake-server';
import { PAY_INPUT } from '../support/calls';

const inRun = (runId: string) =>
  new MockActivityEnvironment({ workflowExecution: { workflowId: 'turn', runId } });

it.each<[string, Partial<CallInput>, string]>([
  ['has none', {}, 'run-2'],
  [
    'is in the run that it was made in',
    { decision: { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '' } },
    'run-1',
  ],
  [
    'was asked for after the reset',
    {
      decision: { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '' },
      askedIn: 'run-2',
    },
    'run-2',
  ],
])('a call that %s needs no other decision', async (_, change, runId) => {
  expect(await inRun(runId).run(() => voidDecision({ ...PAY_INPUT, ...change }))).toBeUndefined();
});

it('a decision that may be of another run does not count where the history cannot be read', async () => {
  const decision = { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '' } as const;
  expect(await inRun('run-2').run(() => voidDecision({ ...PAY_INPUT, decision }))).toMatch(
    /whether it was decided before the turn was reset could not be read/,
  );
});

describe('a decision in a run that a reset made', () => {
  const { WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW: cause } = temporal.api.enums.v1.WorkflowTaskFailedCause;
  const { HistoryEvent } = temporal.api.history.v1;
  const content = { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'd' };
  const input = { payloads: [defaultPayloadConverter.toPayload(content)] };
  const signal = HistoryEvent.create({
    workflowExecutionSignaledEventAttributes: { signalName: 'approval', input },
  });
  const update = HistoryEvent.create({
    workflowExecutionUpdateAcceptedEventAttributes: { acceptedRequest: { input: { args: input } } },
  });
  const reset = HistoryEvent.create({ workflowTaskFailedEventAttributes: { cause } });

  it.each<[string, string | undefined, temporal.api.history.v1.HistoryEvent[], (typeof reset)[][], boolean]>([
    ['counts if it came after the reset', 'run-2', [reset, signal], [], true],
    ['does not count if it came before the reset', undefined, [reset, signal], [], false],
    ['does not count if it is of another run', 'run-1', [reset, signal], [], false],
    ['does not count if its message was there before', 'run-2', [signal, reset, signal], [], false],
    ['does not count if the run before had its message', 'run-2', [reset, signal], [[update]], false],
  ])('%s', async (_, decidedIn, own, bases, expected) => {
    const environment = new MockActivityEnvironment(
      { workflowExecution: { workflowId: 'turn', runId: 'run-2' } },
      { client: new Client({ connection: Connection.lazy() }) },
    );
    const decision = { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: 's' } as const;
    const call = { ...PAY_INPUT, decision, ...defined({ decidedIn }) };
    expect(await environment.run(() => isAllowedHere({ own, bases, isCut: false }, call))).toBe(expected);
  });
});

describe('the time at which people were asked about a call', () => {
  const { HistoryEvent } = temporal.api.history.v1;
  const PAY = 'call-1.1-0';
  const ask = { callId: '1.1', kind: 'ask' };
  const thinks = (...calls: object[]) => ({ replyId: 'r', calls });
  const grant = { id: 'g' };
  type Ended = [activity: string, output: unknown];

  /** The events of activities that ended, one a minute, with their outputs. */
  const eventsOf = (ended: Ended[]) =>
    ended.flatMap(([name, output], at) => [
      HistoryEvent.fromObject({
        ...{ eventId: 2 * at + 1, eventTime: { seconds: 60 * at } },
        activityTaskScheduledEventAttributes: { activityId: name, activityType: { name } },
      }),
      HistoryEvent.fromObject({
        ...{ eventId: 2 * at + 2, eventTime: { seconds: 60 * at + 30 } },
        activityTaskCompletedEventAttributes: {
          scheduledEventId: 2 * at + 1,
          result: { payloads: [defaultPayloadConverter.toPayload(output)] },
        },
      }),
    ]);

  it.each<[string, number, Ended[]]>([
    ['by the reply that asks for it', 30, [['countersign.think', thinks(ask)]]],
    ['by a step of a burst', 30, [['countersign.burst', { steps: [{ reply: thinks(ask) }] }]]],
    [
      'by the last edit of it',
      90,
      [
        ['countersign.think', thinks(ask)],
        ['countersign.prepare', { call: ask }],
      ],
    ],
    [
      'by its own worker, if it was to run without',
      90,
      [
        ['countersign.think', thinks({ ...ask, kind: 'run' })],
        [PAY, { askAgain: 'the file asks' }],
      ],
    ],
    [
      'by its own worker, if a grant does not allow it',
      90,
      [
        ['countersign.think', thinks({ ...ask, grant })],
        [PAY, { askAgain: 'used up' }],
      ],
    ],
    [
      'not once more by a vote that is struck out',
      30,
      [
        ['countersign.think', thinks(ask)],
        [PAY, { askAgain: 'forged' }],
      ],
    ],
    ['not by another call', 1000, [['countersign.think', thinks({ ...ask, callId: '1.2' })]]],
    ['not by what another activity says', 1000, [['other', thinks(ask)]]],
    ['not by an output that cannot be read', 1000, [['countersign.think', 'yes']]],
  ])('is set %s', async (_, seconds, ended) => {
    const { connection } = fakeServer([{ events: eventsOf(ended), more: false }]).server;
    const environment = new MockActivityEnvironment(
      { activityId: PAY, scheduledTimestampMs: 1_000_000 },
      { client: new Client({ connection }) },
    );
    expect(await environment.run(() => requestTimes(PAY_INPUT))).toEqual({
      asked: seconds * 1000,
      scheduled: 1_000_000,
    });
  });
});
