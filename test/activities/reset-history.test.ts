import { temporal } from '@temporalio/proto';
import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { isAllowedHere, requestTimes, voidDecision } from '../../src/activities/reset-history';
import type { Vote } from '../../src/contract/authority/authority';
import type { CallInput, SpentDecision } from '../../src/contract/call';
import { rule } from '../contract/authority/support';
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
])('a call that %s needs no other decision', async (_, change, runId) => {
  expect(await inRun(runId).run(() => voidDecision({ ...PAY_INPUT, ...change }))).toBeUndefined();
});

it('a decision that may be of another run does not count where the history cannot be read', async () => {
  const decision = { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '' } as const;
  expect(await inRun('run-2').run(() => voidDecision({ ...PAY_INPUT, decision }))).toMatch(
    /whether it was decided before the turn was reset could not be read/,
  );
});

describe('a signal without an id, sent after the reset', () => {
  const vote = (voter: string): Vote => ({ voter, decision: 'approved', decisionId: voter, at: '' });
  const decided = (approver: string, votes?: Vote[]): SpentDecision => ({
    ...{ decisionId: 'drawn', decision: 'approved', approver, seenDigest: 's' },
    ...(votes && { votes }),
  });
  const people = [
    { name: 'ann', groups: [], delegates: [], mail: 'ann@example.com' },
    { name: 'ben', groups: [], delegates: [] },
  ];
  const authority = {
    ...{ fileDigest: 'f', ruleDigest: 'r', people, requesters: [] },
    rule: { name: 'pay', then: 'ask' as const, ...rule({ rosters: [['ann', 'ben']] }) },
  };
  const RESET = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;
  const EventType = temporal.api.history.v1.HistoryEvent;
  const signalOf = (approver: string) => ({
    signalName: 'approval',
    input: {
      payloads: [
        defaultPayloadConverter.toPayload({ callId: '1.1', decision: 'approved', approver, seenDigest: 's' }),
      ],
    },
  });
  const historyWith = (approver: string) => ({
    own: [
      EventType.create({ workflowTaskFailedEventAttributes: { cause: RESET } }),
      EventType.create({ workflowTaskScheduledEventAttributes: {} }),
      EventType.create({ workflowExecutionSignaledEventAttributes: signalOf(approver) }),
    ],
    bases: [],
    isCut: false,
  });

  it.each<[string, string, SpentDecision, boolean]>([
    ['of the voter, in capitals', 'Ann', decided('ann', [vote('ann')]), true],
    ['of the voter, by mail address', 'ann@example.com', decided('ann', [vote('ann')]), true],
    ['of the last of two voters', 'ben', decided('ann, ben', [vote('ann'), vote('ben')]), true],
    ['of the first of two voters', 'ann', decided('ann, ben', [vote('ann'), vote('ben')]), false],
    ['of another person', 'eve', decided('ann', [vote('ann')]), false],
  ])('%s', async (_, approver, decision, expected) => {
    const client = new Client({ connection: Connection.lazy() });
    const environment = new MockActivityEnvironment({}, { client });
    const input = { ...PAY_INPUT, decision, authority };
    const isAllowed = await environment.run(() => isAllowedHere(historyWith(approver), input));
    expect(isAllowed).toBe(expected);
  });
});

describe('a decision that came after the reset', () => {
  const { WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW: cause } = temporal.api.enums.v1.WorkflowTaskFailedCause;
  const { HistoryEvent } = temporal.api.history.v1;
  const content = { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'd' };
  const signal = HistoryEvent.create({
    workflowExecutionSignaledEventAttributes: {
      signalName: 'approval',
      input: { payloads: [defaultPayloadConverter.toPayload(content)] },
    },
  });
  const reset = [
    HistoryEvent.create({ workflowTaskFailedEventAttributes: { cause } }),
    HistoryEvent.create({ workflowTaskScheduledEventAttributes: {} }),
  ];

  it.each([
    ['counts', { own: [...reset, signal], bases: [] }, true],
    ['does not count before the next task: it was applied again', { own: withIn(), bases: [] }, false],
    ['does not count if it was there before', { own: [signal, ...reset, signal], bases: [] }, false],
    ['does not count if the run before had it', { own: [...reset, signal], bases: [[signal]] }, false],
  ])('%s', async (_, history, expected) => {
    const environment = new MockActivityEnvironment(
      {},
      { client: new Client({ connection: Connection.lazy() }) },
    );
    const decision = { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: 's' } as const;
    const found = environment.run(() =>
      isAllowedHere({ ...history, isCut: false }, { ...PAY_INPUT, decision }),
    );
    expect(await found).toBe(expected);
  });

  function withIn() {
    const [failed, task] = reset;
    return [failed, signal, task].flatMap((one) => one ?? []);
  }
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
