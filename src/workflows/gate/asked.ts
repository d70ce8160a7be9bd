import { RawValue, TimeoutType } from '@temporalio/common';
import {
  ActivityFailure,
  condition,
  isCancellation,
  log,
  scheduleActivity,
  TimeoutFailure,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { type InvalidCall, isValidCall, type PreparedCall, type ValidCall } from '../../contract/call';
import { unprepared } from '../../contract/call-texts';
import { errorMessage } from '../../contract/errors';
import { type GateInput, readGateOutput, shownJson, whyRunIsFull } from '../../contract/gate';
import type { JsonObject } from '../../contract/json';
import { OWN_RETRY, TIMES } from '../../contract/limits';
import { ACTIVITIES, activityIds, callIdIn, callKey } from '../../contract/names';
import { makeFailure, type ToolFailure } from '../../contract/result';
import type { CallState, DoneCall, PreparingCall, RunningCall } from '../../lifecycle/state';
import { act, callIn, allowed, start } from '../call-life';
import { decodedValueOf, MOST_ASKED, rawResult } from '../messages';
import { type CallToAsk, gateFailure } from './call-to-ask';
import type { GateState } from './the-gate';

/** A call that a person may decide, or that has its result already. */
type OpenedCall = ValidCall | InvalidCall;

/**
 * The id of the next call.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, for an id that was used before.
 */
export function nextCallId(gate: GateState, given?: string): string {
  const callId = given ?? callIdIn(1, gate.asked);
  const { calls, closed } = gate.approvals;
  if (calls.has(callId) || closed.has(callId) || gate.opening.has(callId))
    throw gateFailure(`call id ${callId} was used before in this workflow`);
  gate.opening.add(callId);
  gate.asked += 1;
  return callId;
}

/**
 * Opens a call: a worker prepares it, and what it says is in history before anybody is asked. A call that may not run is
 * not opened.
 */
export async function open(
  gate: GateState,
  asked: CallToAsk,
  { callId, args }: { callId: string; args: unknown },
): Promise<OpenedCall> {
  const raw = shownJson(args);
  const why = raw === undefined ? 'its arguments are not plain JSON' : whyRunIsFull(usedOf(gate));
  if (raw === undefined || why !== undefined) {
    gate.opening.delete(callId);
    return unopened(asked, callId, { code: 'refused', message: `This call did not run: ${why}.` });
  }
  const input = inputOf(asked, { callId, raw }, undefined);
  const call = await prepareAtWorker(gate, asked, [callId, () => input]).finally(() =>
    gate.opening.delete(callId),
  );
  if (!isValidCall(call)) return call;
  if (gate.approvals.calls.size === 0) gate.stepKey = uuid4();
  act(gate, { type: 'registered', call, callKey: callKey(gate.stepKey, callId), at: Date.now() });
  return call;
}

function usedOf({ queue, approvals, opening }: GateState): Parameters<typeof whyRunIsFull>[0] {
  const { historyLength, historySize } = workflowInfo();
  return { historyLength, historySize, updates: queue.answered, open: approvals.calls.size + opening.size };
}

function unopened(
  { gated, tool = gated ?? '' }: CallToAsk,
  callId: string,
  failure: ToolFailure,
): InvalidCall {
  const head = { callId, id: callId, tool };
  const facts = { timestamp: new Date(Date.now()).toISOString() };
  const result = makeFailure({ ...head, arguments: {} }, failure, facts);
  return { kind: 'invalid', ...head, proposed: {}, result };
}

function inputOf(
  { gated, tool, settings, given }: CallToAsk,
  { callId, raw }: { callId: string; raw: string },
  edited: JsonObject | undefined,
): GateInput {
  return { callId, raw, settings, gated, tool, given: given?.(edited) };
}

/** A worker prepares the call. Its result is the record of the request. Throws only if its scope is cancelled. */
async function prepareAtWorker(
  gate: GateState,
  asked: CallToAsk,
  [callId, input]: [string, () => GateInput],
): Promise<OpenedCall> {
  try {
    const { call, schema } = await prepared(input());
    if (schema !== undefined && call.kind === 'ask')
      act(gate, { type: 'knew', schemas: { [call.toolDigest]: schema } });
    return call;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const why = errorMessage(error instanceof Error && error.cause instanceof Error ? error.cause : error);
    return unopened(asked, callId, unprepared(asked.tool ?? asked.gated ?? '', why));
  }
}

/** Schedules the activity again if no worker takes it soon, and if its result cannot be read: an operator may have completed it. */
async function prepared(input: GateInput): Promise<{ call: OpenedCall; schema?: JsonObject }> {
  const { callId, gated, tool = gated ?? '', settings } = input;
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const options = {
      activityId: activityIds.prepare(callId, asked),
      startToCloseTimeout: TIMES.toolTimeout + TIMES.closeMargin,
      scheduleToStartTimeout: asked === 1 ? SOON_MS : undefined,
      retry: OWN_RETRY,
      summary: `prepare ${callId} ${tool}`,
      // The worker of the activity has the options of the plugin. What `createGate` asks needs none.
      taskQueue: gated === undefined ? undefined : settings.taskQueue,
    };
    const sent = [new RawValue(input)];
    const result = await scheduleActivity<RawValue>(ACTIVITIES.gate, sent, options, rawResult).catch(
      (error: unknown) => {
        if (asked > 1 || !isUnstarted(error)) throw error;
        log.warn(NOBODY, { callId, tool, taskQueue: options.taskQueue ?? workflowInfo().taskQueue });
      },
    );
    const output = result && readGateOutput(decodedValueOf(result), callId);
    if (output !== undefined) return output;
  }
  throw gateFailure('what was prepared cannot be read');
}

