import type { Approvers, Ruling } from '../authority/approvers';
import type { VoteJudgement } from '../authority/vote-signature';
import type { RuledCall } from '../authority/matching';
import type { FittingRule, PolicyRules } from '../authority/policy';
import type { CountedVote } from '../authority/roster';
import type { ApproversSource } from '../authority/source';
import { errorMessage } from '../contract/errors';
import {
  type Authority,
  authorityNow,
  readAuthority,
  stricterAuthority,
  type Vote,
} from '../contract/authority/authority';
import type { CallRuling } from '../contract/authority/policy';
import { stricterAction, whyNotEvaluated } from '../contract/authority/rule';
import { areSameHunks } from '../contract/authority/votes';
import { countProvenVotes, UNCHECKED, type VoteProof } from '../contract/authority/votes-needed';
import type { Roster } from '../contract/authority/roster';
import type { AskAgain, CallInput, SpentDecision } from '../contract/call';
import { digestJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import type { Safety } from '../contract/tool';
import type { CallLog } from '../tools/call-log';
import { contentDigest } from '../tools/content-digest';
import { type Config, rulesAbout } from '../tools/define-config';
import { askFunction, type PolicyOwner, type PolicyTool, type PolicyVerdict, tighten } from '../tools/policy';
import { furtherForms } from '../tools/prepare';
import type { Tool } from '../tools/types';
import type { ActivityDeps } from './deps';
import type { RequestTimes, SignedPlace } from './reset-history';

/** The rules that hold for a call: the policy of its agent, and the policy rules and approvers file of this worker. */
export interface RuleOwner extends PolicyOwner {
  /** Absent: the config has no policy rules. */
  rules?: PolicyRules | undefined;
  /** Absent: the worker has no approvers file, so anybody may decide. */
  approvers?: ApproversSource | undefined;
}

/** A call that is checked against the rules. */
export interface CheckedCall {
  tool: PolicyTool & Partial<Pick<Tool, 'schema' | 'spelling'>>;
  args: JsonObject;
  /** What the tool's parser makes of the arguments. Absent: it is not known. */
  value?: unknown;
  /** The names of the people whose messages the turn had taken up. People who gave no name are left out. */
  requesters: readonly string[];
}

/**
 * Opens the policy rules and the approvers file of a config. The code for them is loaded only if there is one of
 * them, because YAML and CEL are slow to load.
 */
export async function openRules(
  config: Config,
  log: CallLog,
): Promise<Pick<ActivityDeps, 'approvers' | 'rules'>> {
  const { approvers: file, policy } = config;
  if (file === undefined && policy === undefined) return {};
  const { openAuthority } = await import('../authority/source.js');
  return openAuthority({ file, policy, known: rulesAbout(config), warn: (line) => log.warn(line) });
}

/** The joint verdict of safety, policy and approvers file on a call. If they ask, it says who decides. */
export interface RuledVerdict extends PolicyVerdict {
  authority?: Authority;
  /** The record of the policy rule that fits. Absent if none fits. */
  ruling?: CallRuling;
  /** The approvers file that the verdict is from. */
  file?: Approvers;
}

/** Asks the function policy, the policy rules and the approvers file. The strictest answer holds. Never rejects. */
export async function askRules(owner: RuleOwner, call: CheckedCall): Promise<RuledVerdict> {
  const { rules, approvers } = owner;
  const { tool, args, value } = call;
  const { policy } = owner;
  const isRuled = policy !== undefined || rules !== undefined || approvers !== undefined;
  const forms = isRuled ? await furtherForms(tool, args, value) : [];
  const said = await askFunction(owner, tool, [{ args }, ...forms]);
  const asked = { ...factsOf(owner, call), forms };
  const by = rules?.rulingOn(asked, Date.now());
  const file = await approvers?.current();
  const ruling = file?.rulingOn(asked);
  const ruled = withRule(said, by, tool.safety);
  const verdict = ruling === undefined ? ruled : withFile(ruled, ruling, tool.safety);
  return {
    ...verdict,
    authority:
      verdict.decision === 'ask' && ruling !== undefined
        ? file?.authorityBy(ruling, call.requesters)
        : undefined,
    ruling: by && recordOf(by),
    file,
  };
}

function factsOf({ agent }: RuleOwner, { tool, args }: CheckedCall): RuledCall {
  const { name, safety, effect, schema } = tool;
  return { agent, tool: name, safety, effect, args, schema };
}

/**
 * Applies a policy rule. A rule only makes the verdict stricter, except that a rule with an end date can let a
 * dangerous tool run.
 */
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
  // The function policy already gave a reason.
  if (own.decision === decision && own.reason !== undefined) return own;
  const what = action === 'ask' ? 'asks' : 'refuses it';
  return { decision, reason: because(`the rule '${rule.name}' ${what}`, by) };
}

