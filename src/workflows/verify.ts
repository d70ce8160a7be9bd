import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import { failureOf } from './approvals/close';
import type { CallState } from './approvals/state';
import { settleDoubt } from './approvals/transitions';
import { touch } from './gated';
import { verifyCall } from './tool-call';
import type { Turn } from './turn';

/** Asks in the background whether a call in doubt took effect; a person who is first stays first, and then nobody needs the answer. */
export function startVerify(turn: Turn, state: CallState, shield: CancellationScope): void {
  turn.counts.inDoubt += 1;
  const { generation } = state;
  const scope = new CancellationScope({ cancellable: true, parent: shield });
  void scope.run(() => askVerify(turn, state)).catch(ignoreCancellation);
  const isSettled = (): boolean => state.phase !== 'in_doubt' || state.generation !== generation;
  void untilSettled(turn, shield, isSettled).then(() => scope.cancel());
}

/** A turn that is not quiet is behind its shield already. */
function untilSettled({ isQuiet }: Turn, shield: CancellationScope, isSettled: () => boolean): Promise<void> {
  return isQuiet ? shield.run(() => condition(isSettled)) : condition(isSettled);
}

async function askVerify(turn: Turn, state: CallState): Promise<void> {
  const { generation } = state;
  const answer = await verifyCall(turn.agent, state).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return undefined;
  });
  if (answer === undefined || answer.outcome === 'cannot_tell' || state.generation !== generation) return;
  const now = Date.now();
  const result =
    answer.outcome === 'happened'
      ? answer.result
      : failureOf(state, { code: 'transport', message: answer.message }, now);
  if (settleDoubt(turn.approvals, state, result)) touch(turn);
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error;
}
