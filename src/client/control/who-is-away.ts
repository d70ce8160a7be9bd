import type { Countersign } from '../types';
import { type StandIn, standInsAt } from '../../contract/authority/in-place-of';
import type { Voter } from '../../contract/authority/votes';
import type { Away } from '../../contract/control/away';
import { errorMessage } from '../../contract/errors';

/** The people who vote in the place of somebody who is away now, and the people of the approvers file. */
export interface WhoIsAway {
  standIns: readonly StandIn[];
  /** Absent: there is no approvers file. */
  people?: readonly Voter[];
}

export const NOBODY_AWAY: WhoIsAway = { standIns: [] };

/** Reads current and future absences. They may be a few seconds old. Never rejects. */
export type AwayEntries = () => Promise<readonly Away[]>;

/** The longest time for which an answer is used again, in milliseconds. */
const KNOWN_MS = 3_000;

/**
 * Makes a reader of absences that several callers share. If the absences cannot be read, it warns once and goes on
 * without them.
 */
export function readAwayEntries(
  { away }: Pick<Countersign, 'away'>,
  note: (text: string) => void,
): AwayEntries {
  let known: { at: number; entries: Promise<readonly Away[]> } | undefined;
  let isLost = false;
  const ask = async (): Promise<readonly Away[]> => {
    try {
      const { entries } = await away.list();
      isLost = false;
      return entries;
    } catch (error) {
      if (!isLost)
        note(`nobody can tell who is away, so nobody stands in for them here: ${errorMessage(error)}`);
      isLost = true;
      return [];
    }
  };
  return () => {
    const now = performance.now();
    if (known === undefined || now - known.at > KNOWN_MS) known = { at: now, entries: ask() };
    return known.entries;
  };
}

/** The people of today's approvers file. */
interface PeopleFile {
  people: readonly Voter[];
  personOf(name: string): string | undefined;
}

/** The people who vote in somebody's place at a moment, by their names in the approvers file if there is one. */
export async function whoIsAway(
  entries: AwayEntries,
  approvers: (() => Promise<PeopleFile>) | undefined,
): Promise<WhoIsAway> {
  const all = await entries();
  if (all.length === 0) return NOBODY_AWAY;
  const file = await approvers?.();
  const standIns = standInsAt(all, Date.now(), file && ((name) => file.personOf(name)));
  return file === undefined ? { standIns } : { standIns, people: file.people };
}
