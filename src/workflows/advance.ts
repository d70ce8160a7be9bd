import { reopen } from './approvals/replan';
import type { CallState, Settlement } from './approvals/state';
import { expire, settle, start, sweepAbandoned } from './approvals/transitions';
import { touch } from './gated';
import { inWork, type Hands } from './hands';
import { nextToStart } from './order';
import { prepareCall } from './prepare';
import { settlementOf } from './settlement';
import { runCall } from './tool-call';
import type { Turn } from './turn';
import { startVerify } from './verify';

/** Everything that can happen to the calls of a step now, without waiting. */
export function advance(turn: Turn, hands: Hands): void {
  const now = Date.now();
  expire(turn.approvals, now);
  sweepAbandoned(turn.approvals, now);
  const states = [...turn.approvals.calls.values()];
  for (const state of states) if (state.phase === 'replanning') startReplan(turn, state, hands);
  for (const state of nextToStart(states, turn.order)) startCall(turn, state, hands);
}

function startCall(turn: Turn, state: CallState, hands: Hands): void {
  const decision = start(state);
  touch(turn);
  const end = (settlement: Settlement): void => {
    settle(turn.approvals, state, { settlement, now: Date.now() });
    if (state.phase === 'in_doubt') startVerify(turn, state, hands.shield);
    hands.bell.ring();
  };
  void inWork(turn, hands, () => runCall(turn, state, decision)).then(end, (error: unknown) =>
    end(settlementOf(state, error, Date.now())),
  );
}

function startReplan(turn: Turn, state: CallState, hands: Hands): void {
  if (state.replanningFor === state.effectiveDigest) return;
  state.replanningFor = state.effectiveDigest;
  void inWork(turn, hands, () => prepareCall(turn, state)).then((prepared) => {
    delete state.replanningFor;
    reopen(state, prepared, Date.now());
    touch(turn);
  });
}
