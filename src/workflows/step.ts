import { callKey } from '../contract/names';
import type { PreparedCall } from '../contract/call';
import { ENDINGS } from '../contract/call-texts';
import { failureOf } from '../lifecycle/results';
import { act, liveCall } from './call-life';
import { placesIn } from './next-to-start';
import type { Turn, TurnRuntime } from './turn-state';
import { TurnCall } from './turn-call';
import { noteRequesters } from './session/words';
import { resultWithoutRun } from '../contract/dry-run';

interface StepOptions {
  /** Why the calls do not run. */
  closedAs?: keyof typeof ENDINGS;
  /** What is to be done while calls are open. Undefined: nothing now. */
  due?: () => (() => Promise<void>) | undefined;
}

/** Runs the calls of one reply, until each has its result. */
export async function runStep(
  turn: Turn,
  calls: readonly PreparedCall[],
  runtime: TurnRuntime,
  { closedAs, due = () => undefined }: StepOptions = {},
): Promise<void> {
  const { observer, queue, changes } = runtime;
  const isMoved = turn.moved !== undefined;
  open(turn, calls, closedAs);
  observer.begin(calls, isMoved);
  changes.begin();
  const wasHeld = queue.isHeld;
  // Messages that arrived before are judged now.
  queue.release();
  // History has their answers before the calls that they allow, however many promises the interceptors of users need.
  if (wasHeld) await changes.until(() => !changes.hasUnseen);
  const mayStart = placesIn(turn);
  // While a local activity runs, a replay may take tasks together, so it may see messages where there were none.
  const isLocal = [...turn.approvals.calls.values()].some(({ call }) => call.settings.local === true);
  const look = () => {
    if (!isLocal) changes.lookAlone();
  };
  for (const callId of turn.approvals.calls.keys())
    void liveCall(new TurnCall(turn, callId, runtime, mayStart)).then(look);
  look();
  const isOver = () => [...turn.approvals.calls.values()].every(({ phase }) => phase === 'done');
  while (!isOver()) {
    await changes.until(() => isOver() || due() !== undefined);
    const now = isOver() ? undefined : due();
    if (now !== undefined) await now();
  }
  // History has everything that has happened before the next reply.
  if (changes.hasUnseen) changes.look();
  noteRequesters(turn, turn.approvals.speakers);
}

function open(turn: Turn, calls: readonly PreparedCall[], closedAs: StepOptions['closedAs']) {
  act(turn, { type: 'began' });
  turn.reserved.clear();
  for (const call of calls) {
    if (call.kind !== 'run' && call.kind !== 'ask') continue;
    act(turn, { type: 'registered', call, callKey: callKey(turn.stepKey, call.callId), at: Date.now() });
  }
  for (const wait of turn.moved?.waits ?? []) act(turn, { type: 'taken_up', callId: wait.callId, wait });
  delete turn.moved;
  closeDry(turn);
  if (closedAs !== undefined) closeAll(turn, closedAs);
  if (turn.approvals.cancelled) act(turn, { type: 'cancel' });
}

/** Closes every call that a fork only records, before the call can start. */
function closeDry(turn: Turn) {
  const timestamp = new Date(Date.now()).toISOString();
  for (const [callId, { call }] of turn.approvals.calls) {
    const result = resultWithoutRun(turn.fork, call, timestamp);
    if (result !== undefined) act(turn, { type: 'closed', callId, result, at: Date.now() });
  }
}

function closeAll(turn: Turn, cause: NonNullable<StepOptions['closedAs']>) {
  for (const [callId, state] of turn.approvals.calls) {
    const result = failureOf(state, ENDINGS[cause], Date.now());
    act(turn, { type: 'closed', callId, cause, result, at: Date.now() });
  }
}
