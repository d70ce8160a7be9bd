import type { ValidCall } from './call';
import { type DryKind, makeSuccess, type ToolResult } from './result';
import type { Effect } from './tool';
import type { ForkOrigin } from './fork';

/** Whether the calls of a turn that have an effect or need a decision are only recorded. */
export function isDry({ fork }: { fork?: Pick<ForkOrigin, 'world'> }): boolean {
  return fork?.world === 'dry';
}

/**
 * The only rule of a dry world. It says how a call is recorded instead of running. Undefined if the call runs,
 * because it changes nothing and needs no decision. No person is asked: a decision about a call that cannot run has no
 * effect, and a what-if must not wait for days.
 */
export function dryKindOf(effect: Effect, needsDecision: boolean): DryKind | undefined {
  if (needsDecision) return 'would_ask';
  return effect === 'pure' ? undefined : 'would_run';
}

/**
 * The result that a fork records for a call instead of running the call. Undefined if the call runs. `timestamp` is ISO
 * 8601.
 */
export function resultWithoutRun(
  fork: ForkOrigin | undefined,
  call: ValidCall,
  timestamp: string,
): ToolResult | undefined {
  if (!isDry({ fork })) return undefined;
  // A child turn is a separate turn, which would not know that this world is dry.
  const effect = call.settings.child === undefined ? call.settings.effect : 'unsafe';
  const dry = dryKindOf(effect, call.kind === 'ask');
  return dry === undefined ? undefined : dryResult(call, dry, timestamp);
}

const WHY = 'this turn is a fork in a dry world, in which calls with an effect are recorded and not executed';

const TEXTS: Readonly<Record<DryKind, string>> = {
  would_run: `[Not executed: ${WHY}. Take it as done as asked; what it would have returned is not known.]`,
  would_ask: `[Not executed: ${WHY}. A person would have been asked to decide on it. Take it as approved and done as asked; what it would have returned is not known.]`,
};

const UNASKED = `[Not asked: ${WHY}. A person would have been asked. What they would have answered is not known; go on without it.]`;

/** The result of a call that was recorded instead of run. `timestamp` is ISO 8601. */
export function dryResult(call: ValidCall, dry: DryKind, timestamp: string): ToolResult {
  const { id, callId, tool, arguments: args, settings, question } = call;
  const head = { id, callId, tool, arguments: args };
  const facts = { timestamp, safety: settings.safety };
  const result = makeSuccess(
    head,
    { content: question === undefined ? TEXTS[dry] : UNASKED, contentType: 'text' },
    facts,
  );
  return { ...result, metadata: { ...result.metadata, dry } };
}
