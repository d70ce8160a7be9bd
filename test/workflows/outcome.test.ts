import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  defaultPayloadConverter,
  RawValue,
  TimeoutFailure,
} from '@temporalio/common';
import { CancellationScope } from '@temporalio/workflow';
import { FAILURES } from '../../src/contract/names';
import { HOLDER_GONE } from '../../src/contract/lost-activity';
import type { Effect } from '../../src/contract/tool';
import type { CallState } from '../../src/workflows/approvals/state';
import { settleDoubt } from '../../src/workflows/approvals/doubts';
import { settle as settleCall, start } from '../../src/workflows/approvals/transitions';
import { turnModelFailure, settlementIn, settlementOf, startVerify } from '../../src/workflows/outcome';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { result } from '../history/script';
import { approvalsWith } from '../support/calls';
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
  const state = approvalsWith({ effect }).calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  state.scheduledAt = 1000;
  const settlement = settlementOf(state, error, 1000 + openMs);
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
  const happened = { outcome: 'happened', result: result('1.1') };
  const didNot = { outcome: 'did_not', message: 'no such payment' };
  const unread = Array.from({ length: 3 }, (_, index) => jobs.completed(index + 1, 'perhaps'));

  /** What becomes of a call in doubt, once these have come, one a task. */
  async function verified(come: readonly (Job | ((turn: Turn) => void))[], more: Partial<CallState> = {}) {
    const turn = {
      ...makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1'),
      approvals: approvalsWith({ kind: 'run' }),
    };
    const state = turn.approvals.calls.get('1.1');
    if (state === undefined) throw new Error('no call');
    start(state);
    settleCall(turn.approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 0 });
    Object.assign(state, more);
    const { workflow, commands } = await WorkflowUnderTest.start(async () => {
      startVerify(turn, state, CancellationScope.current());
      await new Promise(() => undefined);
    });
    const all = lines(commands);
    for (const one of come) {
      if (typeof one === 'function') one(turn);
      all.push(...lines(await workflow.task(typeof one === 'function' ? [] : [one])));
    }
    return { commands: all, phase: state.phase, error: state.result?.error?.code, turn };
  }

  const settledByHand = ({ approvals }: Turn): void => {
    const state = approvals.calls.get('1.1');
    if (state !== undefined) settleDoubt(approvals, state, result('1.1'));
  };

  it.each<[string, (Job | ((turn: Turn) => void))[], Partial<CallState>, object]>([
    ['it happened', [jobs.completed(1, happened)], {}, { phase: 'done', error: undefined }],
    ['it did not', [jobs.completed(1, didNot)], {}, { phase: 'done', error: 'transport' }],
    [
      'it did not yet, and still runs',
      [jobs.completed(1, didNot)],
      { doubt: { message: 'stopped', running: true } },
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
        commands: ['schedule verify-1.1-0', 'schedule verify-1.1-0-again-1', 'schedule verify-1.1-0-again-2'],
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
      { phase: 'done', commands: ['schedule verify-1.1-0', 'cancel activity 1'] },
    ],
  ])('%s', async (_, come, more, expected) => {
    const ended = await verified(come, more);
    expect(ended).toMatchObject(expected);
    expect(ended.turn.counts.inDoubt).toBe(1);
  });
});

describe('what the activity of a call returned', () => {
  const raw = (value: unknown): RawValue => RawValue.fromPayload(defaultPayloadConverter.toPayload(value));

  function settle(effect: 'unsafe' | 'pure', output: unknown) {
    const state = approvalsWith({ effect }).calls.get('1.1');
    if (state === undefined) throw new Error('no call');
    if (effect === 'unsafe') state.secret = 'drawn';
    return settlementIn(state, raw(output));
  }

  it.each<[string, 'unsafe' | 'pure', object, string]>([
    ['its worker gives it back', 'unsafe', { notHere: 'no agent', secret: 'drawn' }, 'notHere'],
    ['somebody else gives it back', 'unsafe', { notHere: 'no agent' }, 'inDoubt'],
    ['somebody guesses the secret', 'unsafe', { notHere: 'no agent', secret: 'guessed' }, 'inDoubt'],
    ['a pure call is given back', 'pure', { notHere: 'no agent' }, 'notHere'],
    ['it cannot be read', 'unsafe', { notHere: 5 }, 'inDoubt'],
  ])('%s', (_, effect, output, kind) => {
    expect(Object.keys(settle(effect, output))).toEqual(expect.arrayContaining([kind]));
  });

  it('keeps only the result and its digest', () => {
    const output = { result: result('1.1'), contentDigest: 'd', cause: 'expired' };
    expect(settle('pure', output)).toEqual({ result: result('1.1'), contentDigest: 'd' });
  });
});

it.each([
  ['a local call', { local: true }, 'cancelled'],
  ['a call of an activity, whose event says it', {}, undefined],
])('%s that was cancelled while it ran is closed by the workflow as: %s', (_, more, cause) => {
  const state = approvalsWith({ effect: 'pure' }).calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  Object.assign(state.call.settings, more);
  const settlement = settlementOf(state, activityFailure(new CancelledFailure('cancelled')), 1);
  expect('cause' in settlement ? settlement.cause : undefined).toBe(cause);
});

it('a turn whose model failed for good fails with what the model said', () => {
  const failure = turnModelFailure(activityFailure(application(FAILURES.model)));
  expect(failure).toMatchObject({ type: FAILURES.model, message: 'broken', nonRetryable: true });
});

describe('a call on the queue of the worker that held its state', () => {
  const settleHeld = (effect: Effect, openMs: number) => {
    const state = approvalsWith({ effect }).calls.get('1.1');
    if (state === undefined) throw new Error('no call');
    state.scheduledAt = 0;
    state.placed = { holder: { queue: 'countersign-worker:1', begunBy: 'k', runId: 'r' } };
    const settlement = settlementOf(state, activityFailure(timeout('SCHEDULE_TO_START')), openMs);
    return { settlement, mayHaveRun: state.mayHaveRun };
  };

  it.each<[Effect, number, object, true | undefined]>([
    ['unsafe', 15_500, { notHere: HOLDER_GONE }, undefined],
    ['unsafe', 25_000, { inDoubt: { message: expect.stringContaining('may have been started') } }, undefined],
    ['idempotent', 15_500, { notHere: HOLDER_GONE }, true],
    ['pure', 60_000, { notHere: HOLDER_GONE }, true],
  ])('that is %s and was not taken for %d ms', (effect, openMs, settlement, mayHaveRun) => {
    expect(settleHeld(effect, openMs)).toEqual({ settlement, mayHaveRun });
  });
});
