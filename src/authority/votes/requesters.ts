import { WORDS_COUNT } from '../../contract/question';
import { approvalsNeeded } from '../rules/stricter-rule';
import { SOMEBODY, type Authority, MOST_OTHERS } from '../../contract/authority';
import { voterIn, votersOf } from './voters';

/** The names of the people who asked for a turn, and of the people who had asked when its call was asked about. */
export function requestersOf({ requester, others = [] }: Asking = {}, frozen?: Authority): string[] {
  // If nobody knows who asked, the others do not take that person's place.
  const named = requester === undefined ? [] : [requester, ...others];
  return [...new Set([...(frozen?.requesters ?? []), ...named])];
}

/** The people who asked for a turn: whoever started it, and the others whose words it has read. */
interface Asking {
  requester?: string;
  others?: string[];
}

/** A name as the origin of a turn takes it. */
const IS_NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;

/** Adds people whose words a turn reads to those who asked for it. This is the only way in which they become more. */
export function withRequesters<O extends Asking>(origin: O | undefined, names: Iterable<string>): O | Asking {
  const { requester, others = [] } = origin ?? {};
  const all = new Set([...others, ...Array.from(names, (name) => (IS_NAME.test(name) ? name : SOMEBODY))]);
  if (requester !== undefined) all.delete(requester);
  if (all.size === others.length && others.every((name) => all.has(name))) return origin ?? {};
  // More would not be read. So nobody knows them, and nobody may decide.
  return { ...origin, others: all.size > MOST_OTHERS ? [SOMEBODY] : [...all] };
}

/**
 * What somebody should know before a model reads their words: who answers, edits, or gives a reason counts as somebody
 * who asked. Undefined: the rule of the call does not mind. `now`: milliseconds since 1970.
 */
export function afterWords(
  authority: Authority | undefined,
  { approver, now }: { approver: string; now: number },
): string | undefined {
  if (authority?.rule.notRequester !== true) return undefined;
  const requesters = [...authority.requesters, voterIn(authority, approver)];
  const left = votersOf({ ...authority, requesters }, now);
  const isTooFew = left !== undefined && left.length < approvalsNeeded(authority.rule);
  return `${WORDS_COUNT}${isTooFew ? ' Too few others could approve it.' : ''}`;
}
