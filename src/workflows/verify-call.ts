import {
  ActivityCancellationType,
  type ActivityOptions,
  isCancellation,
  scheduleActivity,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { VerifyInput, VerifyOutput } from '../contract/call';
import { readVerifyOutput } from '../contract/call-payloads';
import { proofIn } from '../lifecycle/doubts';
import type { CallState } from '../lifecycle/state';
import { act, callIn } from './call-life';
import { decodedValueOf, MOST_ASKED, rawResult } from './messages';
import type { Caller } from './call-rounds';
import { OWN_RETRY, TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds } from '../contract/names';

/** The workflow that asks. Absent origin: nobody knows who asked for it. */
type Asker = Caller & Pick<VerifyInput, 'origin'>;

/** Asks whether a call in doubt took effect. Somebody may resolve the call first. */
export async function askVerify(turn: Asker, callId: string): Promise<void> {
  const asked = callIn(turn, callId);
  const answer = await verified(turn, asked).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return undefined;
  });
  const state = turn.approvals.calls.get(callId);
  if (answer === undefined || state?.phase !== 'in_doubt' || state.generation !== asked.generation) return;
  const result = proofIn(state, answer, Date.now());
  if (result !== undefined) act(turn, { type: 'prove', callId, result });
}

/**
 * Asks again if the answer cannot be read, at most three times in all. After that only a person can resolve the
 * call.
 */
async function verified(turn: Asker, state: CallState): Promise<VerifyOutput | undefined> {
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const answer = readVerifyOutput(decodedValueOf(await verifyCall(turn, state, asked)), state.call.callId);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Asks the worker's journal and then the tool's `verify` whether a call in doubt took effect. Changes nothing. */
function verifyCall(turn: Asker, state: CallState, asked: number): Promise<RawValue> {
  const { callId, id, tool, settings } = state.call;
  const { callKey, generation, effective } = state;
  const head = { agent: turn.agent, origin: turn.origin, callId, id, tool };
  const input: VerifyInput = { ...head, callKey, generation, arguments: effective };
  const options: ActivityOptions = {
    activityId: activityIds.verify(callId, generation, asked),
    startToCloseTimeout: settings.timeoutMs + TIMES.closeMargin,
    heartbeatTimeout: settings.heartbeatMs,
    // The activity decides how often to retry: it may wait for a worker that has the tool.
    retry: OWN_RETRY,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: `did ${callId} ${tool} happen?`,
    taskQueue: settings.taskQueue,
  };
  return scheduleActivity<RawValue>(ACTIVITIES.verify, [input], options, rawResult);
}
