import type { Ruling } from '../authority/approvers';
import type { RuledCall } from '../authority/matching';
import type { FittingRule, PolicyRules } from '../authority/policy';
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
import { type CallRuling, MOST_SHADOWS } from '../contract/authority/policy';
import { type Assurance, isAssured, stricterAction } from '../contract/authority/votes';
import type { AskAgain, CallInput, TurnOrigin } from '../contract/call';
import { defined } from '../contract/defined';
import type { JsonObject } from '../contract/json';
import type { Safety } from '../contract/tool';
import { askFunction, type PolicyOwner, type PolicyTool, type PolicyVerdict, tighten } from '../tools/policy';
import type { Tool } from '../tools/types';

/** Whose rules hold for a call: the policy of its agent, and the policy rules and approvers file of this worker. */
export interface RuleOwner extends PolicyOwner {
  /** Absent: the config has no policy rules. */
  rules?: PolicyRules | undefined;
  /** Absent: the worker has no file, so anybody may decide. */
  approvers?: ApproversSource | undefined;
}

/** A call that rules are asked about. */
export interface CheckedCall {
  tool: PolicyTool & { schema?: Tool['schema'] };
  args: JsonObject;
  /** Whose words the turn had taken up, as far as they are named. */
  requesters: readonly string[];
}

/** What is done with a call, safety, policy and file together, and who decides where it asks. */
export interface RuledVerdict extends PolicyVerdict {
  authority?: Authority;
  /** What the policy rules said, where one fits. */
  ruling?: CallRuling;
}

/** Asks the function policy, the policy rules and the file: the strictest of them holds. Never rejects. */
export async function askRules(owner: RuleOwner, call: CheckedCall): Promise<RuledVerdict> {
  const { rules, approvers } = owner;
  const { tool, args } = call;
  const said = await askFunction(owner, tool, args);
  const asked = factsOf(owner, call);
  const { by, shadow = [] } = rules?.rulingOn(asked, Date.now()) ?? {};
  const file = await approvers?.current();
  const ruling = file?.rulingOn(asked);
  const settle = (one: FittingRule | undefined): RuledVerdict => {
    const verdict = withRule(said, one, tool.safety);
    return ruling === undefined ? verdict : withFile(verdict, ruling, tool.safety);
  };
  const verdict = settle(by);
  const seen = shadow
    .slice(0, MOST_SHADOWS)
    .map((one) => ({ rule: one.rule.name, would: settle(one).decision }));
  return {
    ...verdict,
    ...defined({
      authority:
        verdict.decision === 'ask' && ruling !== undefined
          ? file?.authorityBy(ruling, call.requesters)
          : undefined,
      ruling: recordOf(by, seen),
    }),
  };
}

function factsOf({ agent }: RuleOwner, { tool, args }: CheckedCall): RuledCall {
  const { name, safety, effect, schema } = tool;
  return { agent, tool: name, safety, effect, args, ...defined({ schema }) };
}

/** A rule only tightens what safety and function say, but where it says until when it lets a dangerous tool run. */
function withRule(said: PolicyVerdict, by: FittingRule | undefined, safety: Safety): PolicyVerdict {
  const own = tighten(said, safety);
  if (by === undefined) return own;
  const { rule, action } = by;
  if (action === 'run') {
    if (rule.until === undefined || said.decision !== 'run' || own.decision === 'run') return own;
    return {
      decision: 'run',
      reason: because(`the rule '${rule.name}' lets it run until ${rule.until}`, by),
    };
  }
  const decision = stricterAction(own.decision, action, safety);
  if (decision !== action) return own;
  // The function said why already.
  if (own.decision === decision && own.reason !== undefined) return own;
  const what = action === 'ask' ? 'asks' : 'refuses it';
  return { decision, reason: because(`the rule '${rule.name}' ${what}`, by) };
}

function because(what: string, { rule: { reason, name }, failed }: FittingRule): string {
  if (failed !== undefined) return `the condition of the rule '${name}' cannot be worked out: ${failed}`;
  return reason === undefined ? what : `${what}: ${reason}`;
}

function withFile(verdict: PolicyVerdict, ruling: Ruling, safety: Safety): PolicyVerdict {
  if (verdict.decision === 'refuse') return verdict;
  const decision = stricterAction(verdict.decision, ruling.action, safety);
  if (decision === 'refuse') return { decision, reason: refusalBy(ruling) };
  if (decision === verdict.decision) return verdict;
  return { decision, reason: `the rule '${ruling.rule.name}' asks` };
}

/** What stands on record with the call; undefined where no rule fits. */
function recordOf(
  by: FittingRule | undefined,
  shadow: NonNullable<CallRuling['shadow']>,
): CallRuling | undefined {
  if (by === undefined && shadow.length === 0) return undefined;
  return defined({
    rule: by?.rule.name,
    then: by?.action,
    until: by?.rule.until,
    shadow: shadow.length === 0 ? undefined : shadow,
  });
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
