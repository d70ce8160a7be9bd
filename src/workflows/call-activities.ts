import {
  ActivityCancellationType,
  type ActivityOptions,
  scheduleActivity,
  scheduleLocalActivity,
  workflowInfo,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { CallBase, CallInput, InvalidCall, PreparedCall, RemoteCall, ValidCall } from '../contract/call';
import type { KnownState, PlacedState } from '../contract/tool';
import { unprepared } from '../contract/call-texts';
import { startWithin } from '../contract/lost-activity';
import { OWN_RETRY, TIMES } from '../contract/limits';
import { isRaise } from '../contract/spending/budget';
import { ACTIVITIES, activityIds } from '../contract/names';
import { readPrepareOutput } from '../contract/payloads';
import { type CallState, leaveOf, type PreparingCall } from '../lifecycle/state';
import { act } from './call-life';
import { freshIn, retryOf, type Rounds, commonInput } from './call-rounds';
import { MOST_ASKED, rawResult, decodedValueOf } from './messages';
import { originOfCall } from './session/words';
import { summaryOf } from './summary';
import type { Turn } from './turn-state';
import { askedChild, reserveChild } from './child-turn';
import { askFirst } from '../contract/fork';
import { makeFailure } from '../contract/result';
import type { PrepareInput, PrepareOutput, ThinkOutput } from '../contract/think';
import { isDry } from '../contract/dry-run';

/** What is known of one start of a call. */
export interface CallAttempt extends Rounds {
  /** What the turn knew about the shared state when it was last scheduled. Only if the call shares state. */
  placed?: KnownState;
}

/**
 * Schedules a started call as an activity whose type is the tool's name. `isInherited`: a run before a reset may know
 * the call.
 */
export function scheduleCall(
  turn: Turn,
  state: CallState,
  attempt: CallAttempt,
  isInherited = false,
): Promise<RawValue> {
  const known = turn.states.place(state.call);
  if (known !== undefined) attempt.placed = known;
  reserveChild(turn, state);
  const leave = leaveOf(state);
  const input: CallInput = { ...inputOf(turn, state, attempt), ...freshIn(state, isInherited) };
  attempt.scheduledAt = Date.now();
  const { tool, settings } = state.call;
  // A local call leaves only one marker in history, when it ends. After a reset that marker cannot show whether a
  // decision came before it, so a call with a decision is never local. A call that a worker gave back is not run
  // locally either, because the same worker would get it.
  return settings.local === true && leave?.by === 'nobody' && attempt.absent === undefined
    ? scheduleLocalActivity<RawValue>(
        tool,
        [input],
        {
          startToCloseTimeout: state.call.settings.timeoutMs + TIMES.closeMargin,
          retry: retryOf(state),
          summary: summaryOf(state),
        },
        rawResult,
      )
    : scheduleActivity<RawValue>(tool, [input], activityOptions(state, attempt), rawResult);
}

/** Where the shared state is. A turn outside a session and a fork have the state of scope `session` to themselves. */
function placedIn(
  { session, fork }: Turn,
  call: ValidCall,
  placed: KnownState | undefined,
): PlacedState | undefined {
  const isSessions = call.settings.state?.scope === 'session' && session !== undefined && fork === undefined;
  if (placed === undefined || !isSessions) return placed;
  // Anybody may start a turn with the name of a session, but the server says which workflow is the parent.
  return workflowInfo().parent?.workflowId === session.sessionId
    ? { ...placed, session: session.sessionId }
    : placed;
}

function inputOf(turn: Turn, state: CallState, attempt: CallAttempt): CallInput {
  const { call } = state;
  const leave = leaveOf(state);
  return {
    ...commonInput(turn, state, attempt),
    arguments: state.effective,
    timeoutMs: call.settings.timeoutMs,
    dry: isDry(turn) ? true : undefined,
    child: askedChild(turn, state),
    origin: originOfCall(turn, state),
    grant: leave?.by === 'grant' ? leave.grant : undefined,
    plan: call.preview?.plan,
    askMs: call.settings.askMs,
    state: placedIn(turn, call, attempt.placed),
    proposed: state.edit === undefined ? undefined : state.proposed,
  };
}

function activityOptions(state: CallState, { placed, absent }: CallAttempt): ActivityOptions {
  const { callId, settings } = state.call;
  const holder = placed?.holder;
  return {
    activityId: activityIds.call(callId, state.generation),
    startToCloseTimeout: settings.timeoutMs + (settings.askMs ?? 0) + TIMES.closeMargin,
    scheduleToStartTimeout: startWithin(settings, holder !== undefined),
    heartbeatTimeout: settings.heartbeatMs,
    retry: retryOf(state),
    // A cancelled turn waits for the outcome of a running call: the outcome must be known, not assumed.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: summaryOf(state),
    allowEagerDispatch: absent === undefined ? undefined : false,
    // A call that a person just decided on overtakes other tasks in the queue.
    priority: leaveOf(state)?.by === 'decision' ? { priorityKey: 1 } : undefined,
    taskQueue: holder?.queue ?? settings.taskQueue,
  };
}

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
