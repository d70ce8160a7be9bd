import type { Approvers } from '../../authority/approvers';
import type { Authority, AuthorityNow, Vote } from '../../contract/authority/authority';
import { standInsAt } from '../../contract/authority/places';
import { assuranceText, isAssured } from '../../contract/authority/votes';
import { type Away, isOpenAt } from '../../contract/control/away';
import { isAwaySeen } from '../../contract/control/away-forms';
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
 * Makes a reader that asks anew each time, because few votes are cast in another's place. It queries only where the
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

/** The data by which votes in somebody's place are checked. */
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

/** Returns why a vote in somebody's place does not count, in words. Undefined: the place allows the vote. */
export type WhyNoPlace = (vote: Vote) => string | undefined;

/** How votes are counted by who is away now. */
export interface PlacedVotes {
  /** Returns why a vote does not count. */
  why: WhyNoPlace;
  /** The authority under which the votes are counted. */
  authority: AuthorityNow;
}

/**
 * Reads who is away where votes depend on it, and checks the places in which votes are cast. The code that checks
 * signatures is loaded only where a vote is cast in somebody's place.
 *
 * @throws Where `place` throws.
 */
export async function placedVotes(check: PlaceCheck, votes: readonly Vote[]): Promise<PlacedVotes> {
  const { file, away, authority, now } = check;
  const isPlaced = votes.some(({ inPlaceOf }) => inPlaceOf !== undefined);
  if (!isPlaced && !authority.rule.notRequester) return { authority, why: () => undefined };
  const entries = (await away?.()) ?? { why: 'this worker cannot ask' };
  const counted = 'why' in entries ? authority : authorityNow(entries, { file, authority, now });
  return { authority: counted, why: isPlaced ? await whyNoPlaces(check, entries) : () => undefined };
}

async function whyNoPlaces(check: PlaceCheck, entries: Awaited<ReturnType<AwayReader>>): Promise<WhyNoPlace> {
  const { file } = check;
  if (file === undefined) return inPlace(() => 'this worker has no approvers file that names delegates');
  if ('why' in entries) return inPlace(() => `nobody can tell who is away: ${entries.why}`);
  const { assuranceOfAway, awayFault } = await import('../../authority/away-statement.js');
  const { authority, now } = check;
  const { namespace } = await check.place();
  const place = { installation: file.installation, namespace, approvers: file, now };
  return inPlace((vote) => {
    const entry = entries.find(({ id }) => id === vote.inPlaceOf.entry);
    const why = whyOther(vote, entry, { file, now });
    if (why !== undefined || entry === undefined) return why;
    const judged = assuranceOfAway(entry, place);
    const whose = `that ${entry.from} is away`;
    if (!judged.ok) return `the signature on it ${whose} is refused: ${awayFault(judged)}`;
    const { assurance: wanted } = authority.rule;
    if (isAssured(judged.assurance, wanted)) return undefined;
    const has = assuranceText(judged.assurance);
    return `${whose} is ${has}, and the rule wants it ${assuranceText(wanted)}`;
  });
}

type PlacedVote = Vote & Required<Pick<Vote, 'inPlaceOf'>>;

function inPlace(why: (vote: PlacedVote) => string | undefined): WhyNoPlace {
  return (vote) => {
    const { inPlaceOf } = vote;
    return inPlaceOf && why({ ...vote, inPlaceOf });
  };
}

/**
 * Why an out-of-office does not allow a vote. The person has to be away both when the vote is cast and when the call
 * starts: somebody who is back decides for themselves again.
 */
function whyOther(
  { voter, at, inPlaceOf: { person } }: PlacedVote,
  entry: Away | undefined,
  { file, now }: { file: Approvers; now: number },
): string | undefined {
  const unknown = [voter, person].find((name) => file.personOf(name) !== name);
  if (unknown !== undefined) return `the approvers file has nobody of the name ${unknown}`;
  if (entry === undefined) return `${person} is back, or never was away`;
  if (file.personOf(entry.from) !== person) return `it names the out-of-office of ${entry.from}`;
  if (file.personOf(entry.to) !== voter) return `while ${person} is away, ${entry.to} votes in their place`;
  if (!isOpenAt(entry, Date.parse(at))) return `${person} was not away when it was cast`;
  return isOpenAt(entry, now) ? undefined : `${person} is not away now`;
}

/**
 * An authority, with the people who vote in somebody's place now. It stays as it is where nobody knows who is away.
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
