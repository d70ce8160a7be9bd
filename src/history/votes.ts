import { voterIn } from '../contract/authority/authority';
import type { CastVote } from '../contract/authority/votes';
import { type DecisionKind, isDenial } from '../contract/decision';
import { withDefaults } from '../contract/schema/schema';
import type { DecisionMade } from './events';
import type { CallView } from './view-types';

/** Takes a decision: it decides, or it is one vote of several. */
export function decided(call: CallView, event: DecisionMade): void {
  call.decisions.push(event);
  if (event.judgement.accepted !== true || call.phase !== 'requested') return;
  if (event.asksAgain !== true) voted(call, event, event.decision);
  if (event.stillWaits === true) return;
  if (event.arguments !== undefined) call.effective = withDefaults(call.request?.schema, event.arguments);
  if (isDenial(event)) return void (call.phase = 'denied');
  call.approved = call.effective;
  if (event.asksAgain === true) {
    call.votes = [];
    delete call.isEscalated;
  }
  call.phase = event.asksAgain === true ? 'replanning' : 'approved';
}

/** Notes a vote in the place of an earlier one of the same person. */
export function voted(call: CallView, by: { approver: string }, decision: DecisionKind | undefined): void {
  const authority = call.request?.authority;
  const voter = voterIn(authority, by.approver);
  const others = call.votes.filter((one) => one.voter !== voter);
  if (authority === undefined || decision === undefined) return;
  call.votes = decision === 'withdrawn' ? others : [...others, { voter, decision: wordOf(decision) }];
}

function wordOf(decision: Exclude<DecisionKind, 'withdrawn'>): CastVote['decision'] {
  return decision === 'denied' ? 'denied' : 'approved';
}
