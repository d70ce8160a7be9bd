import { Context } from '@temporalio/activity';
import { SIGNALS } from '../contract/names';
import type { ToolResult } from '../contract/result';
import type { Execution } from './execution';

/** What to do with a result that comes when nobody waits for it any more. Never rejects. */
type Report = (result: ToolResult) => Promise<void>;

/** For a handler that ends after it was given up: its outcome settles the doubt, unless a person was first. */
export function lateReporter(execution: Execution): Report {
  const signal = outcomeSignal(execution);
  return async (result) => {
    if (execution.tool.effect !== 'unsafe') return;
    await writeOutcome(execution, result);
    await signal(result);
  };
}

/**
 * Tells the turn by signal: whichever run holds the call now, since a reset may have made another one and the key says
 * which call it is. It may be over by then; then nobody is left to tell, and the journal still has it.
 */
export function outcomeSignal({ input }: Pick<Execution, 'input'>): Report {
  // Taken now: when the outcome comes the activity is over, and its context with it.
  const context = Context.current();
  const { callKey, generation, callId } = input;
  return async (result) => {
    try {
      const handle = context.client.workflow.getHandle(context.info.workflowExecution?.workflowId ?? '');
      await handle.signal(SIGNALS.outcome, { callKey, generation, result });
    } catch (error) {
      context.log.warn('a late outcome could not be reported', { callId, error: String(error) });
    }
  };
}

/** The effect has happened: an outcome that cannot be written is logged and still returned. */
export async function writeOutcome({ deps, input, key }: Execution, result: ToolResult): Promise<void> {
  try {
    await deps.journal.end(key, result);
  } catch (error) {
    const facts = { callId: input.callId, error: String(error) };
    deps.log.warn('an outcome could not be written to the journal', facts);
  }
}
