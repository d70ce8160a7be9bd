import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { testAddress, testCli } from './server';
import type { TurnHandle } from './fixture';

const run = promisify(execFile);

/** Runs a command of Temporal's own command line on a turn, as an operator would; throws with what it printed. */
export async function operator(handle: TurnHandle, ...command: string[]): Promise<string> {
  const about = ['--workflow-id', handle.workflowId, '--address', testAddress()];
  const { stdout } = await run(testCli(), [...command, ...about]);
  return stdout;
}

/** `temporal activity <verb>` on a call of a turn. */
export function onCall(handle: TurnHandle, verb: string, ...options: string[]): Promise<string> {
  return operator(handle, 'activity', verb, '--activity-id', 'call-1.1-0', ...options);
}

/** `temporal workflow reset`; the handle goes on with the new run, because it names none. */
export function resetTurn(handle: TurnHandle, ...options: string[]): Promise<string> {
  return operator(handle, 'workflow', 'reset', '--reason', 'test', ...options);
}

/** A run to reset, and the workflow task that it goes back to by the event that completed it. */
export interface ResetPoint {
  workflowId: string;
  runId: string;
  eventId: number;
  /** Nothing is applied again, as our own `reset` does. */
  isBare?: boolean;
}

/** Temporal's own reset of any run, of any server; returns the new run's id. */
export async function resetRun(client: Client, point: ResetPoint): Promise<string> {
  const { workflowId, runId, eventId, isBare = false } = point;
  const { SIGNAL, UPDATE, NEXUS, CANCEL } = EXCLUDE;
  const request = temporal.api.workflowservice.v1.ResetWorkflowExecutionRequest.fromObject({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, runId },
    workflowTaskFinishEventId: eventId,
    requestId: randomUUID(),
    reason: 'test',
    resetReapplyExcludeTypes: isBare ? [SIGNAL, UPDATE, NEXUS, CANCEL] : [],
  });
  const answer = await client.workflowService.resetWorkflowExecution(request);
  return answer.runId;
}

const types = temporal.api.enums.v1.ResetReapplyExcludeType;
const EXCLUDE = {
  SIGNAL: types.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL,
  UPDATE: types.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE,
  NEXUS: types.RESET_REAPPLY_EXCLUDE_TYPE_NEXUS,
  CANCEL: types.RESET_REAPPLY_EXCLUDE_TYPE_CANCEL_REQUEST,
};
