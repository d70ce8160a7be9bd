import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { FAILURES } from '../../src/contract/names';
import { HOLDER_GONE } from '../../src/contract/lost-activity';
import type { Effect } from '../../src/contract/tool';
import type { InDoubt } from '../../src/contract/call';
import { resultOf } from '../../src/lifecycle/state';
import { act, liveCall } from '../../src/workflows/call-life';
import { turnModelFailure } from '../../src/workflows/agent-turn';
import { placesIn } from '../../src/workflows/next-to-start';
import { settlementOf, TurnCall } from '../../src/workflows/turn-call';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { result } from '../history/script';
import { approvalsWith } from '../support/calls';
import { runtimeOf } from '../support/turn-runtime';
import { endWorkflow, type Job, jobs, lines, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

const activityFailure = (cause: Error): ActivityFailure =>
  new ActivityFailure('failed', 'pay', 'call-1.1-0', 'MAXIMUM_ATTEMPTS_REACHED', 'me', cause);
const timeout = (type: 'SCHEDULE_TO_START' | 'START_TO_CLOSE' | 'HEARTBEAT'): Error =>
  new TimeoutFailure('late', undefined, type);
const application = (type: string, ...details: unknown[]): Error =>
  ApplicationFailure.create({ type, message: 'broken', details });
const untaken = (): Error => new CancelledFailure('cancelled', ['ACTIVITY_ID_NOT_STARTED']);
const lastResult = {
  ...{ id: 'm', callId: '1.1', tool: 'pay', server: 'local', arguments: {} },
  ...{ success: false, content: 'half of it', contentType: 'text' },
  error: { code: 'transport', message: 'cut' },
  metadata: { execution_time_ms: 1, safety_level: 'safe', approved: false, attempt: 5, timestamp: '' },
};

function settle(effect: Effect, error: unknown, openMs = 5000) {
  const attempt = { scheduledAt: 1000, pauses: 0 };
  const settlement = settlementOf(approvalsWith({ effect }).call(), attempt, { error, now: 1000 + openMs });
  if ('notHere' in settlement) return 'elsewhere';
  return 'inDoubt' in settlement ? 'in doubt' : settlement.result.error?.code;
}

it.each<[string, unknown, string, string]>([
  ['nobody started it', activityFailure(timeout('SCHEDULE_TO_START')), 'expired', 'expired'],
  ['its worker was lost', activityFailure(timeout('HEARTBEAT')), 'in doubt', 'transport'],
  ['it never came back', activityFailure(timeout('START_TO_CLOSE')), 'in doubt', 'timeout'],
  [
    'its worker does not have it',
    activityFailure(application(FAILURES.notRegistered)),
    'tool_not_found',
    'tool_not_found',
  ],
  ['it was cancelled before a worker had it', activityFailure(untaken()), 'cancelled', 'cancelled'],
  ['it was cancelled', activityFailure(new CancelledFailure('cancelled')), 'in doubt', 'cancelled'],
  ['its result was too large', activityFailure(application('PayloadTooLarge')), 'in doubt', 'unknown'],
  [
    'attempts were used up',
    activityFailure(application(FAILURES.retry, lastResult)),
    'in doubt',
    'transport',
  ],
  ['a retry without a result', activityFailure(application(FAILURES.retry)), 'in doubt', 'unknown'],
  ['an error of no known kind', new Error('x'), 'in doubt', 'unknown'],
  ['no error at all', 'thrown text', 'in doubt', 'unknown'],
])('%s: an unsafe call and a pure one', (_, error, unsafe, pure) => {
  expect(settle('unsafe', error)).toBe(unsafe);
  expect(settle('pure', error)).toBe(pure);
  expect(settle('idempotent', error)).toBe(pure);
});

it.each<[string, unknown, number]>([
  ['nobody started it', activityFailure(timeout('SCHEDULE_TO_START')), 3_610_000],
  ['its worker does not have it', activityFailure(application(FAILURES.notRegistered)), 10_000],
  ['it was cancelled before a worker had it', activityFailure(untaken()), 10_000],
])(
  '%s, but an earlier attempt could have been lost by then: an unsafe call is in doubt',
  (_, error, openMs) => {
    expect(settle('unsafe', error, openMs - 1)).not.toBe('in doubt');
    expect(settle('unsafe', error, openMs)).toBe('in doubt');
  },
);

it('nobody started it again after an attempt that beat: an unsafe call is in doubt', () => {
  const beaten = new TimeoutFailure('late', { key: 'k' }, 'SCHEDULE_TO_START');
  expect(settle('unsafe', activityFailure(beaten))).toBe('in doubt');
});

describe('a call in doubt is verified in the background', () => {
  const OPENED = ['memo open', 'search attributes'];
  const happened = { outcome: 'happened', result: result('1.1') };
  const didNot = { outcome: 'did_not', message: 'no such payment' };
  const unread = Array.from({ length: 3 }, (_, index) => jobs.completed(index + 1, 'perhaps'));

  /** What becomes of a call in doubt, once these have come, one a task. */
  async function verified(come: readonly (Job | ((turn: Turn) => void))[], more: Partial<InDoubt> = {}) {
    const calls = approvalsWith({ kind: 'run' });
    calls.start();
    const inDoubt = { message: 'lost', ...more };
    calls.do({ type: 'settle', callId: '1.1', settlement: { inDoubt } }, 0);
    const turn = { ...makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1'), approvals: calls.state };
    const { workflow, commands } = await WorkflowUnderTest.start(async () => {
      await liveCall(new TurnCall(turn, '1.1', runtimeOf(turn), placesIn(turn)));
    });
    const all = lines(commands);
    for (const one of come) {
      if (typeof one === 'function') one(turn);
      all.push(...lines(await workflow.task(typeof one === 'function' ? [] : [one])));
    }
    const state = turn.approvals.calls.get('1.1');
    return { commands: all, phase: state?.phase, error: resultOf(state)?.error?.code, turn };
  }

  const settledByHand = (turn: Turn): void =>
    void act(turn, { type: 'prove', callId: '1.1', result: result('1.1') });

  it.each<[string, (Job | ((turn: Turn) => void))[], Partial<InDoubt>, object]>([
    ['it happened', [jobs.completed(1, happened)], {}, { phase: 'done', error: undefined }],
    ['it did not', [jobs.completed(1, didNot)], {}, { phase: 'done', error: 'transport' }],
    [
      'it did not yet, and still runs',
      [jobs.completed(1, didNot)],
      { message: 'stopped', running: true },
      { phase: 'in_doubt' },
    ],
    ['nobody can tell', [jobs.completed(1, { outcome: 'cannot_tell' })], {}, { phase: 'in_doubt' }],
    [
      'the answer is of another call',
      [jobs.completed(1, { ...happened, result: result('1.2') })],
      {},
      { phase: 'in_doubt' },
    ],
    [
      'no answer can be read',
      unread,
      {},
      {
        phase: 'in_doubt',
        commands: [
          ...OPENED,
          'schedule verify-1.1-0',
          'schedule verify-1.1-0-again-1',
          'schedule verify-1.1-0-again-2',
        ],
      },
    ],
    [
      'verifying failed',
      [
        jobs.failed(1, {
          message: 'no worker',
          activityFailureInfo: { activityType: { name: 'countersign.verify' } },
          cause: { message: 'x' },
        }),
      ],
      {},
      { phase: 'in_doubt' },
    ],
    [
      'a person was first',
      [settledByHand],
      {},
      {
        phase: 'done',
        commands: [
          ...OPENED,
          'schedule verify-1.1-0',
          'memo open closed',
          'search attributes',
          'cancel activity 1',
          'completeWorkflowExecution',
        ],
      },
    ],
  ])('%s', async (_, come, more, expected) => {
    const ended = await verified(come, more);
    expect(ended).toMatchObject(expected);
    expect(ended.turn.counts.inDoubt).toBe(1);
  });
});

it.each([
  ['a local call', { local: true }, 'cancelled'],
  ['a call of an activity, whose event says it', {}, undefined],
])('%s that was cancelled while it ran is closed by the workflow as: %s', (_, more, cause) => {
  const state = approvalsWith({ effect: 'pure', ...more }).call();
  const error = activityFailure(new CancelledFailure('cancelled'));
  const settlement = settlementOf(state, { scheduledAt: 0, pauses: 0 }, { error, now: 1 });
  expect('cause' in settlement ? settlement.cause : undefined).toBe(cause);
});

it('a turn whose model failed for good fails with what the model said', () => {
  const failure = turnModelFailure(activityFailure(application(FAILURES.model)));
  expect(failure).toMatchObject({ type: FAILURES.model, message: 'broken', nonRetryable: true });
});

describe('a call on the queue of the worker that held its state', () => {
  const settleHeld = (effect: Effect, openMs: number) => {
    const holder = { queue: 'countersign-worker:1', begunBy: 'k', runId: 'r' };
    const attempt = { scheduledAt: 0, pauses: 0, placed: { holder } };
    const error = activityFailure(timeout('SCHEDULE_TO_START'));
    return settlementOf(approvalsWith({ effect }).call(), attempt, { error, now: openMs });
  };

  it.each<[Effect, number, object]>([
    ['unsafe', 15_500, { notHere: HOLDER_GONE }],
    ['unsafe', 25_000, { inDoubt: { message: expect.stringContaining('may have been started') } }],
    ['idempotent', 15_500, { notHere: HOLDER_GONE, mayHaveRun: true }],
    ['pure', 60_000, { notHere: HOLDER_GONE, mayHaveRun: true }],
  ])('that is %s and was not taken for %d ms', (effect, openMs, settlement) => {
    expect(settleHeld(effect, openMs)).toEqual(settlement);
  });
});
