import type { Countersign } from '../types';
import { type StandIn, standInsAt } from '../../contract/authority/places';
import type { Voter } from '../../contract/authority/votes';
import type { Away } from '../../contract/control/away';
import { errorMessage } from '../../contract/errors';

/** Who stands in for whom now, and among whom they are. */
export interface WhoIsAway {
  standIns: readonly StandIn[];
  /** Absent: no file says. */
  people?: readonly Voter[];
}

export const NOBODY_AWAY: WhoIsAway = { standIns: [] };

/** Who is away or will be, as it was known a few seconds ago at most. Never rejects. */
export type AwayEntries = () => Promise<readonly Away[]>;

/** What is known may be so old, in milliseconds. */
const KNOWN_MS = 3_000;

/** Asks who is away, once for all who want to know. Where nobody can tell, it says so once, and goes on without. */
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

/** The people of the file of the day. */
interface PeopleFile {
  people: readonly Voter[];
  personOf(name: string): string | undefined;
}

/** Who stands in for whom at a moment, by the names of the file where there is one. */
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
