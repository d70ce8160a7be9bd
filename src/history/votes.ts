import { voterIn } from '../contract/authority/authority';
import type { CastVote } from '../contract/authority/votes';
import { type DecisionKind, isDenial } from '../contract/decision';
import { defined } from '../contract/defined';
import { withDefaults } from '../contract/schema/schema';
import type { DecisionMade } from './events';
import type { CallView } from './view-types';

/** Takes a decision. It decides the call, or counts as one vote of several. */
export function foldDecision(call: CallView, event: DecisionMade): void {
  call.decisions.push(event);
  if (event.judgement.accepted !== true || call.phase !== 'requested') return;
  if (event.asksAgain !== true) voted(call, event, event.decision);
  if (event.stillWaits === true) return;
  if (event.decision === 'ask-again') return void (call.phase = 'replanning');
  if (settlesRequest(event)) call.settledBy = event;
  if (event.arguments !== undefined) call.effective = withDefaults(call.request?.schema, event.arguments);
  if (isDenial(event)) return void (call.phase = 'denied');
  call.approved = call.effective;
  if (event.asksAgain === true) forgetVotes(call);
  call.phase = event.asksAgain === true ? 'replanning' : 'approved';
}

/** Whether a decision settles its request: it is no longer one vote of several, and nobody has to look again. */
export function settlesRequest({ judgement, decision, stillWaits, asksAgain }: DecisionMade): boolean {
  return judgement.accepted === true && stillWaits !== true && asksAgain !== true && decision !== 'ask-again';
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
