import type { KeyVerdict } from './keys';

/** The result for the signature of a decision. `taken_out`: signed values are no longer in the file. */
export type SignatureState = KeyVerdict['state'] | 'none' | 'taken_out';

/** A decision, and a remark on what was found about it. */
export interface Remark {
  /** The record's number in the file. */
  n: number;
  turn: string;
  call: string;
  /** Absent: the name was taken out of the file. */
  approver?: string;
  state: SignatureState;
  why: string;
}

/** What was found about the decisions of a file. */
export interface Tallied {
  /** The number of decisions with each result. */
  counts: Record<SignatureState, number>;
  /** The first decisions whose key was removed or revoked. */
  marked: readonly Remark[];
  /** The first decisions that are not proven. */
  unproven: readonly Remark[];
}

/** A result in words. */
interface TallyKind {
  state: SignatureState;
  words: string;
  /** Such decisions are named, in this list. */
  list?: 'marked' | 'unproven';
  /** The result is shown even if its count is 0. */
  isAlways?: true;
}

export const TALLY_KINDS: readonly TallyKind[] = [
  { state: 'verified', words: 'verified' },
  { state: 'carried', words: 'key in this file only' },
  { state: 'removed', words: 'key removed since', list: 'marked' },
  { state: 'revoked', words: 'key revoked', list: 'marked' },
  { state: 'none', words: 'no signature', isAlways: true },
  { state: 'bad', words: 'bad signature', list: 'unproven', isAlways: true },
  { state: 'unknown_key', words: 'unknown key', list: 'unproven', isAlways: true },
  { state: 'taken_out', words: 'values taken out', list: 'unproven', isAlways: true },
];

const MOST_NAMED = 100;

/** Starts with none. */
export function createTally() {
  const counts: Tallied['counts'] = {
    verified: 0,
    removed: 0,
    revoked: 0,
    carried: 0,
    none: 0,
    bad: 0,
    unknown_key: 0,
    taken_out: 0,
  };
  const lists = { marked: new Array<Remark>(), unproven: new Array<Remark>() };
  return {
    add: ({ state, remark }: { state: SignatureState; remark?: Remark }) => {
      counts[state] += 1;
      const list = TALLY_KINDS.find((kind) => kind.state === state)?.list;
      if (list !== undefined && remark !== undefined && lists[list].length < MOST_NAMED)
        lists[list].push(remark);
    },
    done: () => ({ counts, ...lists }),
  };
}
