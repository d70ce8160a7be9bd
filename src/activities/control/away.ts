import type { Approvers } from '../../authority/approvers';
import { type Authority, type Vote, WHY_NOT } from '../../contract/authority/authority';
import { barredUnder, standInsAt } from '../../contract/authority/places';
import { assuranceText, isAssured } from '../../contract/authority/votes';
import { type Away, isOpenAt } from '../../contract/control/away';
import { isAwaySeen } from '../../contract/control/away-forms';
import { errorMessage } from '../../contract/errors';
import { QUERIES } from '../../contract/names';
import { queryControl } from './grants';

/** Says who is away or will be; or why nobody can tell. Never rejects. */
export type AwayReader = () => Promise<readonly Away[] | { why: string }>;

/** Where a reader asks. */
interface ReaderParts {
  /** How many there are, by the memo. */
  count(): Promise<number | { why: string }>;
  query?(): Promise<unknown>;
}

/** Asks anew each time, and only where the memo says that somebody is away: few votes are cast in another's place. */
export function createAwayReader({
  count,
  query = () => queryControl(QUERIES.away),
}: ReaderParts): AwayReader {
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

/** What a vote in somebody's place is checked with. */
interface PlaceCheck {
  /** Absent: this worker cannot ask who is away. */
  away?: AwayReader | undefined;
  file?: Approvers | undefined;
  authority: Authority;
  /** As the server says. */
  place(): Promise<{ namespace: string }>;
  /** Milliseconds since 1970. */
  now: number;
}

/** Says why a vote in somebody's place does not count, in words; undefined: it may. */
export type WhyNoPlace = (vote: Vote) => string | undefined;

/**
 * Reads who is away where a vote is cast in somebody's place. What checks signatures is loaded only then.
 *
 * @throws where `place` does.
 */
export async function whyNoPlaces(check: PlaceCheck, votes: readonly Vote[]): Promise<WhyNoPlace> {
  const isPlaced = votes.some(({ inPlaceOf }) => inPlaceOf !== undefined);
  if (!isPlaced) return barsDelegates(check);
  const { file, away } = check;
  if (file === undefined) return inPlace(() => 'this worker has no approvers file that names delegates');
  const entries = (await away?.()) ?? { why: 'this worker cannot ask' };
  if ('why' in entries) return inPlace(() => `nobody can tell who is away: ${entries.why}`);
  const { assuranceOfAway, awayFault } = await import('../../authority/away-statement.js');
  const { authority, now } = check;
  const { namespace } = await check.place();
  const place = { installation: file.installation, namespace, approvers: file, now };
  const whyPlaced = inPlace((vote) => {
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
  return (vote) => whyRequesters(vote, entries, check) ?? whyPlaced(vote);
}

/**
 * Votes as oneself, where those who asked and their delegates do not vote. Where nobody can tell who is away they count: who
 * asked could end their out-of-office just as well.
 */
async function barsDelegates(check: PlaceCheck): Promise<WhyNoPlace> {
  if (!check.authority.rule.notRequester) return () => undefined;
  const entries = (await check.away?.()) ?? [];
  return (vote) => ('why' in entries ? undefined : whyRequesters(vote, entries, check));
}

type PlacedVote = Vote & Required<Pick<Vote, 'inPlaceOf'>>;

function inPlace(why: (vote: PlacedVote) => string | undefined): WhyNoPlace {
  return (vote) => {
    const { inPlaceOf } = vote;
    return inPlaceOf && why({ ...vote, inPlaceOf });
  };
}

/** It has to hold when the vote is cast and when the call starts: who is back decides again by themselves. */
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

/** The delegate of who asked does not vote, in nobody's place either, where those who asked do not vote. */
function whyRequesters(
  { voter }: Pick<Vote, 'voter'>,
  entries: readonly Away[],
  { file, authority: { rule, requesters }, now }: PlaceCheck,
): string | undefined {
  const nameOf = (name: string): string => file?.personOf(name) ?? name;
  const asked = { rule, requesters: requesters.map(nameOf) };
  const isBarred = barredUnder(asked, standInsAt(entries, now, nameOf));
  return isBarred(voter) ? `${voter} ${WHY_NOT.requesters_delegate}` : undefined;
}
