import type { Approvers } from '../authority/approvers';
import type { VoteJudgement } from '../authority/assurance';
import type { ApproversSource } from '../authority/source';
import type { CallFacts } from '../authority/statement';
import {
  type Authority,
  readAuthority,
  someNames,
  standingUnder,
  stricterAuthority,
  type Vote,
  votingOf,
  WHY_NOT,
} from '../contract/authority/authority';
import { isAssured, stricterAction } from '../contract/authority/votes';
import type { AskAgain, CallInput, SpentDecision } from '../contract/call';
import { defined } from '../contract/defined';
import type { JsonObject } from '../contract/json';
import { askPolicy, type PolicyOwner, type PolicyVerdict } from '../tools/policy';
import type { Tool } from '../tools/types';

/** Whose rules hold for a call: the policy of its agent, and the approvers file of this worker. */
export interface RuleOwner extends PolicyOwner {
  /** Absent: the worker has no file, so anybody may decide. */
  approvers?: ApproversSource | undefined;
}

/** A call that rules are asked about. */
export interface CheckedCall {
  tool: Tool;
  args: JsonObject;
  /** Whose words the turn had taken up, as far as they are named. */
  requesters: readonly string[];
}

/** What is done with a call, safety, policy and file together, and who decides where it asks. */
export interface RuledVerdict extends PolicyVerdict {
  authority?: Authority;
  /** The file that was asked. */
  file?: Approvers;
}

/** Asks the policy, then the file: the stricter of both holds. Never rejects. */
export async function askRules({ approvers, ...owner }: RuleOwner, call: CheckedCall): Promise<RuledVerdict> {
  const { tool, args, requesters } = call;
  const verdict = await askPolicy(owner, tool, args);
  if (approvers === undefined || verdict.decision === 'refuse') return verdict;
  const file = await approvers.current();
  const { agent } = owner;
  const { name, safety, effect, schema } = tool;
  const ruling = file.rulingOn({ agent, tool: name, safety, effect, args, schema });
  const decision = stricterAction(verdict.decision, ruling.action, safety);
  if (decision === 'refuse') return { decision, reason: refusalBy(ruling) };
  if (decision === 'run') return { ...verdict, file };
  const byRule = decision === verdict.decision ? undefined : `the rule '${ruling.rule.name}' asks`;
  const reason = verdict.reason ?? byRule;
  return { decision, file, authority: file.authorityBy(ruling, requesters), ...defined({ reason }) };
}

function refusalBy({ rule, failed }: { rule: { name: string }; failed?: string }): string {
  return failed === undefined
    ? `the rule '${rule.name}' of the approvers file refuses it`
    : `the condition of the rule '${rule.name}' cannot be worked out: ${failed}`;
}

/** Where a call is, as the server says; never as its input does. */
export type SignedPlace = Pick<CallFacts, 'namespace' | 'workflowId' | 'firstExecutionRunId'>;

/** What votes are checked with. */
export interface VoteCheck {
  /** What a call needs by this worker's own file. Absent: it needs no votes. */
  own?: Authority | undefined;
  /** Absent: this worker has no file, so no signature counts here. */
  file?: Approvers | undefined;
  /** Asked only where a vote is signed. */
  place(): Promise<SignedPlace>;
  /** Milliseconds since 1970. */
  now: number;
}

/** Votes let a call run: signed ones, where the rule wants more than a claim; or a person has to look again. */
export type CheckedVotes = { ok: true; isSigned: boolean } | AskAgain;

/**
 * The last look at the votes, right before the handler. What a call needs comes from this worker's own file; what its input
 * says can only add to that. Votes that do not count are named, so that the others need not be cast again.
 *
 * @throws where `place` does.
 */
export async function checkVotes(check: VoteCheck, input: CallInput): Promise<CheckedVotes> {
  const { own } = check;
  const asked = input.authority === undefined ? undefined : readAuthority(input.authority);
  if (input.authority !== undefined && asked === undefined)
    return { askAgain: 'who decides it cannot be read' };
  const authority = own === undefined || asked === undefined ? (own ?? asked) : stricterAuthority(asked, own);
  if (authority === undefined) return { ok: true, isSigned: false };
  const { secret, decision } = input;
  const votes = decision?.votes ?? [];
  const judge = votes.some(({ signature }) => signature !== undefined)
    ? await judgeOf(check, input, authority)
    : undefined;
  const bad = votes.flatMap((vote) => {
    const why = whyBad(vote, { authority, judge, ...defined({ decision }) });
    return why === undefined
      ? []
      : [{ voter: vote.voter, why: `the vote of ${vote.voter} does not count: ${why}` }];
  });
  const struck = bad.map(({ voter }) => voter);
  const standing = standingUnder(
    authority,
    votes.filter(({ voter }) => !struck.includes(voter)),
  );
  if (bad.length === 0 && standing.state === 'approved')
    return { ok: true, isSigned: authority.rule.assurance !== 'claimed' };
  const { missing, mayVote } = standing;
  const lacking = `the rule '${authority.rule.name}' needs ${missing} more of: ${someNames(mayVote)}`;
  const why = bad.length > 0 ? bad.map((one) => one.why).join('; ') : lacking;
  return { askAgain: why, struck, authority, ...defined({ secret }) };
}

/** What a vote proves; and, where its signature does not count, why. */
type Judge = (vote: Vote) => Exclude<VoteJudgement, { ok: false }> | { ok: false; why: string };

/** Checks signatures; undefined: this worker has no file. Loaded only where there is one. */
async function judgeOf(
  { file, place, now }: VoteCheck,
  input: CallInput,
  { requesters, ruleDigest }: Authority,
): Promise<Judge | undefined> {
  if (file === undefined) return undefined;
  const { callKey, generation, agent, tool, toolDigest, argsDigest: effectiveDigest, decision } = input;
  const facts = {
    ...{ installation: file.installation, ...(await place()) },
    ...{ callKey, generation, agent, tool, toolDigest, effectiveDigest, ruleDigest, requesters },
    seenDigest: decision?.seenDigest ?? '',
  };
  const { assuranceOf, judgedVote, VOTE_FAULTS } = await import('../authority/assurance.js');
  return (vote) => {
    const judged = assuranceOf(judgedVote(vote), { facts, approvers: file, now });
    return judged.ok ? judged : { ok: false, why: VOTE_FAULTS[judged.why] };
  };
}

interface Wanted {
  authority: Authority;
  decision?: Pick<SpentDecision, 'seenDigest' | 'hunks'>;
  judge: Judge | undefined;
}

function whyBad(vote: Vote, { authority, decision, judge }: Wanted): string | undefined {
  if (vote.decision !== 'approved') return 'it is not an approval';
  if (vote.seenDigest === undefined || vote.seenDigest !== decision?.seenDigest)
    return 'it is for something else';
  const voting = votingOf(authority, vote.voter);
  if (!voting.ok) return `${vote.voter} ${WHY_NOT[voting.why]}`;
  const judged = judge?.(vote) ?? { ok: true as const, assurance: 'claimed' as const };
  if (vote.signature !== undefined && decision.hunks !== undefined)
    return 'its signature is for the whole, and only some hunks would run';
  if (!judged.ok) return `its signature is refused: ${judged.why}`;
  const { assurance: wanted } = authority.rule;
  if (isAssured(judged.assurance, wanted)) return undefined;
  const unchecked = vote.signature !== undefined && judge === undefined;
  const has = unchecked
    ? 'this worker has no approvers file to check its signature by'
    : `it is ${judged.assurance.replaceAll('_', ' ')}`;
  return `${has}, and the rule wants it ${wanted.replaceAll('_', ' ')}`;
}
