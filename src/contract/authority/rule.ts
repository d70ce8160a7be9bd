import { defined } from '../defined';
import type { Safety } from '../tool';

/** How sure it is that the named person cast a vote. The weakest comes first. */
export const ASSURANCES = ['claimed', 'signed_in', 'signed', 'signed_ssh'] as const;
export type Assurance = (typeof ASSURANCES)[number];

/** The action of a rule for a call. `by_safety`: dangerous calls ask, others run. */
export const RULE_ACTIONS = ['run', 'ask', 'refuse', 'by_safety'] as const;
export type RuleAction = (typeof RULE_ACTIONS)[number];

/**
 * The conditions of a rule under which people decide. They are plain data, so that a request can freeze them. Two rules
 * can be joined, and then each roster has to name a voter.
 */
export interface VoteRule {
  /** Names of people and `group:<name>`. A voter has to be in every roster. Without a roster, anybody may vote. */
  rosters: readonly (readonly string[])[];
  /** The number of people who have to approve. */
  need: number;
  /** Groups that all have to approve. Each group needs the vote of a different person. */
  groups: readonly string[];
  /** The people who asked for the turn may not vote, and neither may their delegates. */
  notRequester: boolean;
  /** The number of denials that deny the call. */
  denyNeeds: number;
  assurance: Assurance;
  /** The time until a request expires. Absent: the tool sets it. */
  expiresMs?: number;
  escalate?: { afterMs: number; to: readonly string[] };
}

/** A rule as it is frozen. */
export interface RuleSnapshot extends VoteRule {
  name: string;
  then: RuleAction;
}

/** The stricter of two actions for a call of this safety. */
export function stricterAction(
  one: RuleAction,
  other: RuleAction,
  safety: Safety,
): Exclude<RuleAction, 'by_safety'> {
  const [left, right] = [actionFor(one, safety), actionFor(other, safety)];
  return isStricter(right, left) ? right : left;
}

/** Whether the first action is stricter than the second. */
export function isStricter(one: SettledAction, other: SettledAction): boolean {
  const order: readonly SettledAction[] = ['run', 'ask', 'refuse'];
  return order.indexOf(one) > order.indexOf(other);
}

type SettledAction = Exclude<RuleAction, 'by_safety'>;

/** The action for a call of this safety. A rule can only be stricter than safety. */
export function actionFor(action: RuleAction, safety: Safety): Exclude<RuleAction, 'by_safety'> {
  if (action === 'refuse' || action === 'ask') return action;
  return safety === 'dangerous' ? 'ask' : 'run';
}

/** How many people have to approve. Each group needs the approval of a different person. */
export function approvalsNeeded({ need, groups }: Pick<VoteRule, 'need' | 'groups'>): number {
  return Math.max(need, groups.length);
}

/** Why a rule refuses a call: its condition could not be evaluated. */
export function whyNotEvaluated(ruleName: string, failed: string): string {
  return `the condition of the rule '${ruleName}' cannot be worked out: ${failed}`;
}

/** A rule that is as strict as both on every point. */
export function stricterRule(one: VoteRule, other: VoteRule): VoteRule {
  const expires = [one, other].flatMap(({ expiresMs }) => expiresMs ?? []);
  return {
    rosters: distinct([...one.rosters, ...other.rosters]),
    need: Math.max(one.need, other.need),
    groups: [...new Set([...one.groups, ...other.groups])],
    notRequester: one.notRequester || other.notRequester,
    denyNeeds: Math.min(one.denyNeeds, other.denyNeeds),
    assurance: isAssured(one.assurance, other.assurance) ? one.assurance : other.assurance,
    ...(expires.length === 0 ? {} : { expiresMs: Math.min(...expires) }),
    ...defined({ escalate: stricterEscalation(one.escalate, other.escalate) }),
  };
}

/** Brings in only the people whom both rules bring in, once the time of both is over. Undefined: there are none. */
function stricterEscalation(one: VoteRule['escalate'], other: VoteRule['escalate']): VoteRule['escalate'] {
  if (one === undefined || other === undefined) return undefined;
  const to = one.to.filter((name) => other.to.includes(name));
  return to.length === 0 ? undefined : { afterMs: Math.max(one.afterMs, other.afterMs), to };
}

function distinct(rosters: readonly (readonly string[])[]): (readonly string[])[] {
  const seen = new Map(rosters.map((roster) => [JSON.stringify([...roster].sort()), roster]));
  return [...seen.values()];
}

/** An assurance in words, such as `signed in`. */
export function assuranceText(assurance: Assurance): string {
  return assurance.replaceAll('_', ' ');
}

/** Whether the first assurance is at least as strong as the second. */
export function isAssured(has: Assurance, wanted: Assurance): boolean {
  return ASSURANCES.indexOf(has) >= ASSURANCES.indexOf(wanted);
}
