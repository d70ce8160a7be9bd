import { mayHaveRunBeforeReset, voidDecision } from '../reset-history';
import type { StartingCall, Stop } from './starting-call';

/** Notes whether a run before a reset may have run the call. */
export async function noteResetRun(call: StartingCall): Promise<undefined> {
  if (await mayHaveRunBeforeReset(call.input)) call.input = { ...call.input, mayHaveRun: true };
}

/** A decision counts for one run of the turn. For an unsafe call, the search for an earlier start says more. */
export async function decidedInThisRun({ input, registered }: StartingCall): Promise<Stop | undefined> {
  const why = registered?.tool.effect === 'unsafe' ? undefined : await voidDecision(input);
  return why === undefined ? undefined : { askAgain: why };
}
