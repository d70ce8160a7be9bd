import type { Approvers, Ruling } from '../../authority/approvers';
import { requestersOf, WHY_NOT } from '../../contract/authority/authority';
import { seatingOf, type VoteRefusal } from '../../contract/authority/who-may-vote';
import { approvalsNeeded, assuranceText, whyNotEvaluated } from '../../contract/authority/rule';
import { countVotes, type VoteCount } from '../../contract/authority/votes-needed';
import { defined } from '../../contract/defined';
import { span } from '../../contract/text/times';
import { counted } from '../../history/labels';
import type { CallView, TurnView } from '../../history/view';
import { usageError } from '../options';
import type { ProvenVote } from './sign';

/** The facts about who may decide a call, as `--json` prints them. */
interface Explanation extends VoteCount {
  /** The votes so far, and what each of them proves by this file. */
  votes: readonly ProvenVote[];
  turn: string;
  callId: string;
  tool: string;
  action: Ruling['action'];
  rule: Ruling['rule'];
  ruleDigest: string;
  failed?: string;
  passed: readonly string[];
  digest: string;
  requesters: readonly string[];
  mayNot: { name: string; why: VoteRefusal }[];
}

/** The facts from which a call is explained: what each vote proves by the file, and the time in ms since 1970. */
interface Explained extends Pick<Explanation, 'votes'> {
  call: CallView;
  now: number;
}

/**
 * @throws CountersignError `usage` for a call that never asked anybody, because the record does not have its safety.
 */
export function explanationOf(
  approvers: Approvers,
  view: TurnView,
  { call, votes, now }: Explained,
): Explanation {
  const { request, callId, tool } = call;
  if (request === undefined)
    throw usageError(
      `${view.turn}/${callId} asked nobody`,
      'Only calls that wait or waited for a decision are explained.',
    );
  const { safety, effect, schema, arguments: args } = request;
  const ruling = approvers.rulingOn({
    agent: view.agent,
    tool,
    safety,
    effect,
    args,
    ...defined({ schema }),
  });
  const asked = requestersOf(view.origin, request.authority);
  const requesters = [...new Set(asked.map((name) => approvers.personOf(name) ?? name))];
  const among = { people: approvers.people, requesters, now };
  const seatingFor = seatingOf(ruling.rule, among);
  const mayNot = approvers.people.flatMap(({ name }) => {
    const seating = seatingFor(name, now);
    return seating.ok ? [] : [{ name, why: seating.why }];
  });
  const judged = votes.map((vote) => ({
    ...vote,
    counts: vote.counts && seatingFor(vote.voter, Date.parse(vote.at)).ok,
  }));
  return {
    ...{ turn: view.turn, callId, tool, ...ruling, digest: approvers.digest, requesters, mayNot },
    votes: judged,
    ...countVotes(
      ruling.rule,
      judged.filter(({ counts }) => counts),
      among,
    ),
  };
}

/** An explanation in lines for a person. */
export function explanationLines(about: Explanation): string[] {
  const { rule, action, failed, passed, mayVote, mayNot, requesters } = about;
  const head = [
    `${about.turn}/${about.callId} ${about.tool}`,
    `rule       ${rule.name}${passed.length === 0 ? '' : `, after ${passed.join(', ')} did not fit`}`,
    `asked by   ${requesters.join(', ') || 'nobody is named'}`,
  ];
  if (failed !== undefined) return [...head, `refused: ${whyNotEvaluated(rule.name, failed)}`];
  if (action !== 'ask')
    return [
      ...head,
      action === 'run' ? 'by this rule it runs without a decision' : 'by this rule it is refused',
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
