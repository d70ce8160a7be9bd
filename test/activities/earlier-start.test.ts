import { MockActivityEnvironment } from '@temporalio/testing';
import { earlierStart, outdatedDecision } from '../../src/activities/earlier-start';
import type { CallInput } from '../../src/contract/call';

type Info = ConstructorParameters<typeof MockActivityEnvironment>[0];

const input: CallInput = {
  callId: '1.1',
  id: 'm1',
  tool: 'pay',
  agent: 'a',
  callKey: 'key:1.1',
  generation: 0,
  arguments: {},
  argsDigest: '',
  toolDigest: '',
  effect: 'unsafe',
  timeoutMs: 1000,
  originalRunId: 'run-1',
};

const inRun = (runId: string, info: Info = {}) =>
  new MockActivityEnvironment({ workflowExecution: { workflowId: 'turn', runId }, ...info });

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
  expect(await inRun('run-1', info).run(() => earlierStart(input))).toMatch(why);
});

it.each<[string, Partial<CallInput>, string]>([
  ['has none', {}, 'run-2'],
  [
    'is in the run that it was made in',
    { decision: { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '' } },
    'run-1',
  ],
])('a call that %s needs no other decision', async (_, change, runId) => {
  expect(await inRun(runId).run(() => outdatedDecision({ ...input, ...change }))).toBeUndefined();
});

it('a decision that may be of another run does not count where the history cannot be read', async () => {
  const decision = { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '' } as const;
  expect(await inRun('run-2').run(() => outdatedDecision({ ...input, decision }))).toMatch(
    /whether it was decided before the turn was reset could not be read/,
  );
});
