import { scheduleActivity, type ActivityOptions } from '@temporalio/workflow';
import type { InvalidCall, PreparedCall, RemoteCall } from '../contract/call';
import { unprepared } from '../contract/endings';
import { askFirst } from '../contract/fork';
import { TIMES } from '../contract/limits';
import { makeFailure } from '../contract/make-result';
import { ACTIVITIES, activityIds } from '../contract/names';
import type { PrepareInput, PrepareOutput, ThinkOutput } from '../contract/think';
import type { CallState } from './approvals/state';
import { inWork, type Hands } from './hands';
import type { Turn } from './turn';

/** Keeps the schemas of a reply's requests: edits are checked against them. */
export function keepSchemas(turn: Turn, { schemas }: ThinkOutput): void {
  for (const [digest, schema] of Object.entries(schemas)) turn.approvals.schemas.set(digest, schema);
}

/** Whether the tools of some calls live on other queues. */
export function hasRemote({ calls }: ThinkOutput): boolean {
  return calls.some((call) => call.kind === 'remote');
}

/** Prepares the calls whose tools live on other queues; they have other files than the worker that thought. */
export function prepareRemote(turn: Turn, output: ThinkOutput, hands: Hands): Promise<PreparedCall[]> {
  return inWork(turn, hands, () =>
    Promise.all(output.calls.map((call) => (call.kind === 'remote' ? remote(turn, call) : call))),
  );
}

async function remote(turn: Turn, call: RemoteCall): Promise<PreparedCall> {
  const { callId, id, tool, raw, taskQueue } = call;
  const prepared = await prepare(turn, { agent: turn.agent, callId, id, tool, raw }, taskQueue);
  // Whoever made up the call did not know which queue has its tool; the turn's own worker does.
  if (prepared.kind === 'remote' && prepared.taskQueue !== taskQueue)
    return remote(turn, { ...call, taskQueue: prepared.taskQueue });
  return askFirst(call, prepared);
}

/** Prepares a call anew with the arguments a person gave it. Never throws. */
export function prepareCall(turn: Turn, state: CallState): Promise<PreparedCall> {
  const { callId, id, tool, settings } = state.call;
  const raw = JSON.stringify(state.effective);
  return prepare(turn, { agent: turn.agent, callId, id, tool, raw }, settings.taskQueue);
}

async function prepare(
  turn: Turn,
  input: PrepareInput,
  taskQueue: string | undefined,
): Promise<PreparedCall> {
  try {
    const output = await scheduleActivity<PrepareOutput>(
      ACTIVITIES.prepare,
      [input],
      optionsOf(input, taskQueue),
    );
    const { call, schema } = output;
    if (schema !== undefined && call.kind === 'ask') turn.approvals.schemas.set(call.toolDigest, schema);
    return call;
  } catch (error) {
    return withoutWorker(input, error);
  }
}

function optionsOf(input: PrepareInput, taskQueue: string | undefined): ActivityOptions {
  return {
    activityId: activityIds.prepare(input.callId),
    startToCloseTimeout: TIMES.toolTimeout + TIMES.closeMargin,
    scheduleToStartTimeout: TIMES.startWithin,
    retry: { maximumAttempts: 5, initialInterval: 1000, backoffCoefficient: 2 },
    summary: `prepare ${input.callId} ${input.tool}`,
    ...(taskQueue === undefined ? {} : { taskQueue }),
  };
}

/** No worker could prepare it: an error result, nothing ran. */
function withoutWorker(input: PrepareInput, error: unknown): InvalidCall {
  const { callId, id, tool } = input;
  const why =
    error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : '';
  const facts = { timestamp: new Date(Date.now()).toISOString() };
  const result = makeFailure({ id, callId, tool, arguments: {} }, unprepared(tool, why), facts);
  return { kind: 'invalid', callId, id, tool, proposed: {}, result };
}
