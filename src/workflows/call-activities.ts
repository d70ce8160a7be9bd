import {
  ActivityCancellationType,
  type ActivityOptions,
  condition,
  isCancellation,
  scheduleActivity,
  scheduleLocalActivity,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import { defined } from '../contract/defined';
import type {
  CallBase,
  CallInput,
  InvalidCall,
  NotHere,
  PreparedCall,
  RemoteCall,
  SpentDecision,
  ValidCall,
  VerifyInput,
} from '../contract/call';
import type { PlacedState } from '../contract/tool';
import { ENDINGS, nobodyHad, unprepared } from '../contract/call-texts';
import { mostAttempts, startWithin } from '../contract/lost-activity';
import { OWN_RETRY, TIMES } from '../contract/limits';
import { isRaise } from '../contract/spending/budget';
import { ACTIVITIES, activityIds } from '../contract/names';
import { readPrepareOutput } from '../contract/payloads';
import { failureOf } from './approvals/transitions';
import type { CallState, Settlement } from './approvals/state';
import { authorityOf } from './approvals/votes';
import { resetRun } from './current-build';
import { rawResult, decodedValueOf } from './messages';
import { roundOf } from './paused-call';
import { originOfCall } from './session/words';
import { summaryOf } from './summary';
import type { Turn } from './turn-state';
import { askedChild, reserveChild } from './child-turn';
import { askFirst } from '../contract/fork';
import { makeFailure } from '../contract/result';
import type { PrepareInput, PrepareOutput, ThinkOutput } from '../contract/think';
import { MOST_ASKED } from './think';
import { isDry } from '../contract/dry-run';

/**
 * Runs one started call as an activity whose type is the tool's name. `isInherited`: a run before a reset may know the
 * call.
 */
export function runCall(
  turn: Turn,
  state: CallState,
  decision: SpentDecision | undefined,
  isInherited = false,
): Promise<RawValue> {
  const known = turn.states.place(state.call);
  if (known !== undefined) state.placed = known;
  reserveChild(turn, state);
  const run = resetRun();
  const fresh = {
    askedIn: isInherited ? undefined : run,
    decidedIn: state.held?.isOld === true ? undefined : run,
  };
  const input = { ...inputOf(turn, state, decision), ...defined(fresh) };
  state.scheduledAt = Date.now();
  const { tool, settings } = state.call;
  // A local call leaves only one marker in history, when it ends. After a reset that marker cannot show whether a
  // decision came before it, so a call with a decision is never local. A call that a worker gave back is not run
  // locally either, because the same worker would get it.
  return settings.local === true &&
    !state.needsDecision &&
    state.grant === undefined &&
    state.absent === undefined
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
    : scheduleActivity<RawValue>(tool, [input], activityOptions(state), rawResult);
}

/**
 * The longest and the first wait before a call is scheduled again. With two workers, the right worker gets the call
 * after a few tries. The waits grow, because each round adds about ten events, and a server ends a run with 51,200. A
 * call that may wait for days waits longer between its rounds, so that sixteen such calls have room in one run.
 */
const MOST_PAUSE_MS = 60_000;
const MOST_LONG_ROUNDS = 200;
const SOON_MS = 500;

export function pauseAfter(waitedMs: number, round: number, startWithinMs: number): number {
  const most = Math.max(MOST_PAUSE_MS, startWithinMs / MOST_LONG_ROUNDS);
  return Math.min(most, Math.max(Math.min(TIMES.agentRetry, SOON_MS * 2 ** round), waitedMs / 10));
}

/**
 * Waits before a call that did not start is scheduled again, with the same key and decision. If the worker that held
 * the state of the call did not take the call, that state is lost, and the call goes to the task queue of its tool.
 * Returns a result instead if the time to start is over or the turn was cancelled.
 */
export async function untilNextRound(
  turn: Turn,
  state: CallState,
  output: NotHere,
): Promise<Settlement | undefined> {
  const holder = state.placed?.holder;
  if (holder !== undefined) turn.states.leave(state.call, holder);
  const absent = (state.absent ??= { since: state.scheduledAt, rounds: 0 });
  absent.rounds += 1;
  const waited = Date.now() - absent.since;
  const { startWithinMs } = state.call.settings;
  const left = startWithinMs - waited;
  if (left <= 0) return { cause: 'absent', result: failureOf(state, nobodyHad(output), Date.now()) };
  try {
    const summary = `${state.call.callId} waits for a worker that has it`;
    const pause = pauseAfter(waited, absent.rounds, startWithinMs);
    if (holder === undefined) await sleep(Math.min(left, pause), { summary });
    // Other calls may have lost the same state. The first of them finds the worker that will hold the state.
    else while (!turn.states.reserve(state.call)) await condition(() => turn.states.isFree(state.call));
    if (!turn.approvals.cancelled) return undefined;
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  return { cause: 'neverStarted', result: failureOf(state, ENDINGS.neverStarted, Date.now()) };
}

/** Where the shared state is. A turn outside a session and a fork have the state of scope `session` to themselves. */
function placedIn({ session, fork }: Turn, { placed, call }: CallState): PlacedState | undefined {
  const isSessions = call.settings.state?.scope === 'session' && session !== undefined && fork === undefined;
  if (placed === undefined || !isSessions) return placed;
  // Anybody may start a turn with the name of a session, but the server says which workflow is the parent.
  return workflowInfo().parent?.workflowId === session.sessionId
    ? { ...placed, session: session.sessionId }
    : placed;
}

function inputOf(turn: Turn, state: CallState, decision: SpentDecision | undefined): CallInput {
  const { call } = state;
  return {
    callId: call.callId,
    id: call.id,
    tool: call.tool,
    agent: turn.agent,
    callKey: state.callKey,
    generation: state.generation,
    arguments: state.effective,
    argsDigest: state.effectiveDigest,
    toolDigest: call.toolDigest,
    effect: call.settings.effect,
    timeoutMs: call.settings.timeoutMs,
    originalRunId: turn.originalRunId,
    ...(isDry(turn) ? { dry: true as const } : {}),
    ...defined({
      child: askedChild(turn, state),
      ...{ origin: originOfCall(turn, state), round: roundOf(state), secret: state.secret, decision },
      authority: authorityOf(state),
      grant: decision === undefined ? state.grant : undefined,
      plan: state.plan,
      askMs: call.settings.askMs,
      state: placedIn(turn, state),
      mayHaveRun: state.mayHaveRun,
      proposed: state.edit === undefined ? undefined : state.proposed,
    }),
  };
}

function activityOptions(state: CallState): ActivityOptions {
  const { callId, settings } = state.call;
  const holder = state.placed?.holder;
  return {
    activityId: activityIds.call(callId, state.generation),
    startToCloseTimeout: settings.timeoutMs + (settings.askMs ?? 0) + TIMES.closeMargin,
    scheduleToStartTimeout: startWithin(settings, holder !== undefined),
    heartbeatTimeout: settings.heartbeatMs,
    retry: retryOf(state),
    // A cancelled turn waits for the outcome of a running call: the outcome must be known, not assumed.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: summaryOf(state),
    allowEagerDispatch: state.absent === undefined ? undefined : false,
    // A call that a person just decided on overtakes other tasks in the queue.
    priority: state.needsDecision ? { priorityKey: 1 } : undefined,
    taskQueue: holder?.queue ?? settings.taskQueue,
  };
}

/** The retry policy of a call. */
export function retryOf({ call: { settings } }: CallState): NonNullable<ActivityOptions['retry']> {
  const maximumAttempts = mostAttempts(settings);
  // The other settings have no effect on a call that is never retried.
  if (maximumAttempts === 1) return { maximumAttempts };
  const { initialIntervalMs: initialInterval, backoffCoefficient, maximumIntervalMs: most } = settings.retry;
  // The server refuses a longest wait that is shorter than the first one.
  const maximumInterval = most && Math.max(most, initialInterval);
  return { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval };
}

/** Asks the worker's journal and then the tool's `verify` whether a call in doubt took effect. Changes nothing. */
export function verifyCall(turn: Turn, state: CallState, asked: number): Promise<RawValue> {
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

/** Keeps the schemas that come with a reply. Arguments that a person changes are checked against them. */
export function keepSchemas(turn: Turn, { schemas }: ThinkOutput): void {
  for (const [digest, schema] of Object.entries(schemas)) turn.approvals.schemas.set(digest, schema);
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
export function prepareCall(turn: Turn, state: CallState): Promise<PreparedCall> {
  const { renewal, call } = state;
  const { callId, id, tool, settings } = call;
  const raw = JSON.stringify(state.effective);
  const askedAgain = renewal && { by: renewal.by, isRuled: call.authority !== undefined };
  const policyReason = isRaise(tool) ? call.policyReason : undefined;
  const asked = { callId, id, tool, raw, askedAgain, policyReason };
  const { agent, approvals } = turn;
  const by = { agent, approvals, ...defined({ origin: originOfCall(turn, state) }) };
  return prepare(by, asked, settings.taskQueue);
}

/** Asks a worker which people decide on a request for more budget. Never throws. */
export function prepareRaise(turn: Turn, request: ValidCall): Promise<PreparedCall> {
  const { callId, id, tool, policyReason, arguments: args } = request;
  const raw = JSON.stringify(args);
  return prepare(turn, { callId, id, tool, raw, policyReason }, undefined);
}

async function prepare(
  turn: Pick<Turn, 'agent' | 'origin' | 'approvals'>,
  asked: Omit<PrepareInput, 'agent' | 'origin'>,
  taskQueue: string | undefined,
): Promise<PreparedCall> {
  const input = { agent: turn.agent, origin: turn.origin, ...asked };
  try {
    const { call, schema } = await prepared(input, taskQueue);
    if (schema !== undefined && call.kind === 'ask') turn.approvals.schemas.set(call.toolDigest, schema);
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
