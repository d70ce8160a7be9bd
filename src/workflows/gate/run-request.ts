import type { Duration } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow';
import type { CallSettings } from '../../contract/call';
import { defined } from '../../contract/defined';
import { errorMessage } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import { RETRY, TIMES } from '../../contract/limits';
import type { LostCall } from '../../contract/lost-activity';
import { outputOf } from '../../contract/result';
import type { RetryOptions } from '../../contract/tool';
import { type FailureText, settleOwn } from '../../lifecycle/own-activity';
import { approvalNote } from '../../lifecycle/results';
import type { CallState, DoneCall } from '../../lifecycle/state';
import { lostActivity } from '../outcome';
import {
  type GateAllowed,
  gateFailure,
  type GateForbidden,
  type GateRequest,
  settingsOf,
  toMs,
} from './request';

/** A call about which a person is asked and which the gate then runs as an activity. */
export interface GateRunRequest<A extends object = JsonObject> extends GateRequest<A> {
  /** The start-to-close timeout of each attempt of the activity. @default '30 seconds' */
  timeout?: Duration;
  /**
   * The heartbeat timeout, if the activity sends heartbeats: a dead worker is noticed after this. @default when
   * `timeout` is over
   */
  heartbeat?: Duration;
  /** The time within which an approved call has to start. @default '1 hour' */
  startWithin?: Duration;
  /** How attempts are repeated. No effect on an unsafe call. @default 5 attempts, first wait 1 s, doubled each time */
  retry?: {
    maximumAttempts?: number;
    initialInterval?: Duration;
    backoffCoefficient?: number;
    maximumInterval?: Duration;
  };
  /** The task queue of the workers that have the activity. @default the workflow's own */
  taskQueue?: string;
}

/**
 * How a call ended that a gate was asked to run.
 * - `not_run`: a person denied the call, or nobody decided in time.
 * - `done`: the activity returned `result`.
 * - `happened`: the call was in doubt, and a person found that it took effect. `message` says what the person knows.
 * - `failed`: the activity threw, a person found that the call did not take effect, or the call never started.
 * - `unknown`: nobody knows the outcome. Each attempt of a call that may run again was lost, or a person abandoned a
 *   call in doubt.
 */
export type GateOutcome<A extends object = JsonObject, R = unknown> =
  | (GateForbidden & { outcome: 'not_run' })
  | (GateAllowed<A> & { outcome: 'done'; result: R })
  | (GateAllowed<A> & { outcome: 'happened' | 'failed' | 'unknown'; message: string });

/** How the activity of a call ended: with a value, or with a failure and what the failure means. */
export type Ended<R> = { value: R } | LostCall;

/**
 * The settings of a call that the gate runs.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if a name, time or number is wrong.
 */
export function runSettings<A extends object>(activity: string, request: GateRunRequest<A>): CallSettings {
  if (activity === '' || activity.startsWith('countersign.')) {
    throw gateFailure(`${JSON.stringify(activity)} is not the name of an activity that a gate can run`);
  }
  const { timeout = TIMES.toolTimeout, heartbeat, startWithin = TIMES.startWithin, taskQueue } = request;
  return {
    ...settingsOf(request),
    timeoutMs: toMs(timeout, 'timeout'),
    // Without heartbeats, a lost attempt is noticed when its time is over.
    heartbeatMs: heartbeat === undefined ? toMs(timeout, 'timeout') : toMs(heartbeat, 'heartbeat'),
    startWithinMs: toMs(startWithin, 'startWithin'),
    retry: retryIn(request),
    gate: { activity },
    ...defined({ taskQueue }),
  };
}

function retryIn<A extends object>({ retry = {} }: GateRunRequest<A>): RetryOptions {
  const {
    maximumAttempts = RETRY.maximumAttempts,
    initialInterval = RETRY.initialIntervalMs,
    backoffCoefficient = RETRY.backoffCoefficient,
    maximumInterval,
  } = retry;
  if (!Number.isInteger(maximumAttempts) || maximumAttempts < 1)
    throw gateFailure('retry.maximumAttempts is not a whole number of at least 1');
  if (!Number.isFinite(backoffCoefficient) || backoffCoefficient < 1)
    throw gateFailure('retry.backoffCoefficient is not a number of at least 1');
  const most = maximumInterval === undefined ? undefined : toMs(maximumInterval, 'retry.maximumInterval');
  return {
    maximumAttempts,
    initialIntervalMs: toMs(initialInterval, 'retry.initialInterval'),
    backoffCoefficient,
    maximumIntervalMs: most,
  };
}

/** What the activity's failure means for the call, `openMs` after it was scheduled. */
export function endedBy(state: CallState, error: unknown, openMs: number): LostCall {
  const { settings } = state.call;
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const activity = lostActivity(cause, isCancellation(error));
  return settleOwn(settings, { activity, causes: causesOf(cause), openMs });
}

function causesOf(error: unknown): FailureText[] {
  if (!(error instanceof Error)) return [];
  const type = error instanceof ApplicationFailure ? (error.type ?? undefined) : undefined;
  return [{ type, message: errorMessage(error) }, ...causesOf(error.cause)];
}

/** The outcome that the workflow gets for a call that has ended. */
export function gateOutcomeOf<A extends object, R>(
  allowed: GateAllowed<A>,
  state: DoneCall,
  ended: Ended<R>,
): GateOutcome<A, R> {
  const { result } = state;
  if ('value' in ended) return { ...allowed, outcome: 'done', result: ended.value };
  if (result.success) {
    return { ...allowed, outcome: 'happened', message: outputOf(result, approvalNote(state)) };
  }
  const isKnown = 'known' in ended ? ended.known : result.error?.code !== 'in_doubt';
  const outcome = isKnown ? 'failed' : 'unknown';
  return { ...allowed, outcome, message: result.error?.message ?? '' };
}
