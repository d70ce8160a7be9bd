import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import { TIMES } from '../../../src/contract/limits';
import { FAILURES } from '../../../src/contract/names';
import type { ToolResult } from '../../../src/contract/result';
import { failureOf, successOf } from '../../../src/lifecycle/results';
import type { CallState, DoneCall } from '../../../src/lifecycle/state';
import type { GateAllowed } from '../../../src/workflows/gate';
import { gateOutcomeOf } from '../../../src/workflows/gate/run';
import { type Ended, endedBy } from '../../../src/workflows/gate/run-call';
import { type GateRunRequest, runSettings } from '../../../src/workflows/gate/run-request';
import { approvalsWith } from '../../support/calls';

const settings = (more: Partial<GateRunRequest> = {}, activity = 'pay') =>
  runSettings(activity, { tool: 'pay', arguments: {}, ...more });

/** A call that has ended in this way. */
const ended = (made: (state: CallState) => ToolResult, calls = approvalsWith({})): DoneCall => {
  const state = calls.call();
  calls.do({ type: 'closed', callId: '1.1', result: made(state), at: 1 });
  const done = calls.call();
  if (done.phase !== 'done') throw new Error('it has not ended');
  return done;
};

describe('the settings of a call that the gate runs', () => {
  it('are those of a dangerous tool, unless the request says otherwise', () => {
    expect(settings()).toMatchObject({
      gate: { activity: 'pay' },
      ...{ timeoutMs: TIMES.toolTimeout, heartbeatMs: TIMES.toolTimeout, startWithinMs: TIMES.startWithin },
      retry: { maximumAttempts: 5, initialIntervalMs: 1000, backoffCoefficient: 2 },
    });
    expect(settings().taskQueue).toBeUndefined();
  });

  it.each<[string, Partial<GateRunRequest>, object]>([
    ['timeout', { timeout: '2 minutes' }, { timeoutMs: 120_000, heartbeatMs: 120_000 }],
    ['heartbeat', { heartbeat: '5s' }, { timeoutMs: TIMES.toolTimeout, heartbeatMs: 5000 }],
    ['startWithin', { startWithin: 500 }, { startWithinMs: 500 }],
    ['taskQueue', { taskQueue: 'bank' }, { taskQueue: 'bank' }],
    [
      'retry',
      { effect: 'idempotent', retry: { maximumAttempts: 2, initialInterval: '2s', maximumInterval: '3s' } },
      {
        retry: {
          maximumAttempts: 2,
          initialIntervalMs: 2000,
          backoffCoefficient: 2,
          maximumIntervalMs: 3000,
        },
      },
    ],
  ])('%s', (_, more, expected) => {
    expect(settings(more)).toMatchObject(expected);
  });

  it.each<[string, Partial<GateRunRequest>, string | undefined, RegExp]>([
    ['a time', { timeout: 0 }, undefined, /^timeout 0 is not a time/],
    ['attempts', { retry: { maximumAttempts: 0 } }, undefined, /maximumAttempts is not a whole number/],
    ['a factor', { retry: { backoffCoefficient: 0.5 } }, undefined, /backoffCoefficient is not a number/],
    ['no name', {}, '', /"" is not the name of an activity/],
    ['a name of ours', {}, 'countersign.think', /is not the name of an activity/],
  ])('are refused with the wrong %s', (_, more, activity, message) => {
    expect(() => settings(more, activity)).toThrow(
      expect.objectContaining({ type: FAILURES.gate, message: expect.stringMatching(message) }),
    );
  });
});

describe('the failure of its activity', () => {
  const failed = (cause: Error): ActivityFailure =>
    new ActivityFailure('failed', 'pay', 'call-1.1-0', 'MAXIMUM_ATTEMPTS_REACHED', 'me', cause);
  const thrown = (message: string, cause?: Error): Error =>
    ApplicationFailure.create({ type: 'Error', message, ...(cause === undefined ? {} : { cause }) });

  it.each<[string, Error, object]>([
    [
      'is what it threw',
      thrown('card expired'),
      { failure: { code: 'tool', message: 'card expired' }, known: true },
    ],
    [
      'is a doubt where it was lost',
      new TimeoutFailure('late', undefined, 'START_TO_CLOSE'),
      { doubt: expect.any(String) },
    ],
    [
      'is a doubt where a cause of it broke a connection',
      thrown('not paid', thrown('read ECONNRESET')),
      { doubt: expect.stringContaining('not paid') },
    ],
  ])('%s', (_, cause, expected) => {
    expect(endedBy(approvalsWith({}).call(), failed(cause), 5000)).toEqual(expected);
  });
});

describe('what the workflow hears', () => {
  const allowed: GateAllowed = {
    ...{ allowed: true, decision: 'approved', callId: '1.1', callKey: 'k:1.1' },
    ...{ arguments: {}, decisionId: 'd', approver: 'ann' },
  };
  const inDoubt: Ended<string> = { doubt: 'nobody knows', thrown: undefined };
  const failed = (code: 'transport' | 'in_doubt' | 'tool') => (state: CallState) =>
    failureOf(state, { code, message: 'so' }, 0);

  it.each<[string, (state: CallState) => ToolResult, Ended<string>, object]>([
    [
      'what it returned',
      (state) => successOf(state, '', 0),
      { value: 'paid' },
      { outcome: 'done', result: 'paid' },
    ],
    [
      'that it threw',
      failed('tool'),
      { failure: { code: 'tool', message: 'so' }, known: true, thrown: undefined },
      { outcome: 'failed', message: 'so' },
    ],
    [
      'that each attempt was lost',
      failed('transport'),
      { failure: { code: 'transport', message: 'so' }, known: false, thrown: undefined },
      { outcome: 'unknown', message: 'so' },
    ],
    [
      'that a person found it done',
      (state) => successOf(state, 'it did', 0),
      inDoubt,
      { outcome: 'happened', message: 'it did' },
    ],
    ['that a person found it not done', failed('transport'), inDoubt, { outcome: 'failed', message: 'so' }],
    ['that a person abandoned it', failed('in_doubt'), inDoubt, { outcome: 'unknown', message: 'so' }],
  ])('%s', (_, made, how, expected) => {
    expect(gateOutcomeOf(allowed, { state: ended(made), ended: how })).toEqual({ ...allowed, ...expected });
  });

  it('does not have the note of a changed call in its message: that stands beside it', () => {
    const calls = approvalsWith({});
    const change = { decision: 'modified', arguments: { amount: 1 }, approver: 'ann' };
    calls.say('decision', { callId: '1.1', ...change });
    calls.start();
    const done = ended((state) => successOf(state, 'it did', 0), calls);
    expect(done.result.content).toContain('changed the arguments');
    expect(gateOutcomeOf(allowed, { state: done, ended: inDoubt })).toMatchObject({ message: 'it did' });
  });
});
