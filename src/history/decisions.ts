import { voterIn } from '../contract/authority/authority';
import type { CastVote } from '../contract/authority/votes';
import { type DecisionKind, isDenial } from '../contract/decision';
import { defined } from '../contract/defined';
import { withDefaults } from '../contract/schema/schema';
import type { DecisionMade, Resolved } from './events';
import type { CallView } from './view-types';

/** Takes a decision. It decides the call, or counts as one vote of several. */
export function foldDecision(call: CallView, event: DecisionMade): void {
  call.decisions.push(event);
  const effect = effectOfDecision(event);
  if (effect === undefined || call.phase !== 'requested') return;
  const isRepeated = effect === 'asks_again';
  if (!isRepeated) voted(call, event, event.decision);
  if (effect === 'counts') return;
  if (event.decision === 'ask-again') return void (call.phase = 'replanning');
  if (!isRepeated) call.settledBy = event;
  if (event.arguments !== undefined) call.effective = withDefaults(call.request?.schema, event.arguments);
  if (effect === 'denies') return void (call.phase = 'denied');
  call.approved = call.effective;
  if (isRepeated) forgetVotes(call);
  call.phase = isRepeated ? 'replanning' : 'approved';
}

/**
 * What an accepted decision does to its request. `counts`: it is one vote, and the request still waits. `asks_again`:
 * somebody has to look again, at a new request. `denies` and `approves` settle the request.
 */
export type DecisionEffect = 'counts' | 'asks_again' | 'denies' | 'approves';

/** What a decision does to its request. Undefined if it was not accepted. */
export function effectOfDecision(event: DecisionMade): DecisionEffect | undefined {
  const { judgement, decision, stillWaits, asksAgain } = event;
  if (judgement.accepted !== true) return undefined;
  if (stillWaits === true) return 'counts';
  if (asksAgain === true || decision === 'ask-again') return 'asks_again';
  return isDenial(event) ? 'denies' : 'approves';
}

/** Removes the votes on a call, because a new request waits now. */
export function forgetVotes(call: CallView): void {
  call.votes = [];
  delete call.isEscalated;
}

/** Notes a vote. It replaces an earlier vote of the same person. */
export function voted(
  call: CallView,
  { approver, inPlaceOf, signature }: Pick<DecisionMade, 'approver' | 'inPlaceOf' | 'signature'>,
  decision: DecisionKind | undefined,
): void {
  const authority = call.request?.authority;
  const voter = voterIn(authority, approver);
  const others = call.votes.filter((one) => one.voter !== voter);
  if (authority === undefined || decision === undefined) return;
  if (decision === 'withdrawn' || decision === 'ask-again') return void (call.votes = others);
  const signed = defined({ inPlaceOf, signedBy: signature?.kind });
  call.votes = [...others, { voter, decision: wordOf(decision), ...signed }];
}

function wordOf(decision: Exclude<DecisionKind, 'withdrawn' | 'ask-again'>): CastVote['decision'] {
  return decision === 'denied' ? 'denied' : 'approved';
}

/**
 * The message that let a call start last: the decision, or the resolution that ran the call again. Undefined if the
 * call needed none.
 */
export function allowedBy({ settledBy, resolutions }: CallView): DecisionMade | Resolved | undefined {
  const again = resolutions.findLast(
    ({ judgement, resolution }) => judgement.accepted === true && resolution === 'run-again',
  );
  return again ?? (settledBy === undefined || isDenial(settledBy) ? undefined : settledBy);
}
