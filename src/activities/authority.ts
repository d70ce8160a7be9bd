import type { ApproversSource } from '../authority/source';
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
import { type Assurance, isAssured, stricterAction } from '../contract/authority/votes';
import type { AskAgain, CallInput, TurnOrigin } from '../contract/call';
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
  if (decision === 'run') return verdict;
  const byRule = decision === verdict.decision ? undefined : `the rule '${ruling.rule.name}' asks`;
  const reason = verdict.reason ?? byRule;
  return { decision, authority: file.authorityBy(ruling, requesters), ...defined({ reason }) };
}

function refusalBy({ rule, failed }: { rule: { name: string }; failed?: string }): string {
  return failed === undefined
    ? `the rule '${rule.name}' of the approvers file refuses it`
    : `the condition of the rule '${rule.name}' cannot be worked out: ${failed}`;
}

/** Whoever asked for a turn, as far as they are named, and those who had when its call was asked about. */
export function requestersOf(origin: TurnOrigin | undefined, frozen?: Authority): string[] {
  const named = [...(frozen?.requesters ?? []), origin?.requester, ...(origin?.others ?? [])];
  return [...new Set(named.flatMap((name) => name ?? []))];
}

/**
 * The last look at the votes, right before the handler. What a call needs comes from this worker's own file; what its input
 * says can only add to that. Votes that do not count are named, so that the others need not be cast again.
 *
 * @returns why a person has to look again; undefined: the votes let it run.
 */
export function checkVotes(own: Authority | undefined, input: CallInput): AskAgain | undefined {
  const asked = input.authority === undefined ? undefined : readAuthority(input.authority);
  if (input.authority !== undefined && asked === undefined)
    return { askAgain: 'who decides it cannot be read' };
  const authority = own === undefined || asked === undefined ? (own ?? asked) : stricterAuthority(asked, own);
  if (authority === undefined) return undefined;
  const { secret, decision } = input;
  const votes = decision?.votes ?? [];
  const bad = votes.flatMap((vote) => {
    const why = whyBad(vote, authority, decision?.seenDigest);
    return why === undefined
      ? []
      : [{ voter: vote.voter, why: `the vote of ${vote.voter} does not count: ${why}` }];
  });
  const struck = bad.map(({ voter }) => voter);
  const standing = standingUnder(
    authority,
    votes.filter(({ voter }) => !struck.includes(voter)),
  );
  if (bad.length === 0 && standing.state === 'approved') return undefined;
  const { missing, mayVote } = standing;
  const lacking = `the rule '${authority.rule.name}' needs ${missing} more of: ${someNames(mayVote)}`;
  const why = bad.length > 0 ? bad.map((one) => one.why).join('; ') : lacking;
  return { askAgain: why, struck, authority, ...defined({ secret }) };
}

function whyBad(vote: Vote, authority: Authority, seenDigest: string | undefined): string | undefined {
  if (vote.decision !== 'approved') return 'it is not an approval';
  if (vote.seenDigest === undefined || vote.seenDigest !== seenDigest) return 'it is for something else';
  const voting = votingOf(authority, vote.voter);
  if (!voting.ok) return `${vote.voter} ${WHY_NOT[voting.why]}`;
  const { assurance } = authority.rule;
  return isAssured(assuranceOf(), assurance)
    ? undefined
    : `it is claimed, and the rule wants it ${assurance.replaceAll('_', ' ')}`;
}

/** Names are the word of whoever may signal the turn. */
function assuranceOf(): Assurance {
  return 'claimed';
}
