import { voterIn, votingOf, whyMayNot } from '../../authority/votes/voters';
import {
  countVotesUnder,
  stillNeeded,
  type VoteCount,
  areSameHunks,
} from '../../authority/votes/count-votes';
import type { Decision, Refused, VoteSignature, VotesNeeded } from '../../contract/decision';
import type { AskAgain } from '../../contract/call';
import { notRenewed } from '../../contract/call-texts';
import { defined } from '../../contract/defined';
import { refuse, type TakenAt } from './messages';
import type { Approvals, CallState } from './state';
import { SOMEBODY, type Authority, type Vote } from '../../contract/authority';
import { authorityNow, joinedAuthority } from '../../authority/votes/authority-in-force';

/** The fields of a person's message that name its sender and its call. */
interface Said {
  callId: string;
  approver?: string | undefined;
  decisionId?: string | undefined;
}

/**
 * The authority that decides a call, with the people to whom the call was escalated. Undefined: anybody who may signal
 * the turn may decide.
 */
export function authorityOf({ call, isEscalated }: CallState): Authority | undefined {
  return authorityNow(call.authority, isEscalated);
}

/** Why the sender may not say this about a call now, and which people may. Undefined: nothing forbids it. */
export function checkAllowed(state: CallState, message: Said, now: number): Refused | undefined {
  const authority = authorityOf(state);
  const { approver = SOMEBODY } = message;
  const why = authority && whyMayNot(authority, { approver, now }, state.votes);
  if (authority === undefined || why === undefined) return undefined;
  const said = `${approver} may not decide by the rule '${authority.rule.name}': ${why}`;
  return refuse('not_allowed', said, message);
}