/** After this time the worker says that nobody prepares a call. The call still waits for a worker. */
const SOON_MS = 15_000;

const NOBODY =
  'nobody is asked yet: no worker of the queue with activities and CountersignPlugin took the call';

function isUnstarted(error: unknown) {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof TimeoutFailure && cause.timeoutType === TimeoutType.SCHEDULE_TO_START;
}

/** A call about which people are asked. It waits in the scope of its caller. */
export class GateCall {
  constructor(
    readonly context: GateState,
    readonly callId: string,
    protected readonly asked: CallToAsk,
  ) {}

  get state(): CallState {
    return callIn(this.context, this.callId);
  }

  until(isTrue: () => boolean): Promise<void> {
    return condition(isTrue);
  }

  /** The verdict on the edit is published before the new request, so history shows them in this order. */
  prepare({ effective, renewedBy, call }: PreparingCall): Promise<PreparedCall> {
    this.context.changes.look();
    const raw = JSON.stringify(effective);
    const isRuled = call.authority !== undefined;
    const askedAgain = renewedBy === undefined ? undefined : { by: renewedBy, isRuled };
    // A preview that the workflow makes may throw.
    const input = (): GateInput => ({
      ...inputOf(this.asked, { callId: this.callId, raw }, effective),
      askedAgain,
    });
    return prepareAtWorker(this.context, this.asked, [this.callId, input]);
  }

  secretFor(): string {
    return uuid4();
  }
}

/**
 * Closes a request and publishes that immediately. The workflow may end in this task, and history must not end with an
 * open request.
 */
export function close(gate: GateState, callId: string): void {
  act(gate, { type: 'left', callId });
  gate.changes.look();
}

/** Waits until an open call is decided. An allowed call is handed over to its workflow: its decision is spent. */
export async function handedOver(
  gate: GateState,
  asked: CallToAsk,
  callId: string,
): Promise<RunningCall | DoneCall> {
  const call = new GateCall(gate, callId, asked);
  try {
    const state = await allowed(call);
    return state.phase === 'done' ? state : start(call);
  } catch (error) {
    if (isCancellation(error)) act(gate, { type: 'withdraw', callId });
    throw error;
  } finally {
    close(gate, callId);
  }
}
