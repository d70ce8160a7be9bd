import { voterIn, votingOf, whyMayNot } from '../authority/votes/voters';
import { countVotesUnder, stillNeeded, type VoteCount, areSameHunks } from '../authority/votes/count-votes';
import type { Decision, Refused, VotesNeeded } from '../contract/decision';
import type { CallEvent } from './events';
import { refuse } from './messages';
import { type CallBasics, type CallState, withoutVoter } from './state';
import { SOMEBODY, type Authority, type Vote } from '../contract/authority';
import { authorityNow } from '../authority/votes/authority-in-force';

/** The fields of a person's message that name its sender and its call. */
type Said = Pick<Decision, 'callId' | 'approver' | 'decisionId'>;

/**
 * The authority that decides a call, with the people to whom the call was escalated. Undefined: anybody who may signal
 * the turn may decide.
 */
export function authorityOf({ call, isEscalated }: CallBasics): Authority | undefined {
  return authorityNow(call.authority, isEscalated);
}

/** Why the sender may not say this about a call now, and which people may. Undefined: nothing forbids it. */
export function checkAllowed(state: CallBasics, message: Said, now: number): Refused | undefined {
  const authority = authorityOf(state);
  const { approver = SOMEBODY } = message;
  const why = authority && whyMayNot(authority, { approver, now }, state.votes);
  if (authority === undefined || why === undefined) return undefined;
  const said = `${approver} may not decide by the rule '${authority.rule.name}': ${why}`;
  return refuse('not_allowed', said, message);
}

/** Why a decision cannot be cast as a vote now. Undefined: it can. */
export function checkVote(state: CallBasics, decision: Decision, now: number): Refused | undefined {
  const authority = authorityOf(state);
  if (decision.decision === 'withdrawn') return checkWithdrawal(state, decision, authority);
  // The worker checks by today's rules who may ask again, because the people whom the frozen rule names may all have
  // left.
  if (decision.decision === 'ask-again') return checkRenewal(state, decision);
  const forbidden = checkAllowed(state, decision, now);
  if (authority === undefined || forbidden !== undefined || decision.decision === 'denied') return forbidden;
  if (decision.seenDigest === undefined)
    return refuse('malformed', 'a vote has to say what its voter saw, in "seenDigest"', decision);
  const before = voteOf(state, decision);
  const other = otherHunks(state, decision);
  if (other !== undefined && before?.decision !== 'approved') return refuse('malformed', other, decision);
  if (before?.decision !== 'approved' || decision.decision !== 'approved') return undefined;
  const { voter, at } = before;
  const standing = { decision: 'approved', approver: voter, at };
  return {
    ...refuse('already_decided', `${voter} approved it at ${at}; others have to`, decision),
    standing,
  };
}

/** Why an approval would not add to the approvals that are there: they are for other hunks. Undefined: it would. */
function otherHunks({ votes }: CallBasics, { decision, hunks }: Decision) {
  if (decision !== 'approved' || hunks?.length === 0) return undefined;
  const first = votes.find((vote) => vote.decision === 'approved');
  if (first === undefined || areSameHunks(first.hunks, hunks)) return undefined;
  const what = first.hunks === undefined ? 'all of it' : `hunks ${first.hunks.join(', ')}`;
  return `${first.voter} approved ${what}, and votes count together only for the same: approve that, or deny it`;
}

function checkRenewal({ call }: CallBasics, decision: Decision): Refused | undefined {
  if (call.settings.gate === undefined) return undefined;
  return refuse('malformed', 'a workflow of its own asks about it, and only that can ask again', decision);
}

function checkWithdrawal(
  state: CallBasics,
  decision: Decision,
  authority: Authority | undefined,
): Refused | undefined {
  if (authority !== undefined && voteOf(state, decision) !== undefined) return undefined;
  return refuse('malformed', `${decision.approver ?? SOMEBODY} has no vote on it to withdraw`, decision);
}

function voteOf(state: CallBasics, { approver = SOMEBODY }: Said): Vote | undefined {
  const voter = voterIn(authorityOf(state), approver);
  return state.votes.find((one) => one.voter === voter);
}

/** A vote, and the votes on a request with it: whether they are enough, and which votes are still needed. */
interface Cast {
  event: Extract<CallEvent, { type: 'voted' }>;
  state: VoteCount['state'];
  votes: readonly Vote[];
  needs: VotesNeeded;
}

/** A person's message as a vote, with its id. `runsAgain`: the vote is to let a call in doubt run again. */
type Ballot = Omit<Decision, 'decision' | 'decisionId' | 'arguments'> & {
  decision: Vote['decision'];
  decisionId: string;
  runsAgain?: true;
};

/** Casts a vote, which replaces the earlier vote of the same voter. Undefined: no rule says who decides. */
export function castVote(state: CallBasics, ballot: Ballot, now: number): Cast | undefined {
  const authority = authorityOf(state);
  const event = voteFor(state, ballot, now);
  if (authority === undefined || event === undefined) return undefined;
  const { callId, approver = SOMEBODY } = ballot;
  if (!votingOf(authority, approver, now).ok) throw new Error(`${approver} may not vote on call ${callId}`);
  const votes = [...withoutVoter(state, event.vote.voter), event.vote];
  const count = countVotesUnder(authority, votes, now);
  return { event, state: count.state, votes, needs: stillNeeded(count) };
}

/** The vote of a person's message. Undefined: no rule says who decides. */
export function voteFor(state: CallBasics, ballot: Ballot, now: number): Cast['event'] | undefined {
  const authority = authorityOf(state);
  if (authority === undefined) return undefined;
  const { callId, decision, approver = SOMEBODY, decisionId, seenDigest, signature } = ballot;
  const { reason, suggestion, runsAgain } = ballot;
  const hunks = decision === 'approved' ? ballot.hunks : undefined;
  const voter = voterIn(authority, approver);
  const said = { seenDigest, hunks, reason, suggestion, signature, signedBy: signature?.kind, runsAgain };
  const vote = { voter, decision, decisionId, at: new Date(now).toISOString(), ...said };
  return { type: 'voted', callId, vote };
}

/** Takes a vote back. */
export function withdrawVote(
  state: CallBasics,
  decision: Said,
  now: number,
): { event: CallEvent; needs: VotesNeeded } {
  const { voter = SOMEBODY } = voteOf(state, decision) ?? {};
  const authority = authorityOf(state);
  const left = authority && countVotesUnder(authority, withoutVoter(state, voter), now);
  const needs = left === undefined ? { approvals: 1, who: [] } : stillNeeded(left);
  return { event: { type: 'vote_withdrawn', callId: decision.callId, voter }, needs };
}

/** The approvals that decided, and the names of their voters in one text. */
export function approvalsIn(votes: readonly Vote[]): { votes: Vote[]; approver: string } {
  const approvals = votes.filter(({ decision }) => decision === 'approved');
  return { votes: approvals, approver: approvals.map(({ voter }) => voter).join(', ') };
}

/**
 * When a request is escalated, as workflow time in ms. Null: the request is never escalated, or is escalated already.
 */
export function escalationOf(state: CallState): number | null {
  const afterMs = state.call.authority?.rule.escalate?.afterMs;
  return state.phase !== 'request' || state.isEscalated === true || afterMs === undefined
    ? null
    : state.since + afterMs;
}
