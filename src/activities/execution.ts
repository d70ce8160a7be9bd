import { Context } from '@temporalio/activity';
import type { CallInput, CallOutput } from '../contract/call';
import { withDecisionNote } from '../contract/decision-note';
import { makeFailure } from '../contract/make-result';
import type { ToolFailure, ToolResult } from '../contract/result';
import type { RunOutcome } from '../tools/executor';
import type { Tool } from '../tools/types';
import { contentDigest } from './content-digest';
import type { ActivityDeps } from './deps';
import { lateReporter } from './late-outcome';
import type { Lease } from './lease';

/** One execution of a call: everything its steps need. */
export interface Execution {
  deps: ActivityDeps;
  tool: Tool;
  input: CallInput;
  /** The arguments, as the handler wants them. */
  value: unknown;
  /** `<callKey>:<generation>`; what the handler gets as idempotency key. */
  key: string;
}

/** A final output. Its text stays with the worker, so that the next step need not be sent it. */
export function known(deps: ActivityDeps, result: ToolResult): CallOutput {
  const digest = contentDigest(result.content);
  deps.memory.keepContent(digest, result.content);
  return { result, contentDigest: digest };
}

/** An error result of a call whose handler did not start. */
export function notRun({ tool, input }: Pick<Execution, 'tool' | 'input'>, failure: ToolFailure): ToolResult {
  const facts = {
    timestamp: new Date().toISOString(),
    safety: tool.safety,
    approved: input.decision !== undefined,
    attempt: Context.current().info.attempt,
  };
  return withNote(input, makeFailure({ ...input, server: tool.server }, failure, facts));
}

/** Runs the handler under its lease. */
export async function execute(execution: Execution, lease: Lease): Promise<RunOutcome> {
  const { deps, tool, input, value, key } = execution;
  return deps.executor.run({
    tool,
    value,
    call: { callId: input.callId, id: input.id, arguments: input.arguments },
    approved: input.decision !== undefined,
    attempt: Context.current().info.attempt,
    idempotencyKey: key,
    signal: lease.signal,
    // The machine may have been frozen since the last look; looking aborts the signal.
    beforeStart: () => void lease.lost(),
    timeoutMs: input.timeoutMs,
    onLate: lateReporter(execution),
    ...(input.plan === undefined ? {} : { plan: input.plan }),
    ...(input.decision?.hunks === undefined ? {} : { hunks: input.decision.hunks }),
  });
}

/** The result as the model reads it: after what a person changed or said. */
export function withNote(input: CallInput, result: ToolResult): ToolResult {
  return { ...result, content: withDecisionNote(input, result.content) };
}
