import type { Duration } from '@temporalio/common';
import type { GateSettings } from '../../contract/gate';
import { RETRY, TIMES } from '../../contract/limits';
import type { RetryOptions } from '../../contract/tool';
import type { JsonObject } from '../../contract/json';
import { gateFailure, toMs } from './call-to-ask';
import type { GateAllowed, GateForbidden, GateRequest } from './request';

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
  | (GateForbidden & { outcome: 'not_run' | 'unknown' })
  | (GateAllowed<A> & { outcome: 'done'; result: R })
  | (GateAllowed<A> & { outcome: 'happened' | 'failed' | 'unknown'; message: string });

/**
 * The settings of a call that the gate runs.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if a name, time or number is wrong.
 */
export function runSettings<A extends object>(activity: string, request: GateRunRequest<A>): GateSettings {
  if (activity === '' || activity.startsWith('countersign.')) {
    throw gateFailure(`${JSON.stringify(activity)} is not the name of an activity that a gate can run`);
  }
  const { timeout = TIMES.toolTimeout, heartbeat, startWithin = TIMES.startWithin, taskQueue } = request;
  return {
    timeoutMs: toMs(timeout, 'timeout'),
    // Without heartbeats, a lost attempt is noticed when its time is over.
    heartbeatMs: heartbeat === undefined ? toMs(timeout, 'timeout') : toMs(heartbeat, 'heartbeat'),
    startWithinMs: toMs(startWithin, 'startWithin'),
    retry: retryIn(request),
    gate: { activity },
    taskQueue,
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
