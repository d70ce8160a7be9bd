import type { SignalVerdict } from '../../contract/decision';
import { SIGNALS, UPDATES } from '../../contract/names';
import type { DecodedFailure, EventOf } from '../decode/events';
import type { Answered, DecisionMade, EventHeader, Judgement, Resolved, TurnEvent } from '../events';
import { type CallStart, is } from './guards';
import {
  allows,
  answeredEvent,
  applyJudged,
  decisionEvent,
  type JudgedInput,
  resolvedEvent,
  textAt,
} from './verdicts';
import { callHeader, happen, timeOf } from './lives';
import { type FoldState, eventHeader, type PendingSignal } from './state';
import { rootOf } from '../decode/failure';
import { SOMEBODY } from '../../contract/authority';
import { type CallState, secretOf } from '../../lifecycle/state';
import { mayBeBy } from '../../authority/votes/voters';

/**
 * A signal arrived. A decision, a resolution or an answer waits for its verdict. Other signals become events
 * immediately.
 */
export function signaled(state: FoldState, event: EventOf<'signaled'>): TurnEvent[] {
  const { name, input, identity } = event;
  if (name === SIGNALS.approval || name === SIGNALS.resolution || name === SIGNALS.answer)
    return recorded(state, event, name);
  if (name === SIGNALS.outcome) return outcomeReported(state, event);
  if (name !== SIGNALS.abandon) return [];
  const approver = textAt(input, 'approver') ?? SOMEBODY;
  const reason = { reason: textAt(input, 'reason') };
  happen(state, { type: 'abandoned', by: { approver, ...reason, at: timeOf(event) } });
  return [{ type: 'abandoned', ...eventHeader(event), approver, identity, ...reason }];
}

function recorded(
  state: FoldState,
  event: EventOf<'signaled'>,
  signal: PendingSignal['signal'],
): TurnEvent[] {
  const { input, identity } = event;
  const { reapplying: reapplied } = state;
  state.signals.push({ signal, input, identity, isJudged: false, reapplied });
  const said = { callId: textAt(input, 'callId'), approver: textAt(input, 'approver') };
  return [{ type: 'signal_recorded', ...eventHeader(event), signal, identity, ...said }];
}

/** Takes a late outcome as proof while the call is in doubt. The memo shows whether a person was first. */
function outcomeReported(state: FoldState, event: EventOf<'signaled'>): TurnEvent[] {
  if (!is.outcome(event.input)) return [];
  const { callKey, generation, secret, result } = event.input;
  const { callId } = result;
  const held = state.calls.get(callId);
  const life = state.approvals.calls.get(callId);
  const isOfIt = held?.callKey === callKey && life?.generation === generation && secretOf(life) === secret;
  if (isOfIt && held !== undefined) held.proof = { result, origin: 'handler' };
  const settles = isOfIt && life?.phase === 'in_doubt';
  return [{ type: 'outcome_reported', ...callHeader(state, event, callId), generation, result, settles }];
}

/**
 * The verdicts on signals were written, in the order of the signals, by the workflow task that took every signal before
 * it. The memo keeps only the newest verdicts, so its last verdicts belong to the last signals. Of a flood of signals
 * the task may have taken only a part.
 */
export function judgeSignals(
  state: FoldState,
  head: EventHeader,
  verdicts: readonly SignalVerdict[],
): TurnEvent[] {
  const behind = verdicts.at(-1)?.behind ?? 0;
  const signals = state.signals.slice(0, Math.max(0, state.signals.length - behind));
  state.signals = state.signals.slice(signals.length);
  const offset = verdicts.length - signals.length;
  return signals.flatMap((signal, index) => {
    const verdict = verdicts[offset + index];
    if (signal.isJudged) return [];
    const { asksAgain, stillWaits } = verdict ?? {};
    const said = { judgement: judgementOf(verdict), asksAgain, stillWaits };
    return judgeSignal(state, head, { signal, ...said });
  });
}

function judgementOf(verdict: SignalVerdict | undefined): Judgement {
  if (verdict === undefined) return { accepted: 'unknown' };
  return verdict.verdict === 'accepted' ? { accepted: true } : { accepted: false, code: verdict.verdict };
}

/**
 * Reports the decision that came by signal before it reports the start of the call. A workflow task may write the start
 * first and the verdict later. Without this function, the events would show a call that starts without a decision.
 */
export function decidedBySignal(state: FoldState, head: EventHeader, allowed: Allowed): TurnEvent[] {
  const { phase } = allowed.life;
  const signal = phase === 'request' || phase === 'in_doubt' ? signalOf(state, allowed) : undefined;
  if (signal === undefined) return [];
  signal.isJudged = true;
  return judgeSignal(state, head, { signal, judgement: { accepted: true } });
}

