import { type ActivityOptions, scheduleActivity } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { CallBase, InvalidCall, PreparedCall, RemoteCall, ValidCall } from '../contract/call';
import { unprepared } from '../contract/call-texts';
import { OWN_RETRY, TIMES } from '../contract/limits';
import { isRaise } from '../contract/spending/budget';
import { ACTIVITIES, activityIds } from '../contract/names';
import { readPrepareOutput } from '../contract/payloads';
import type { PreparingCall } from '../lifecycle/state';
import { act } from './call-life';
import { MOST_ASKED, rawResult, decodedValueOf } from './messages';
import { originOfCall } from './session/words';
import type { Turn } from './turn-state';
import { askFirst } from '../contract/fork';
import { makeFailure } from '../contract/result';
import type { PrepareInput, PrepareOutput, ThinkOutput } from '../contract/think';

/** Whether some calls use tools on other task queues. */
export function hasRemote({ calls }: ThinkOutput): boolean {
  return calls.some((call) => call.kind === 'remote');
}

/** Prepares the calls whose tools are on other task queues, where their files are. */
export function prepareRemote(turn: Turn, output: ThinkOutput): Promise<PreparedCall[]> {
  return Promise.all(output.calls.map((call) => (call.kind === 'remote' ? remote(turn, call) : call)));
}

async function remote(turn: Turn, call: RemoteCall, asked = 1): Promise<PreparedCall> {
  const { callId, id, tool, raw, taskQueue } = call;
  const prepared = await prepare(turn, { callId, id, tool, raw }, taskQueue);
  if (prepared.kind !== 'remote') return askFirst(call, prepared);
  // A fork may name the wrong task queue for a tool. A worker of the turn then names the right queue. Workers that send
  // the call back and forth, as in the middle of a deploy, do not agree soon.
  if (asked < MOST_ASKED) return remote(turn, { ...call, taskQueue: prepared.taskQueue }, asked + 1);
  return withoutWorker(call, new Error('workers do not agree on the task queue of its tool'));
}

/** Prepares a call again, with the arguments that a person gave, or because an admin asked for it. Never throws. */
export function prepareCall(turn: Turn, state: PreparingCall): Promise<PreparedCall> {
  const { renewedBy, call } = state;
  const { callId, id, tool, settings } = call;
  const raw = JSON.stringify(state.effective);
  const isRuled = call.authority !== undefined;
  const askedAgain = renewedBy === undefined ? undefined : { by: renewedBy, isRuled };
  const policyReason = isRaise(tool) ? call.policyReason : undefined;
  const asked = { callId, id, tool, raw, askedAgain, policyReason };
  return prepare(turn, { ...asked, origin: originOfCall(turn, state) }, settings.taskQueue);
}

/** Asks a worker which people decide on a request for more budget. Never throws. */
export function prepareRaise(turn: Turn, request: ValidCall): Promise<PreparedCall> {
  const { callId, id, tool, policyReason, arguments: args } = request;
  const raw = JSON.stringify(args);
  return prepare(turn, { callId, id, tool, raw, policyReason }, undefined);
}

async function prepare(
  turn: Turn,
  asked: Omit<PrepareInput, 'agent'>,
  taskQueue: string | undefined,
): Promise<PreparedCall> {
  const input = { agent: turn.agent, origin: turn.origin, ...asked };
  try {
    const { call, schema } = await prepared(input, taskQueue);
    if (schema !== undefined && call.kind === 'ask')
      act(turn, { type: 'knew', schemas: { [call.toolDigest]: schema } });
    return call;
  } catch (error) {
    return withoutWorker(input, error);
  }
}

/** Schedules the activity again if its result cannot be read: an operator may have completed it with any value. */
async function prepared(input: PrepareInput, taskQueue: string | undefined): Promise<PrepareOutput> {
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const options = optionsOf(input, taskQueue, asked);
    const result = await scheduleActivity<RawValue>(ACTIVITIES.prepare, [input], options, rawResult);
    const output = readPrepareOutput(decodedValueOf(result), input);
    if (output !== undefined) return output;
  }
  throw new Error('what was prepared cannot be read');
}

function optionsOf(input: PrepareInput, taskQueue: string | undefined, asked: number): ActivityOptions {
  return {
    activityId: activityIds.prepare(input.callId, asked),
    startToCloseTimeout: TIMES.toolTimeout + TIMES.closeMargin,
    scheduleToStartTimeout: TIMES.startWithin,
    // The activity decides how long it waits for a worker that has the agent.
    scheduleToCloseTimeout: 2 * TIMES.startWithin,
    retry: OWN_RETRY,
    summary: `prepare ${input.callId} ${input.tool}`,
    taskQueue,
  };
}

/** The error result of a call that no worker could prepare. Nothing ran. */
function withoutWorker({ callId, id, tool }: CallBase, error: unknown): InvalidCall {
  const why =
    error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : '';
  const facts = { timestamp: new Date(Date.now()).toISOString() };
  const result = makeFailure({ id, callId, tool, arguments: {} }, unprepared(tool, why), facts);
  return { kind: 'invalid', callId, id, tool, proposed: {}, result };
}
