import type { OutcomeReport } from '../contract/call';
import { DECIDED_BEFORE } from '../contract/call-texts';
import type { Abandonment } from '../contract/decision';
import type { ToolResult } from '../contract/result';
import { decideDecision } from './decisions';
import { prove, takeAbandonment, takeOutcome } from './doubts';
import { cancelAll, whatIsDue, withdraw } from './endings';
import type { LifeFact } from './events';
import { type Decided, refuse, type ReceivedMessage } from './messages';
import { isVoidAfterReset, takeReset } from './reset';
import { decideResolution } from './resolutions';
import { settle, type Settlement } from './outcomes';
import type { AllowedCall, Approvals } from './state';

/** What somebody says, what the workflow has to do about its calls, or a fact that nobody can refuse. */
export type LifeCommand =
  /** A person decides on a request, or resolves a call in doubt. Questions are answered with `decideAnswer`. */
  | ({ type: 'decision' | 'resolution' } & ReceivedMessage)
  | { type: 'start'; callId: string; secret?: string }
  | { type: 'settle'; callId: string; settlement: Settlement }
  | { type: 'prove'; callId: string; result: ToolResult }
  | { type: 'outcome'; outcome: OutcomeReport }
  | { type: 'withdraw'; callId: string }
  /** Time has passed, or something may be due for another reason. */
  | { type: 'look' }
  | { type: 'cancel' }
  | { type: 'abandon'; by: Abandonment }
  | { type: 'reset' }
  | LifeFact;

/** What a command leads to at workflow time `now` (ms). Changes nothing: `apply` makes the next state of the events. */
export function decide(calls: Approvals, command: LifeCommand, now: number): Decided {
  switch (command.type) {
    case 'decision':
      return unlessVoid(calls, command, decideDecision(calls, command, now));
    case 'resolution':
      return unlessVoid(calls, command, decideResolution(calls, command, now));
    case 'start':
      return decideStart(calls, command.callId, command.secret);
    case 'settle':
      return { events: settle(calls, command.callId, command.settlement, now) };
    case 'prove':
      return { events: prove(calls.calls.get(command.callId), command.result, now) };
    case 'outcome':
      return { events: takeOutcome(calls, command.outcome, now) };
    case 'withdraw':
      return { events: withdraw(calls.calls.get(command.callId), now) };
    case 'look':
      return { events: whatIsDue(calls, now) };
    case 'cancel':
      return { events: cancelAll(calls, now) };
    case 'abandon':
      return { events: takeAbandonment(calls, command.by, now) };
    case 'reset':
      return { events: takeReset(calls, now) };
    default:
      return { events: [command] };
  }
}

/** A message that a reset applies again is refused where its decision would be void. */
export function unlessVoid(
  calls: Approvals,
  { isAgain, message }: ReceivedMessage,
  decided: Decided,
): Decided {
  if (!isAgain || decided.refused !== undefined || decided.events.length === 0) return decided;
  const state = calls.calls.get(decided.verdict?.callId ?? '');
  return state !== undefined && isVoidAfterReset(state)
    ? { refused: refuse('stale_args', `${DECIDED_BEFORE}; look again and decide anew`, message) }
    : decided;
}

/**
 * Starts a ready call and spends its decision. It is refused if a call needs a decision and has none that allows this
 * start: one for this generation, and for exactly what was seen. This is the last line of defence: it refuses only if
 * this folder has a bug.
 */
function decideStart(calls: Approvals, callId: string, secret: string | undefined): Decided {
  const state = calls.calls.get(callId);
  const message = { callId };
  if (state?.phase !== 'ready')
    return {
      refused: refuse('not_allowed', `call ${callId} is ${state?.phase ?? 'not open'}, not ready`, message),
    };
  if (!isAllowed(state))
    return {
      refused: refuse('not_allowed', `call ${callId} has no unspent decision that matches it`, message),
    };
  return { events: [{ type: 'started', callId, secret }] };
}

function isAllowed({ leave, call, generation, seenDigest, voided }: AllowedCall) {
  if (leave.by === 'decision')
    return leave.decision.seenDigest === seenDigest && leave.generation === generation;
  const needsNone = leave.by === 'grant' || call.kind === 'run';
  return needsNone && call.question === undefined && generation === 0 && voided === 0;
}
