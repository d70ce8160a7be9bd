import { ActivityCancellationType, isCancellation, scheduleActivity, sleep } from '@temporalio/workflow';
import type { HeldInput, Paused } from '../contract/call';
import { ENDINGS } from '../contract/call-texts';
import { TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds } from '../contract/names';
import { failureOf } from './approvals/transitions';
import { type CallState, markChanged, type Settlement } from './approvals/state';
import type { Turn } from './turn-state';

/**
 * Waits until no pause holds a call that did not start. The call is then scheduled again with the same key and
 * decision. The time of the pause does not count for its time to start. Returns a result instead if the turn was
 * cancelled. An activity waits and is retried, because retries leave nothing in history and a pause may last for weeks.
 */
export async function untilResumed(
  turn: Turn,
  state: CallState,
  output: Paused,
): Promise<Settlement | undefined> {
  const since = Date.now();
  const times = (state.pauses?.times ?? 0) + 1;
  state.pauses = { times, isHeld: true };
  if (output.mayHaveRun === true) state.mayHaveRun = true;
  markChanged(turn);
  const isOver = await resumed(turn, state, times);
  state.pauses = { times, isHeld: false };
  if (state.absent !== undefined) state.absent.since += Date.now() - since;
  markChanged(turn);
  if (isOver) return undefined;
  return { cause: 'neverStarted', result: failureOf(state, ENDINGS.neverStarted, Date.now()) };
}

/** Waits for the end of the pause. False: the turn was cancelled. */
async function resumed(turn: Turn, { call }: CallState, times: number): Promise<boolean> {
  const { callId, tool } = call;
  const input: HeldInput = { agent: turn.agent, tool };
  try {
    await scheduleActivity(ACTIVITIES.held, [input], {
      activityId: activityIds.held(callId, times),
      startToCloseTimeout: TIMES.closeMargin,
      // The activity decides when it is retried.
      retry: {
        initialInterval: TIMES.pausedRetry,
        backoffCoefficient: 2,
        maximumInterval: TIMES.pausedRetryMost,
      },
      cancellationType: ActivityCancellationType.TRY_CANCEL,
      summary: `${callId} ${tool} is paused`,
    });
  } catch (error) {
    if (isCancellation(error)) return false;
    // An operator ended the activity, or the workers here have another version. In both cases the call is scheduled
    // after this wait, and checks for pauses itself.
    await sleep(TIMES.pausedRetry).catch(() => undefined);
  }
  return !turn.approvals.cancelled;
}

/** The number of times that workers have given a call back. Undefined: never. */
export function roundOf({ absent, pauses, voided = 0 }: CallState): number | undefined {
  const rounds = (absent?.rounds ?? 0) + (pauses?.times ?? 0) + voided;
  return rounds === 0 ? undefined : rounds;
}

/**
 * Whether a call is at work, so that it waits neither for a person nor for the end of a pause. A child turn counts its
 * own time.
 */
export function isAtWork({ phase, call, pauses }: CallState, asking: ReadonlySet<string>): boolean {
  if (phase === 'replanning') return true;
  const waits = call.settings.child !== undefined || asking.has(call.callId) || pauses?.isHeld === true;
  return phase === 'running' && !waits;
}