/** A call that starts, and the decision by which it starts. */
interface Allowed {
  life: CallState;
  decision: NonNullable<CallStart['decision']>;
}

/**
 * The signal that gave a decision. The turn draws an id for a signal without one. Such a signal counts if it allows the
 * call and is of the decision's approver, or if no other such signal came: anybody may send signals, and most are
 * refused.
 */
function signalOf({ signals }: FoldState, { life, decision }: Allowed): PendingSignal | undefined {
  const wanted = life.phase === 'in_doubt' ? 'resolution' : 'approval';
  const about = signals.filter(
    ({ signal, input, isJudged }) =>
      signal === wanted && !isJudged && textAt(input, 'callId') === life.call.callId,
  );
  const named = about.find(({ input }) => textAt(input, 'decisionId') === decision.decisionId);
  if (named !== undefined) return named;
  const unnamed = about.filter((one) => textAt(one.input, 'decisionId') === undefined && allows(one));
  const own = unnamed.find(({ input }) => mayBeBy(decision, life.call.authority, textAt(input, 'approver')));
  return own ?? (unnamed.length === 1 ? unnamed[0] : undefined);
}

function judgeSignal(
  state: FoldState,
  head: EventHeader,
  {
    signal,
    ...verdict
  }: Pick<JudgedInput, 'judgement' | 'asksAgain' | 'stillWaits'> & { signal: PendingSignal },
): TurnEvent[] {
  const { input, identity, reapplied } = signal;
  const judged = { input, identity, door: 'signal' as const, ...verdict, reapplied };
  if (signal.signal === 'answer') return applyOnce(state, answeredEvent(state, head, judged));
  return applyOnce(
    state,
    signal.signal === 'approval' ? decisionEvent(head, judged) : resolvedEvent(head, judged),
  );
}

/**
 * The server has taken an update that it gives to the workflow later. After a reset, these are the updates that arrived
 * after the reset point.
 */
export function updateAdmitted(state: FoldState, event: EventOf<'update_admitted'>): TurnEvent[] {
  const { updateId, name, input, identity } = event;
  const { reapplying: reapplied } = state;
  state.updates.set(updateId, { name, input, identity, reapplied });
  return [];
}

/** An update passed its validator. Its verdict comes in the same workflow task. */
export function updateAccepted(state: FoldState, event: EventOf<'update_accepted'>): TurnEvent[] {
  const { updateId, name, input, identity } = event;
  if (name !== '') state.updates.set(updateId, { name, input, identity });
  return [];
}

/** The verdict on a decision or resolution by update. */
export function updateCompleted(state: FoldState, event: EventOf<'update_completed'>): TurnEvent[] {
  const update = state.updates.get(event.updateId);
  state.updates.delete(event.updateId);
  if (update === undefined) return [];
  const verdict = is.accepted(event.value) ? event.value : undefined;
  const judgement = verdict === undefined ? refusal(event.failure) : { accepted: true as const };
  const { name, input, identity, reapplied } = update;
  if (name === UPDATES.move) {
    state.isMoving = true;
    return [];
  }
  const asksAgain = verdict?.asksAgain;
  const stillWaits = verdict?.needs === undefined ? undefined : (true as const);
  const details = { verdict, asksAgain, stillWaits, reapplied };
  const judged = { input, identity, door: 'update' as const, judgement, ...details };
  if (name === UPDATES.decide) return applyOnce(state, decisionEvent(event, judged));
  if (name === UPDATES.answer) return applyOnce(state, answeredEvent(state, event, judged));
  return name === UPDATES.resolve ? applyOnce(state, resolvedEvent(event, judged)) : [];
}

/**
 * The verdict on an update that failed. Another message of the same workflow task was taken after this one had passed
 * the validator.
 */
function refusal(failure: DecodedFailure | undefined): Judgement {
  const [refused] = failure === undefined ? [] : rootOf(failure).details;
  if (!is.refused(refused)) return { accepted: 'unknown' };
  const { code, message, issues } = refused;
  return { accepted: false, code, message, issues };
}

/**
 * Applies a judged message to its call. If no worker answered the update, the same decision is sent again by signal.
 * Both make one event.
 */
function applyOnce(state: FoldState, event: DecisionMade | Resolved | Answered): TurnEvent[] {
  if (event.judgement.accepted === true && event.decisionId !== undefined) {
    if (state.acceptedIds.has(event.decisionId)) return [];
    state.acceptedIds.add(event.decisionId);
  }
  return applyJudged(state, event);
}