/** Why a decision cannot be cast as a vote now. Undefined: it can. */
export function checkVote(state: CallState, decision: Decision, now: number): Refused | undefined {
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
function otherHunks({ votes = [] }: CallState, { decision, hunks }: Decision): string | undefined {
  if (decision !== 'approved' || hunks?.length === 0) return undefined;
  const first = votes.find((vote) => vote.decision === 'approved');
  if (first === undefined || areSameHunks(first.hunks, hunks)) return undefined;
  const what = first.hunks === undefined ? 'all of it' : `hunks ${first.hunks.join(', ')}`;
  return `${first.voter} approved ${what}, and votes count together only for the same: approve that, or deny it`;
}

function checkRenewal({ call }: CallState, decision: Decision): Refused | undefined {
  if (call.settings.gate === undefined) return undefined;
  return refuse('malformed', 'a workflow of its own asks about it, and only that can ask again', decision);
}

function checkWithdrawal(
  state: CallState,
  decision: Decision,
  authority: Authority | undefined,
): Refused | undefined {
  if (authority !== undefined && voteOf(state, decision) !== undefined) return undefined;
  return refuse('malformed', `${decision.approver ?? SOMEBODY} has no vote on it to withdraw`, decision);
}

function voteOf(state: CallState, { approver = SOMEBODY }: Said): Vote | undefined {
  const voter = voterIn(authorityOf(state), approver);
  return state.votes?.find((one) => one.voter === voter);
}

/** The votes on a request after one more vote: whether they are enough, and which votes are still needed. */
interface Cast {
  state: VoteCount['state'];
  votes: readonly Vote[];
  needs: VotesNeeded;
}

/** The content of a person's message, as a vote. */
interface Ballot extends Said {
  decision: 'approved' | 'denied';
  seenDigest?: string | undefined;
  hunks?: readonly string[] | undefined;
  reason?: string | undefined;
  suggestion?: string | undefined;
  signature?: VoteSignature | undefined;
  runsAgain?: true;
}

/** Casts a vote, which replaces the earlier vote of the same voter. Undefined: no rule says who decides. */
export function castVote(state: CallState, ballot: Ballot, at: TakenAt): Cast | undefined {
  const authority = authorityOf(state);
  if (authority === undefined) return undefined;
  const { decision, approver = SOMEBODY, seenDigest, reason, suggestion, signature, runsAgain } = ballot;
  const hunks = decision === 'approved' ? ballot.hunks : undefined;
  const { decisionId, now } = at;
  const voting = votingOf(authority, approver, now);
  if (!voting.ok) throw new Error(`${approver} may not vote on call ${state.call.callId}`);
  const { voter } = voting;
  const said = { seenDigest, hunks, reason, suggestion, signature, signedBy: signature?.kind, runsAgain };
  const vote: Vote = { voter, decision, decisionId, at: new Date(now).toISOString(), ...said };
  state.votes = [...withoutVoter(state, voter), vote];
  const count = countVotesUnder(authority, state.votes, now);
  return { state: count.state, votes: state.votes, needs: stillNeeded(count) };
}

/** Takes a vote back. */
export function withdrawVote(state: CallState, decision: Decision, now: number): VotesNeeded {
  const vote = voteOf(state, decision);
  state.votes = withoutVoter(state, vote?.voter);
  return needsOf(state, now) ?? { approvals: 1, who: [] };
}

function withoutVoter({ votes = [] }: CallState, voter: string | undefined): Vote[] {
  return votes.filter((one) => one.voter !== voter);
}

/** The votes that a call still needs. Undefined: no rule says who decides. */
function needsOf(state: CallState, now: number): VotesNeeded | undefined {
  const authority = authorityOf(state);
  return authority && stillNeeded(countVotesUnder(authority, state.votes ?? [], now));
}

/** The approvals that decided, and the names of their voters in one text. */
export function approvalsIn(votes: readonly Vote[]): { votes: Vote[]; approver: string } {
  const approvals = votes.filter(({ decision }) => decision === 'approved');
  return { votes: approvals, approver: approvals.map(({ voter }) => voter).join(', ') };
}

/**
 * When a request is escalated, as workflow time in ms. Null: the request is never escalated, or is escalated already.
 */
export function escalationOf({ phase, call, since, isEscalated }: CallState): number | null {
  const afterMs = call.authority?.rule.escalate?.afterMs;
  return phase !== 'request' || isEscalated === true || afterMs === undefined ? null : since + afterMs;
}

/**
 * Escalates each request that has waited for as long as its rule says, so that more people may decide. Returns whether
 * there was such a request.
 */
export function escalate(approvals: Approvals, now: number): boolean {
  const due = [...approvals.calls.values()].filter((state) => {
    const at = escalationOf(state);
    return at !== null && now >= at;
  });
  for (const state of due) state.isEscalated = true;
  return due.length > 0;
}

/** Leaves the request as it was if asking again failed: votes, deadline and escalation stay. */
export function keepAsked(
  state: CallState,
  { since, deadline }: NonNullable<CallState['renewal']>,
  prepared: Parameters<typeof notRenewed>[0],
): void {
  Object.assign(state, { phase: 'request', since, deadline, note: notRenewed(prepared) });
}

/** The ids of the decisions that do not count: the decision that was held, or the votes of the people in `struck`. */
export function voidIds({ held, votes = [] }: CallState, struck: readonly string[] | undefined): string[] {
  if (struck === undefined || held?.votes === undefined) return held === undefined ? [] : [held.decisionId];
  return votes.flatMap(({ voter, decisionId }) => (struck.includes(voter) ? decisionId : []));
}

/**
 * Drops the votes that do not count. The other votes stay, so nobody has to vote twice because somebody else's vote was
 * forged.
 */
export function strike(state: CallState, { struck, authority }: AskAgain): void {
  if (struck === undefined) delete state.votes;
  else state.votes = (state.votes ?? []).filter(({ voter }) => !struck.includes(voter));
  if (authority === undefined) return;
  const joined = joinedAuthority(state.call, { authority });
  state.call = { ...state.call, kind: 'ask', ...defined({ authority: joined }) };
}
