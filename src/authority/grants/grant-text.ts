import { LIMITS } from '../../contract/limits';
import { utc } from '../../contract/text/times';
import { type GrantVotes, lackingOn } from './grant-votes';
import type { GrantTerms } from './grant';
import { ANY, type Condition, isExact, type Narrowing } from './narrowing';

/** The calls that a grant allows, as one sentence for the person who is about to give it. */
export function grantSentence({ agent, tool, narrowing, times, until }: GrantTerms): string {
  const calls = times === 1 ? 'one call' : `${times} calls`;
  const many = times === LIMITS.grantTimes ? `every call (${times} at most)` : `up to ${calls}`;
  return `Allows ${agent} to run ${tool} ${narrowingText(narrowing)} without asking again: ${times === 1 ? calls : many}, until ${utc(until)}.`;
}

/**
 * A sentence that names the people who have to confirm a grant. Undefined: the grant does not wait for a confirmation.
 */
export function heldSentence(grant: GrantVotes, now: number): string | undefined {
  const lacking = lackingOn(grant, now);
  return lacking && `Until it is confirmed it allows nothing: ${lacking}.`;
}

/** The condition on each argument, for people who were not shown the call. */
export function argumentTexts({ narrowing }: Pick<GrantTerms, 'narrowing'>): string[] {
  return Object.entries(narrowing).map(([name, condition]) => `${name} ${conditionText(condition)}`);
}

const OTHERS = 'no other argument';

/** The arguments that a narrowing allows, in words. */
function narrowingText(narrowing: Narrowing): string {
  const all = Object.entries(narrowing);
  if (all.length === 0) return 'without arguments';
  if (isExact(narrowing)) return 'with exactly these arguments';
  const parts = all.map(([name, condition]) => `${name} ${conditionText(condition)}`);
  return `with ${parts.join(', ')}, and ${OTHERS}`;
}

/** The condition on one argument, in words. */
export function conditionText(condition: Condition): string {
  switch (condition.is) {
    case 'equal':
      return 'digest' in condition
        ? `exactly as it was (SHA-256 ${condition.digest.slice(0, 16)})`
        : `= ${JSON.stringify(condition.value)}`;
    case 'prefix':
      return `beginning with ${JSON.stringify(condition.prefix)}`;
    case 'glob':
      return condition.glob === ANY ? 'any text' : `like ${JSON.stringify(condition.glob)}`;
    case 'range': {
      const { min, max } = condition;
      if (min === undefined) return `up to ${String(max)}`;
      return max === undefined ? `from ${min}` : `from ${min} to ${max}`;
    }
  }
}
