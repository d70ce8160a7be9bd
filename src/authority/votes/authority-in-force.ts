import { stricterRule } from '../rules/stricter-rule';
import type { RuleSnapshot, Authority } from '../../contract/authority';

/**
 * An authority that is as strict as both. It has the people of the later one, and the requesters of both. It is
 * escalated only if both are.
 */
export function stricterAuthority(before: Authority, later: Authority): Authority {
  const rule: RuleSnapshot = {
    ...stricterRule(before.rule, later.rule),
    name: later.rule.name,
    then: later.rule.then,
  };
  const people = later.people ?? before.people;
  return {
    fileDigest: later.fileDigest,
    ruleDigest: later.ruleDigest,
    rule,
    requesters: [...new Set([...before.requesters, ...later.requesters])],
    people,
    escalated: before.escalated === true && later.escalated === true ? true : undefined,
  };
}

/** The authority of a call that was prepared again. The rule of its request still holds for it. */
export function joinedAuthority(
  before: { authority?: Authority },
  now: { authority?: Authority },
): Authority | undefined {
  if (before.authority === undefined || now.authority === undefined) return now.authority ?? before.authority;
  return stricterAuthority(before.authority, now.authority);
}

/**
 * The authority that decides a call now. Undefined if no rule says who decides. Once its request was escalated, the
 * people whom its rule names for this case may vote, too.
 */
export function authorityNow(
  authority: Authority | undefined,
  isEscalated: boolean | undefined,
): Authority | undefined {
  return isEscalated === true ? authority && { ...authority, escalated: true } : authority;
}

/** The rule as it holds now. The people to whom the request was escalated are in every roster. */
export function ruleInForce({ rule, escalated }: Authority): RuleSnapshot {
  const to = escalated === true ? (rule.escalate?.to ?? []) : [];
  return { ...rule, rosters: rule.rosters.map((roster) => [...roster, ...to]) };
}
