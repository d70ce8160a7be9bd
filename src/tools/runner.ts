import type { CallContext, Tool } from './types';

/** What there is to run. */
export interface RunnerJob {
  tool: Tool;
  /** The arguments, as the tool's `parse` returned them. */
  value: unknown;
  context: CallContext;
}

/**
 * Executes a handler; replace it to put a sandbox in its place.
 * Contract: resolves to what the handler returned and rejects with what it threw; throws TransportError where the
 * sandbox itself broke; ends soon after `context.signal` aborts.
 */
export type Runner = (job: RunnerJob) => Promise<unknown>;

/** Runs handlers in this process. */
export const inProcess: Runner = ({ tool, value, context }) => tool.handle(value, context);
