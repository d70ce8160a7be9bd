import type { VoteDecision } from '../authority/votes/voters';
import { type AnswerKind, type DecisionKind, isDenial, type ResolutionKind } from '../contract/decision';
import type { Answered, DecisionMade, Resolved } from './events';
import type { CallView } from './view-types';

/**
 * What an accepted decision does to its request. `counts`: it is one vote, and the request still waits. `asks_again`:
 * somebody has to look again, at a new request. `denies` and `approves` settle the request.
 */
type DecisionEffect = 'counts' | 'asks_again' | 'denies' | 'approves';

/** What a decision does to its request. Undefined if it was not accepted. */
export function effectOfDecision(event: DecisionMade): DecisionEffect | undefined {
  const { judgement, decision, stillWaits, asksAgain } = event;
  if (judgement.accepted !== true) return undefined;
  if (stillWaits === true) return 'counts';
  if (asksAgain === true || decision === 'ask-again') return 'asks_again';
  return isDenial(event) ? 'denies' : 'approves';
}

/**
 * What an accepted resolution does to its call. `counts`: it is one vote, and the call is still in doubt. `runs_again`:
 * the call may start once more. `ends`: the call is over.
 */
type ResolutionEffect = 'counts' | 'runs_again' | 'ends';

/** What a resolution does to its call. Undefined if it was not accepted. */
export function effectOfResolution(event: Resolved): ResolutionEffect | undefined {
  if (event.judgement.accepted !== true) return undefined;
  if (event.stillWaits === true) return 'counts';
  return event.resolution === 'run-again' ? 'runs_again' : 'ends';
}

/** Whether a message ended the wait of its call. It did not if it was refused, or is one vote of several. */
export function takesEffect(event: DecisionMade | Resolved | Answered): boolean {
  if (event.type === 'answered') return event.judgement.accepted === true;
  const effect = event.type === 'decision' ? effectOfDecision(event) : effectOfResolution(event);
  return effect !== undefined && effect !== 'counts';
}

/** The word of a decision, a resolution or an answer. Undefined if nobody could read it. */
export function wordIn(
  event: DecisionMade | Resolved | Answered,
): DecisionKind | ResolutionKind | AnswerKind | undefined {
  if (event.type === 'answered') return event.answer;
  return event.type === 'decision' ? event.decision : event.resolution;
}

/** The ids of the hunks that a vote is about: those it names or, for another start, those that were approved. */
export function hunksToSign(
  { settledBy }: CallView,
  decision: VoteDecision,
  chosen: readonly string[] | undefined,
): readonly string[] | undefined {
  if (decision === 'denied') return undefined;
  return decision === 'run-again' ? settledBy?.hunks : chosen;
}

/**
 * The message that let a call start last: the decision, or the resolution that ran the call again. Undefined if the
 * call needed none.
 */
export function allowedBy({ settledBy, resolvedBy }: CallView): DecisionMade | Resolved | undefined {
  if (resolvedBy?.resolution === 'run-again') return resolvedBy;
  return settledBy === undefined || isDenial(settledBy) ? undefined : settledBy;
}

/** The message that ended the last wait of a call for people. Undefined if no message did. */
export function lastWordOn({
  answers,
  settledBy,
  resolvedBy,
}: CallView): DecisionMade | Resolved | Answered | undefined {
  return resolvedBy ?? settledBy ?? answers.findLast((one) => one.judgement.accepted === true);
}
