import { MockActivityEnvironment } from '@temporalio/testing';
import { voidDecision } from '../../src/activities/reset-history';
import type { CallInput } from '../../src/contract/call';
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
