import type { SignalVerdict } from '../../contract/decision';
import { SIGNALS } from '../../contract/names';
import type { EventOf } from '../decode/events';
import { defined } from '../defined';
import type { EventHead, Judgement, TurnEvent } from '../events';
import { tell } from './effects';
import { is } from './guards';
import { decisionEvent, resolvedEvent, textAt } from './said';
import { headOf, type CallFold, type FoldState, type PendingSignal } from './state';

/** A signal came in. Decisions and resolutions wait for their verdict; the others are told at once. */
export function signaled(state: FoldState, event: EventOf<'signaled'>): TurnEvent[] {
  const { name, input, identity } = event;
  if (name === SIGNALS.approval || name === SIGNALS.resolution) return recorded(state, event, name);
  if (name === SIGNALS.outcome) return outcomeReported(state, event);
  if (name !== SIGNALS.abandon) return [];
  const approver = textAt(input, 'approver') ?? 'somebody';
  return [
    {
      type: 'abandoned',
      ...headOf(event),
      approver,
      identity,
      ...defined({ reason: textAt(input, 'reason') }),
    },
  ];
}

function recorded(
  state: FoldState,
  event: EventOf<'signaled'>,
  signal: PendingSignal['signal'],
): TurnEvent[] {
  const { input, identity } = event;
  state.signals.push({ signal, input, identity, told: false });
  const said = defined({ callId: textAt(input, 'callId'), approver: textAt(input, 'approver') });
  return [{ type: 'signal_recorded', ...headOf(event), signal, identity, ...said }];
}

/** A late outcome is proof as long as the call is in doubt; the memo tells whether a person was first. */
function outcomeReported(state: FoldState, event: EventOf<'signaled'>): TurnEvent[] {
  if (!is.outcome(event.input)) return [];
  const { callKey, generation, result } = event.input;
  const { callId } = result;
  const held = state.calls.get(callId);
  const settles = held?.phase === 'lost' && held.callKey === callKey && held.generation === generation;
  if (settles) held.proof = result;
  return [{ type: 'outcome_reported', ...headOf(event), callId, generation, result, settles }];
}

/**
 * Verdicts were written, in the order of the signals, by the workflow task that took every signal before it.
 * The memo keeps the newest only, so the last verdicts belong to the last signals.
 */
export function judgeSignals(
  state: FoldState,
  head: EventHead,
  verdicts: readonly SignalVerdict[],
): TurnEvent[] {
  const signals = state.signals;
  state.signals = [];
  const offset = verdicts.length - signals.length;
  return signals.flatMap((signal, index) => {
    const verdict = verdicts[offset + index];
    return signal.told ? [] : told(state, head, { signal, judgement: judgementOf(verdict) });
  });
}

function judgementOf(verdict: SignalVerdict | undefined): Judgement {
  if (verdict === undefined) return { accepted: 'unknown' };
  return verdict.verdict === 'accepted' ? { accepted: true } : { accepted: false, code: verdict.verdict };
}

/**
 * A call that needed a decision starts before its verdict is written in the same task: the signal that allows it is
 * told now, so that nobody sees a call start that nobody allowed.
 */
export function decidedBySignal(state: FoldState, head: EventHead, allowed: Allowed): TurnEvent[] {
  const { held, decisionId } = allowed;
  if (held.phase !== 'requested' && held.phase !== 'lost') return [];
  const wanted = held.phase === 'lost' ? 'resolution' : 'approval';
  const signal = state.signals.find((one) => {
    const given = textAt(one.input, 'decisionId') ?? decisionId;
    const same = one.signal === wanted && textAt(one.input, 'callId') === held.call.callId;
    return same && !one.told && given === decisionId;
  });
  if (signal === undefined) return [];
  signal.told = true;
  return told(state, head, { signal, judgement: { accepted: true } });
}

/** A call that starts, and the decision it spends. */
export interface Allowed {
  held: CallFold;
  decisionId: string;
}

function told(
  state: FoldState,
  head: EventHead,
  { signal, judgement }: { signal: PendingSignal; judgement: Judgement },
): TurnEvent[] {
  const judged = { input: signal.input, identity: signal.identity, door: 'signal' as const, judgement };
  return tell(
    state,
    signal.signal === 'approval' ? decisionEvent(head, judged) : resolvedEvent(head, judged),
  );
}
