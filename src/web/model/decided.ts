import type { CallFacet } from '../../contract/turn-states';
import type { DecidedCall } from '../../server/api';

/** What happened to a call, to list only such calls. Empty: all. */
type Facet = CallFacet | '';

export const FACETS: readonly (readonly [Facet, string])[] = [
  ['', 'everything'],
  ['denied', 'denied'],
  ['failed', 'failed'],
  ['edited', 'edited'],
  ['granted', 'by grant'],
];

/** Ends of calls that are no failure of the tool. */
const NO_FAILURE: readonly string[] = ['done', 'would_run', 'would_ask', 'denied', 'cancelled'];

/** Whether the call of a decision failed. */
export function hasFailed({ outcome }: Pick<DecidedCall, 'outcome'>): boolean {
  return outcome !== undefined && !NO_FAILURE.includes(outcome);
}

const IS: Readonly<Record<Facet, (one: DecidedCall) => boolean>> = {
  '': () => true,
  denied: ({ what }) => what === 'denied' || what === 'declined',
  failed: hasFailed,
  edited: ({ what, hunks }) => what === 'modified' || hunks !== undefined,
  granted: ({ what }) => what === 'granted',
};

/** Which decisions are listed. */
export interface DecidedFilter {
  facet: Facet;
  /** Empty: everybody. */
  by: string;
  /** Words that all occur in the title, the arguments, the reason, the failure, or a name. */
  text: string;
}

/** The people who decided. */
export function peopleIn(calls: readonly DecidedCall[]): string[] {
  return [...new Set(calls.map(({ approver }) => approver))].sort();
}

/** The decisions that fit. */
export function decidedFits(
  calls: readonly DecidedCall[],
  { facet, by, text }: DecidedFilter,
): DecidedCall[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return calls.filter((one) => {
    const { summary, values, reason, suggestion, message, tool, agent, turn, approver } = one;
    const all = [summary, values, reason, suggestion, message, tool, agent, turn, approver]
      .join(' ')
      .toLowerCase();
    return IS[facet](one) && (by === '' || by === approver) && words.every((word) => all.includes(word));
  });
}
