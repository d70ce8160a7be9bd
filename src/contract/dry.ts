import type { ValidCall } from './call';
import { makeSuccess } from './make-result';
import type { DryKind, ToolResult } from './result';

/**
 * What a call is recorded as in a dry world instead of running; undefined: it runs, because it changes nothing and
 * needs nobody. A dangerous call is not waited for: what a person would say about a call that cannot run has no weight,
 * and a what-if that stops for days is none.
 */
export function dryKindOf(call: ValidCall): DryKind | undefined {
  if (call.kind === 'ask') return 'would_ask';
  return call.settings.effect === 'pure' ? undefined : 'would_run';
}

const WHY = 'this turn is a fork in a dry world, in which calls with an effect are recorded and not executed';

const TEXTS: Readonly<Record<DryKind, string>> = {
  would_run: `[Not executed: ${WHY}. Take it as done as asked; what it would have returned is not known.]`,
  would_ask: `[Not executed: ${WHY}. A person would have been asked to decide on it. Take it as approved and done as asked; what it would have returned is not known.]`,
};

/** The result of a call that was recorded instead of run; `timestamp` is ISO 8601. */
export function dryResult(call: ValidCall, dry: DryKind, timestamp: string): ToolResult {
  const { id, callId, tool, arguments: args, settings } = call;
  const head = { id, callId, tool, arguments: args };
  const facts = { timestamp, safety: settings.safety };
  const result = makeSuccess(head, { content: TEXTS[dry], contentType: 'text' }, facts);
  return { ...result, metadata: { ...result.metadata, dry } };
}
