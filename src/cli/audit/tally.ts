import { escapeText } from '../print/escape';
import { count } from '../print/format';
import type { ScreenFormat } from '../print/screen';
import type { TableFact } from '../print/table';

/** A decision, and a remark on what was found about it. */
export interface Remark<State extends string> {
  /** The record's number in the file. */
  n: number;
  turn: string;
  call: string;
  /** Absent: the name was taken out of the file. */
  approver?: string;
  state: State;
  why: string;
}

/** What was found about the decisions of a file. */
export interface Tallied<State extends string> {
  /** The number of decisions with each result. */
  counts: Record<State, number>;
  /** The first decisions whose key was removed or revoked. */
  marked: readonly Remark<State>[];
  /** The first decisions that are not proven. */
  unproven: readonly Remark<State>[];
}

/** A result in words. */
export interface TallyKind<State extends string> {
  state: State;
  words: string;
  /** Such decisions are named, in this list. */
  list?: 'marked' | 'unproven';
  /** The result is shown even if its count is 0. */
  isAlways?: true;
}

/** The results that votes have in common with the entries that they rest on. */
type SharedState = 'verified' | 'carried' | 'removed' | 'revoked' | 'unknown_key' | 'taken_out';

/** The results of a table. Its own results come after the keys that are known. */
export function kindsWith<State extends string>(
  own: readonly TallyKind<State>[],
): readonly TallyKind<State | SharedState>[] {
  return [
    { state: 'verified', words: 'verified' },
    { state: 'carried', words: 'key in this file only' },
    { state: 'removed', words: 'key removed since', list: 'marked' },
    { state: 'revoked', words: 'key revoked', list: 'marked' },
    ...own,
    { state: 'unknown_key', words: 'unknown key', list: 'unproven', isAlways: true },
    { state: 'taken_out', words: 'values taken out', list: 'unproven', isAlways: true },
  ];
}

/** A count of 0 for each result of a table, with those of its own results. */
export function zeroWith<Own extends object>(own: Own): Own & Readonly<Record<SharedState, number>> {
  const known = { verified: 0, removed: 0, revoked: 0, carried: 0 };
  return { ...known, ...own, unknown_key: 0, taken_out: 0 };
}

/** Counts decisions by their result, and keeps the first remarks. */
export interface Tally<State extends string> {
  add(found: { state: State; remark?: Remark<State> }): void;
  done(): Tallied<State>;
}

const MOST_NAMED = 100;

/** Starts with none. `zero`: a count of 0 for each result. */
export function createTally<State extends string>(
  kinds: readonly TallyKind<State>[],
  zero: Readonly<Record<State, number>>,
): Tally<State> {
  const counts: Record<State, number> = { ...zero };
  const lists = { marked: new Array<Remark<State>>(), unproven: new Array<Remark<State>>() };
  return {
    add: ({ state, remark }) => {
      counts[state] += 1;
      const list = kinds.find((kind) => kind.state === state)?.list;
      if (list !== undefined && remark !== undefined && lists[list].length < MOST_NAMED)
        lists[list].push(remark);
    },
    done: () => ({ counts, ...lists }),
  };
}

/** The counts in one line. A count of 0 is left out, unless its state is `own` or is always shown. */
export function countsText<State extends string>(
  kinds: readonly TallyKind<State>[],
  { counts }: Pick<Tallied<State>, 'counts'>,
  own?: State,
): string {
  const shown = kinds.filter(
    ({ state, isAlways }) => state === own || isAlways === true || counts[state] > 0,
  );
  return shown.map(({ state, words }) => `${words}: ${count(counts[state])}`).join(', ');
}

/** The facts to print about the decisions that are named. */
export function remarkFacts<State extends string>(
  kinds: readonly TallyKind<State>[],
  { counts, marked, unproven }: Tallied<State>,
  { style }: Pick<ScreenFormat, 'style'>,
): TableFact[] {
  const facts = [...marked, ...unproven].map(
    ({ n, turn, call, approver = '(taken out)', state, why }): TableFact => {
      const text = escapeText(`${turn}/${call}, ${approver}, record ${n}: ${why}`);
      const words = kinds.find((kind) => kind.state === state)?.words ?? state;
      return [words, { text, paint: state === 'bad' ? style.bad : style.warn }];
    },
  );
  const listed = kinds.filter(({ list }) => list !== undefined);
  const left = listed.reduce((sum, { state }) => sum + counts[state], 0) - facts.length;
  return [...facts, ['and', left === 0 ? undefined : `${count(left)} more of these`]];
}