function because(what: string, { rule: { reason, name }, failed }: FittingRule): string {
  if (failed !== undefined) return whyNotEvaluated(name, failed);
  return reason === undefined ? what : `${what}: ${reason}`;
}

function withFile(verdict: PolicyVerdict, ruling: Ruling, safety: Safety): PolicyVerdict {
  if (verdict.decision === 'refuse') return verdict;
  const decision = stricterAction(verdict.decision, ruling.action, safety);
  if (decision === 'refuse') return { decision, reason: refusalBy(ruling) };
  if (decision === verdict.decision) return verdict;
  return { decision, reason: `the rule '${ruling.rule.name}' asks` };
}

/** The record of a rule that is kept with the call. */
function recordOf({ rule, action }: FittingRule): CallRuling {
  const { name, until } = rule;
  return { rule: name, digest: digestJson(rule, contentDigest), then: action, until };
}

/** Why the approvers file refuses a call. */
export function refusalBy({ rule, failed }: { rule: { name: string }; failed?: string }): string {
  return failed === undefined
    ? `the rule '${rule.name}' of the approvers file refuses it`
    : whyNotEvaluated(rule.name, failed);
}

/** The data for checking votes. */
export interface VoteCheck {
  /** The authority that this worker's own approvers file requires for a call. Absent: the call needs no votes. */
  own?: Authority | undefined;
  /** Absent: this worker has no approvers file, so no signature counts here. */
  file?: Approvers | undefined;
  /** The place of the call. Called only if a vote is signed. */
  place(): SignedPlace;
  /** Called only if somebody may have a vote for a limited time, or only after some time. */
  times(): Promise<RequestTimes>;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * The result of the check: the votes let the call run, with signatures if the rule needs them, or a person has to
 * look again.
 */
type CheckedVotes = { ok: true; isSigned: boolean; roster?: Roster } | AskAgain;

/**
 * The authority that decides a call. It joins this worker's own authority and the one in the call's input, so that the
 * stricter limits hold. `askAgain`: nobody can read the authority in the input.
 */
export function authorityOfCall(
  own: Authority | undefined,
  input: Pick<CallInput, 'authority'>,
): { authority: Authority | undefined } | { askAgain: string } {
  if (input.authority === undefined) return { authority: own };
  const asked = readAuthority(input.authority);
  if (asked === undefined) return { askAgain: 'who decides it cannot be read' };
  return { authority: own === undefined ? asked : stricterAuthority(asked, own) };
}

/** Why votes that could not be checked count neither as valid nor as invalid. */
export function votesUnchecked(error: unknown): string {
  return `whose votes they are could not be checked: ${errorMessage(error)}`;
}

/**
 * The last check of the votes, right before the handler. This worker's own approvers file says what a call needs. The
 * input of the call can only add to that. Times come from the server's history: the input may name any. The result
 * names the votes that do not count, so that the other votes need not be cast again.
 *
 * @throws If `place` or `times` throws.
 */
export async function checkVotes(check: VoteCheck, input: CallInput): Promise<CheckedVotes> {
  const { own } = check;
  const { escalate } = own?.rule ?? {};
  const times = needsTimes(own, input) ? await check.times() : undefined;
  const isOverdue = times && escalate && times.scheduled - times.asked >= escalate.afterMs;
  const known = authorityOfCall(authorityNow(own, isOverdue), input);
  if ('askAgain' in known) return known;
  const { authority } = known;
  if (authority === undefined) return { ok: true, isSigned: false };
  const { secret, decision } = input;
  const votes = (decision?.votes ?? []).map((vote) => datedVote(vote, times));
  const judge = votes.some(({ signature }) => signature !== undefined)
    ? await judgeOf(check, input, authority)
    : undefined;
  const judged = new Map(votes.map((vote) => [vote, judge?.(vote)]));
  const { struck, count, why } = countProvenVotes(authority, votes, {
    proofOf: proofsBy(judged, decision),
    now: check.now,
  });
  if (struck.length === 0 && count.state === 'approved') {
    const roster = await rosterOf(check.file, judged);
    return { ok: true, isSigned: authority.rule.assurance !== 'claimed', roster };
  }
  return { askAgain: why, struck: struck.map(({ voter }) => voter), authority, secret };
}

/** Whether the rights of somebody depend on the time: by an escalation of the request, or by the dates of a delegate. */
function needsTimes(own: Authority | undefined, { authority }: CallInput): boolean {
  const isDated = own?.people?.some(({ delegates }) => delegates.some(({ from, until }) => from ?? until));
  return isDated === true || (authority?.escalated === true && own?.rule.escalate !== undefined);
}

/** A vote with a time at which its request waited: nobody can have cast it before or after. */
function datedVote(vote: Vote, times: RequestTimes | undefined): Vote {
  if (times === undefined) return vote;
  const at = Math.max(times.asked, Math.min(times.scheduled, Date.parse(vote.at) || 0));
  return { ...vote, at: new Date(at).toISOString() };
}

/** The lines by which the votes that counted were checked. Undefined: no vote is signed. */
async function rosterOf(file: Approvers | undefined, judged: JudgedVotes): Promise<Roster | undefined> {
  const said = [...judged].filter(([vote]) => vote.signature !== undefined);
  if (file === undefined || said.length === 0) return undefined;
  const { rosterOf: rosterBy } = await import('../authority/roster.js');
  return rosterBy(
    file,
    said.map(([vote, by]): CountedVote => {
      const { voter, fingerprint } = by?.ok === true ? by : { voter: undefined, fingerprint: undefined };
      return { decisionId: vote.decisionId, voter: voter ?? vote.voter, fingerprint };
    }),
  );
}

/** The proof that a vote gives or, if its signature does not count, the reason. */
type Judged = Exclude<VoteJudgement, { ok: false }> | { ok: false; why: string };

/** The judgement of each vote. Undefined: this worker has no approvers file, or no vote is signed. */
type JudgedVotes = ReadonlyMap<Vote, Judged | undefined>;

/**
 * Makes the function that checks signatures. Undefined: this worker has no approvers file. The code is loaded only
 * if there is such a file.
 */
async function judgeOf(
  { file, place, now }: VoteCheck,
  input: CallInput,
  { requesters, ruleDigest }: Authority,
): Promise<((vote: Vote) => Judged) | undefined> {
  if (file === undefined) return undefined;
  const { callKey, generation, agent, tool, toolDigest, argsDigest: effectiveDigest, decision } = input;
  const facts = {
    installation: file.installation,
    ...place(),
    callKey,
    generation,
    agent,
    tool,
    toolDigest,
    effectiveDigest,
    ruleDigest,
    requesters,
    seenDigest: decision?.seenDigest ?? '',
  };
  const { assuranceOf, judgedVote, VOTE_FAULTS } = await import('../authority/vote-signature.js');
  return (vote) => {
    const judged = assuranceOf(judgedVote(vote), { facts, approvers: file, now });
    return judged.ok ? judged : { ok: false, why: VOTE_FAULTS[judged.why] };
  };
}

function proofsBy(
  judgedVotes: JudgedVotes,
  decision: Pick<SpentDecision, 'seenDigest' | 'hunks'> | undefined,
): (vote: Vote) => VoteProof {
  return (vote) => {
    if (vote.decision !== 'approved') return { why: 'it is not an approval' };
    if (vote.seenDigest === undefined || vote.seenDigest !== decision?.seenDigest)
      return { why: 'it is for something else' };
    if (!areSameHunks(vote.hunks, decision.hunks))
      return { why: 'it is for other hunks than those that would run' };
    if (vote.signature === undefined) return { assurance: 'claimed' };
    const judged = judgedVotes.get(vote);
    if (judged === undefined) return { assurance: 'claimed', unchecked: UNCHECKED };
    return judged.ok ? judged : { why: `its signature is refused: ${judged.why}` };
  };
}
