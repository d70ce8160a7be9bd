import type { Approvers } from '../../authority/approvers';
import type { CountedAway } from '../../authority/roster';
import type { Authority, AuthorityNow, Vote } from '../../contract/authority/authority';
import { standInsAt } from '../../contract/authority/in-place-of';
import { type Away, isOpenAt } from '../../contract/control/away';
import { isAwaySeen } from '../../contract/control/away-forms';
import { defined } from '../../contract/defined';
import { errorMessage } from '../../contract/errors';

/** Reads the absences of now and of later, or why they are not known. Never rejects. */
export type AwayReader = () => Promise<readonly Away[] | { why: string }>;

/** The source that a reader asks. */
interface ReaderParts {
  /** The number of absences in the memo, or why it is not known. */
  count(): Promise<number | { why: string }>;
  query(): Promise<unknown>;
}

/**
 * Makes a reader that asks anew each time, because few votes are cast in another's place. It queries only if the
 * memo says that somebody is away.
 */
export function createAwayReader({ count, query }: ReaderParts): AwayReader {
  return async () => {
    const known = await count();
    if (typeof known !== 'number') return known;
    if (known === 0) return [];
    try {
      const found = await query();
      return isAwaySeen(found) ? found.entries : { why: 'the answer to who is away cannot be read' };
    } catch (error) {
      return { why: errorMessage(error) };
    }
  };
}

/** The data for checking votes in somebody's place. */
interface PlaceCheck {
  /** Absent: this worker cannot ask who is away. */
  away?: AwayReader | undefined;
  file?: Approvers | undefined;
  authority: Authority;
  /** The namespace of the call, as the server reports it. */
  place(): Promise<{ namespace: string }>;
  /** Milliseconds since 1970. */
  now: number;
}

/** The out-of-office on which a vote in somebody's place rests, or why the vote does not count, in words. */
type JudgedPlace = CountedAway | { why: string };

/** Judges the place of a vote. Undefined: the vote is not in somebody's place. */
type PlaceJudge = (vote: Vote) => JudgedPlace | undefined;

/** How votes are counted by who is away now. */
export interface PlacedVotes {
  /** Returns why a vote does not count. Undefined: the place allows the vote. */
  why(vote: Vote): string | undefined;
  /**
   * Returns the out-of-office on which a vote rests. Undefined: the vote is not in somebody's place, or does not count.
   */
  restsOn(vote: Vote): CountedAway | undefined;
  /** The authority under which the votes are counted. */
  authority: AuthorityNow;
}

/**
 * Reads who is away when votes depend on it, and checks the places in which votes are cast. The code that checks
 * signatures is loaded only if a vote is cast in somebody's place.
 *
 * @throws If `place` throws.
 */
export async function placedVotes(check: PlaceCheck, votes: readonly Vote[]): Promise<PlacedVotes> {
  const { file, away, authority, now } = check;
  const isPlaced = votes.some(({ inPlaceOf }) => inPlaceOf !== undefined);
  if (!isPlaced && !authority.rule.notRequester) return { authority, ...judgedBy(() => undefined) };
  const entries = (await away?.()) ?? { why: 'this worker cannot ask' };
  const counted = 'why' in entries ? authority : authorityNow(entries, { file, authority, now });
  const judge = isPlaced ? await placeJudge(check, entries) : () => undefined;
  return { authority: counted, ...judgedBy(judge) };
}

function judgedBy(judge: PlaceJudge): Pick<PlacedVotes, 'why' | 'restsOn'> {
  return {
    why: (vote) => {
      const judged = judge(vote);
      return judged !== undefined && 'why' in judged ? judged.why : undefined;
    },
    restsOn: (vote) => {
      const judged = judge(vote);
      return judged === undefined || 'why' in judged ? undefined : judged;
    },
  };
}

async function placeJudge(check: PlaceCheck, entries: Awaited<ReturnType<AwayReader>>): Promise<PlaceJudge> {
  const { file } = check;
  const no = (why: string): PlaceJudge => inPlace(() => ({ why }));
  if (file === undefined) return no('this worker has no approvers file that names delegates');
  if ('why' in entries) return no(`nobody can tell who is away: ${entries.why}`);
  const statements = await import('../../authority/away-statement.js');
  const { assuranceOfAway, awayFault, whyNotTheirs, whyUnsure } = statements;
  const { authority, now } = check;
  const { namespace } = await check.place();
  const place = { installation: file.installation, namespace, approvers: file, now };
  return inPlace((vote) => {
    const { voter, inPlaceOf } = vote;
    const { person } = inPlaceOf;
    const unknown = [voter, person].find((name) => file.personOf(name) !== name);
    if (unknown !== undefined) return { why: `the approvers file has nobody of the name ${unknown}` };
    const entry = entries.find(({ id }) => id === inPlaceOf.entry);
    if (entry === undefined) return { why: `${person} is back, or never was away` };
    const seat = { voter, person, nameOf: (name: string) => file.personOf(name) };
    const why = whyNotTheirs(entry, seat) ?? whyClosed(vote, entry, now);
    if (why !== undefined) return { why };
    const judged = assuranceOfAway(entry, place);
    if (!judged.ok)
      return { why: `the signature on it that ${entry.from} is away is refused: ${awayFault(judged)}` };
    const unsure = whyUnsure(entry.from, judged.assurance, authority.rule.assurance);
    return unsure === undefined
      ? { entry, ...defined({ fingerprint: judged.fingerprint }) }
      : { why: unsure };
  });
}

type PlacedVote = Vote & Required<Pick<Vote, 'inPlaceOf'>>;

function inPlace(judge: (vote: PlacedVote) => JudgedPlace): PlaceJudge {
  return (vote) => {
    const { inPlaceOf } = vote;
    return inPlaceOf && judge({ ...vote, inPlaceOf });
  };
}

/**
 * Why an out-of-office does not allow a vote. The person has to be away both when the vote is cast and when the call
 * starts: somebody who is back decides for themselves again.
 */
function whyClosed({ at, inPlaceOf: { person } }: PlacedVote, entry: Away, now: number): string | undefined {
  if (!isOpenAt(entry, Date.parse(at))) return `${person} was not away when it was cast`;
  return isOpenAt(entry, now) ? undefined : `${person} is not away now`;
}

/**
 * An authority, with the people who vote in somebody's place now. It stays as it is if nobody knows who is away.
 * That is safe, because a person who asked and is away could as well end their out-of-office.
 */
export async function authorityWithAway(
  authority: Authority,
  { away, file, now }: Pick<PlaceCheck, 'away' | 'file' | 'now'>,
): Promise<AuthorityNow> {
  const entries = authority.rule.notRequester ? ((await away?.()) ?? []) : [];
  return 'why' in entries ? authority : authorityNow(entries, { file, authority, now });
}

function authorityNow(
  entries: readonly Away[],
  { file, authority, now }: Pick<PlaceCheck, 'file' | 'authority' | 'now'>,
): AuthorityNow {
  const nameOf = (name: string): string => file?.personOf(name) ?? name;
  const requesters = authority.requesters.map(nameOf);
  return { ...authority, requesters, standIns: standInsAt(entries, now, nameOf) };
}
