import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { testAddress, testCli } from './server';
import type { TurnHandle } from './worker';

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
