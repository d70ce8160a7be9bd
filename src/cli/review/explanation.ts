import type { Approvers } from '../../authority/rules/approvers-file';
import { WHY_NOT } from '../../authority/votes/voters';
import { seatingOf, type VoteRefusal } from '../../authority/votes/who-may-vote';
import { approvalsNeeded, assuranceText } from '../../authority/rules/stricter-rule';
import { countVotes, type VoteCount } from '../../authority/votes/count-votes';
import { span } from '../../contract/text/times';
import { shortDigest } from '../../contract/worker-tools';
import { authorityOn, counted } from '../../history/labels';
import type { CallView, TurnView } from '../../history/view';
import type { ProvenVote } from './sign';
import type { RuleSnapshot, Authority } from '../../contract/authority';
import { ruleInForce } from '../../authority/votes/authority-in-force';
import { usageError } from '../../contract/errors';

/** The facts about who may decide a call, as `--json` prints them. */
interface Explanation extends VoteCount {
  /** The votes so far, and what each of them proves by the file that is here. */
  votes: readonly ProvenVote[];
  turn: string;
  callId: string;
  tool: string;
  /** The rule by which the call was asked about. */
  rule: RuleSnapshot;
  ruleDigest: string;
  /** SHA-256 of the file from which the rule is, and of the file that is here. */
  fileDigest: string;
  digest: string;
  requesters: readonly string[];
  mayNot: { name: string; why: VoteRefusal }[];
}

/** The authority of a request. Undefined: no file judged it, so anybody may decide. */
export function authorityOfRequest({ turn }: TurnView, call: CallView): Authority | undefined {
  if (call.request !== undefined) return authorityOn(call);
  throw usageError(
    `${turn}/${call.callId} asked nobody`,
    'Only calls that wait or waited for a decision are explained.',
  );
}

/**
 * Explains a call by its own request, whatever the file says that is here.
 *
 * @param now milliseconds since 1970.
 */
export function explanationOf(
  { turn }: TurnView,
  { callId, tool }: CallView,
  {
    authority,
    approvers,
    votes,
    now,
  }: { authority: Authority; approvers: Approvers; votes: readonly ProvenVote[]; now: number },
): Explanation {
  const { ruleDigest, fileDigest, requesters } = authority;
  const rule = ruleInForce(authority);
  const people = authority.people ?? approvers.people;
  const among = { people, requesters, now };
  const seatingFor = seatingOf(rule, among);
  const mayNot = people.flatMap(({ name }) => {
    const seating = seatingFor(name, now);
    return seating.ok ? [] : [{ name, why: seating.why }];
  });
  const judged = votes.map((vote) => ({
    ...vote,
    counts: vote.counts && seatingFor(vote.voter, Date.parse(vote.at)).ok,
  }));
  return {
    turn,
    callId,
    tool,
    rule,
    ruleDigest,
    fileDigest,
    digest: approvers.digest,
    requesters,
    mayNot,
    votes: judged,
    ...countVotes(
      rule,
      judged.filter(({ counts }) => counts),
      among,
    ),
  };
}

/** An explanation in lines for a person. */
export function explanationLines(about: Explanation): string[] {
  const { rule, fileDigest, digest, mayVote, mayNot, requesters } = about;
  const isHere = fileDigest === digest;
  const head = [
    `${about.turn}/${about.callId} ${about.tool}`,
    `rule       ${rule.name}`,
    `file       ${shortDigest(fileDigest)}${isHere ? '' : `, when it was asked; the file here is ${shortDigest(digest)}`}`,
    `asked by   ${requesters.join(', ') || 'nobody is named'}`,
  ];
  const { groups, assurance, expiresMs, escalate } = rule;
  const groupsText = groups.length === 0 ? '' : `, one of each of ${groups.join(', ')}`;
  return [
    ...head,
    `needs      ${counted(approvalsNeeded(rule), 'approval')}${groupsText}, ${assuranceText(assurance)}`,
    ...(expiresMs === undefined ? [] : [`expires    ${span(expiresMs)} after it was asked`]),
    ...(escalate === undefined
      ? []
      : [`then asks  ${escalate.to.join(', ')} after ${span(escalate.afterMs)}`]),
    ...about.votes.map(
      ({ voter, decision, proof, counts }) =>
        `has voted  ${voter}: ${decision}; ${proof}${counts ? '' : ': it does not count'}`,
    ),
    `${assurance === 'claimed' ? 'may vote' : 'may sign'}   ${mayVote.join(', ') || 'nobody'}`,
    ...mayNot.map(({ name, why }) => `may not    ${name}: ${WHY_NOT[why]}`),
    ...(about.isStuck ? ['Too few people may vote: nobody can approve it.'] : []),
  ];
}
