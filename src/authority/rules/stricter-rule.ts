import type { Safety } from '../../contract/tool';
import { ASSURANCES, type Assurance, type RuleAction, type VoteRule } from '../../contract/authority';

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
    expiresMs: expires.length === 0 ? undefined : Math.min(...expires),
    escalate: stricterEscalation(one.escalate, other.escalate),
  };
}

/** Brings in only the people whom both rules bring in, once the time of both is over. Undefined: there are none. */
function stricterEscalation(one: VoteRule['escalate'], other: VoteRule['escalate']): VoteRule['escalate'] {
  if (one === undefined || other === undefined) return undefined;
  const to = one.to.filter((name) => other.to.includes(name));
  return to.length === 0 ? undefined : { afterMs: Math.max(one.afterMs, other.afterMs), to };
}

function distinct(rosters: readonly (readonly string[])[]) {
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
