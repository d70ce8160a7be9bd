import type { CallInput, CallOutput } from '../contract/call';
import { makeFailure } from '../contract/make-result';
import type { ToolResult } from '../contract/result';
import type { ActivityDeps } from './deps';
import { execute, known, notRun, withNote, type Execution } from './execution';
import { retryFailure } from './failures';
import { takeLease } from './lease';
import { recheck } from './recheck';
import { runUnsafe } from './run-unsafe';

/** Runs one call. What it returns is final; it throws only to be run again, and never for an unsafe call. */
export async function runTool(deps: ActivityDeps, input: CallInput): Promise<CallOutput> {
  const agent = deps.agents.get(input.agent);
  const tool = agent?.registry.get(input.tool);
  if (agent === undefined || tool === undefined) return known(deps, withdrawn(input));
  const checked = await recheck({ agent, tool, log: deps.log }, input);
  if (!checked.ok) return known(deps, notRun({ tool, input }, checked.failure));
  const key = `${input.callKey}:${input.generation}`;
  const execution = { deps, tool, input, value: checked.value, key };
  return tool.effect === 'unsafe' ? runUnsafe(execution) : runAgainable(execution);
}

/** Another agent on this queue still has a tool of this name; this one has not. */
function withdrawn(input: CallInput): ToolResult {
  const message = `The agent no longer has the tool ${input.tool}. Nothing ran.`;
  return makeFailure(input, { code: 'tool_not_found', message }, { timestamp: new Date().toISOString() });
}

/** Pure and idempotent calls: a lost attempt may run again, with the same key. */
async function runAgainable(execution: Execution): Promise<CallOutput> {
  const lease = takeLease();
  try {
    const outcome = await execute(execution, lease);
    const loss = lease.lost();
    const result = withNote(execution.input, outcome.result);
    const ended = result.success || loss === undefined || loss === 'cancelled';
    if (!ended || outcome.retryable) throw retryFailure(result);
    return known(execution.deps, result);
  } finally {
    lease.release();
  }
}
