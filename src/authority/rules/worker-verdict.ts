import type { Approvers, Ruling } from './approvers-file';
import type { RuledCall } from './which-rules-fit';
import type { FittingRule, PolicyRules } from './policy-file';
import type { ApproversSource } from './current-file';
import type { CallRuling } from '../../contract/policy-rule';
import { stricterAction } from './stricter-rule';
import { digestJson } from '../../contract/digest';
import type { JsonObject } from '../../contract/json';
import type { Safety } from '../../contract/tool';
import type { CallLog } from '../../tools/call-log';
import { sha256 } from '../../system/sha256';
import type { Agent } from '../../tools/define-agent';
import { type Config, rulesAbout } from '../../tools/define-config';
import {
  askFunction,
  type PolicyOwner,
  type PolicyTool,
  type PolicyVerdict,
  tighten,
} from '../../tools/function-policy';
import { furtherForms } from '../../tools/prepare';
import type { Tool } from '../../tools/types';
import type { ActivityDeps } from '../../activities/deps';
import type { Authority } from '../../contract/authority';

/** The rules that hold for a call: the policy of its agent, and the policy rules and approvers file of this worker. */
export interface RuleOwner extends PolicyOwner {
  /** Absent: the config has no policy rules. */
  rules?: PolicyRules;
  /** Absent: the worker has no approvers file, so anybody may decide. */
  approvers?: ApproversSource;
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

/** The rules that hold for the calls of an agent on this worker. */
export function ruleOwner(
  { name, policy }: Pick<Agent, 'name' | 'policy'>,
  { run, approvers, rules }: Pick<ActivityDeps, 'run' | 'approvers' | 'rules'>,
): RuleOwner {
  return { agent: name, policy, log: run.log, approvers, rules };
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
  const { openAuthority } = await import('./current-file.js');
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
  const { rules, approvers, policy } = owner;
  const { tool, args, value } = call;
  const isRuled = policy !== undefined || rules !== undefined || approvers !== undefined;
  const forms = isRuled ? await furtherForms(tool, args, value) : [];
  const said = await askFunction(owner, tool, [{ args }, ...forms]);
  const asked = { ...factsOf(owner, call), forms };
  const by = rules?.rulingOn(asked, Date.now());
  const file = approvers && (await approvers.current());
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

function because(what: string, { rule: { reason, name }, failed }: FittingRule) {
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
  return { rule: name, digest: digestJson(rule, sha256), then: action, until };
}

/** Why the approvers file refuses a call. */
export function refusalBy({ rule, failed }: { rule: { name: string }; failed?: string }): string {
  return failed === undefined
    ? `the rule '${rule.name}' of the approvers file refuses it`
    : whyNotEvaluated(rule.name, failed);
}

/** Why a rule refuses a call: its condition could not be evaluated. */
function whyNotEvaluated(ruleName: string, failed: string) {
  return `the condition of the rule '${ruleName}' cannot be worked out: ${failed}`;
}
