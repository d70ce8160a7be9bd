import { Context } from '@temporalio/activity';
import type { ToolResult } from '../contract/result';
import { pendingAttempt } from './pending-attempt';

/** Calls that were quicker than this are not asked about: the server has hardly had the time to give them up. */
const LONG_MS = 1000;

/**
 * Whether the server no longer waits for this attempt. The worker's own clocks know it only later, and the answer of an
 * attempt that was given up is dropped without a word. False where the server cannot be asked; then the answer itself
 * is the next try.
 */
export async function isGivenUp({ metadata }: ToolResult): Promise<boolean> {
  if (metadata.execution_time_ms < LONG_MS) return false;
  try {
    return (await pendingAttempt()) === undefined;
  } catch (error) {
    Context.current().log.warn('whether a call was given up could not be read', { error: String(error) });
    return false;
  }
}
