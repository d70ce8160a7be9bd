import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common';
import { failedEnd, releaseChild, reserveChild } from '../../src/workflows/child-turn';
import { makeTurn } from '../../src/workflows/turn-state';
import { callsWith, validCall } from '../support/calls';

it('counts a child turn once, however often its call is given back before it starts', () => {
  const call = validCall();
  const child = { agent: 'helper', outputBytes: 1000 };
  const calls = callsWith({ ...call, settings: { ...call.settings, child } });
  const state = calls.call();
  const input = { agent: 'clerk', prompt: 'p', budget: { steps: 10 } };
  const turn = { ...makeTurn(input, 'run-1'), approvals: calls.state };
  for (let round = 0; round < 3; round++) {
    reserveChild(turn, state);
    // A call that waits for a worker, or for the end of a pause, keeps its place.
    reserveChild(turn, state);
    expect(turn.children).toBe(1);
    expect(turn.reserved.get('1.1')).toMatchObject({ before: 0, given: { steps: 10 - round } });
    releaseChild(turn, '1.1');
    releaseChild(turn, '1.1');
    expect(turn.children).toBe(0);
    turn.spending.spent.steps += 1;
  }
});

const ofChild = (cause?: Error): Error =>
  new ChildWorkflowFailure(
    'default',
    { workflowId: 't.1.1.k', runId: 'r' },
    'agentTurn',
    'NON_RETRYABLE_FAILURE',
    cause,
  );
const ofActivity = (cause: Error): Error =>
  new ActivityFailure('it failed', 'pay', 'call-1.1-0', 'NON_RETRYABLE_FAILURE', 'w', cause);
const cancelled = new CancelledFailure('cancelled');

it.each<[string, Error, object]>([
  ['was cancelled', ofChild(cancelled), { kind: 'cancelled' }],
  ['was cancelled while its parent waited by activity', ofActivity(cancelled), { kind: 'cancelled' }],
  [
    'failed as an activity of it was cancelled',
    ofChild(ofActivity(cancelled)),
    { kind: 'failed', message: 'it failed' },
  ],
  ['was terminated', ofChild(new TerminatedFailure('by hand')), { kind: 'terminated' }],
  ['timed out', ofChild(new TimeoutFailure('late', undefined, 'START_TO_CLOSE')), { kind: 'timed_out' }],
  ['failed', ofChild(ApplicationFailure.nonRetryable('no model')), { kind: 'failed', message: 'no model' }],
])('a child turn that %s', (_, error, end) => {
  expect(failedEnd(error)).toEqual(end);
});
