import { isSameName } from '../authority/votes';
import { DAY, LIMITS, TIMES } from '../limits';
import { utf8Bytes } from '../text/bytes';
import type { Away, AwayAsked, AwayTerms } from './away-terms';
import { isLeftAt, reasonIssue } from './grants';

export type { Away, AwayAsked, AwayTerms } from './away-terms';

/** Everything that the workflow of CONTROL knows about absences. */
export interface AwayState {
  entries: readonly Away[];
  /** The absences that were ended early. */
  ended: readonly Pick<AwayTerms, 'id' | 'end'>[];
}

/** The current and future absences, as people and workers read them. */
export interface AwaySeen {
  entries: Away[];
}

/** Ends an out-of-office before its end. */
export interface BackAsked {
  id: string;
  by: string;
}

/** Why a change was refused. */
export interface AwayRefused {
  code: 'malformed' | 'away_refused' | 'away_full' | 'away_not_found';
  message: string;
}

const EMPTY: AwayState = { entries: [], ended: [] };

/** The state before the first out-of-office. */
export const nobodyAway = (): AwayState => EMPTY;

const MOST_AHEAD_MS = 366 * 24 * 3600 * 1000;

function withoutPast({ entries, ended }: AwayState, now: number): AwayState {
  const isLeft = ({ end }: { end: string }): boolean => isLeftAt(end, now);
  return { entries: entries.filter(isLeft), ended: ended.filter(isLeft) };
}

/**
 * Whether somebody is away at a moment, in milliseconds since 1970. The start belongs to the absence, the end does not.
 */
export function isOpenAt({ start, end }: Pick<AwayTerms, 'start' | 'end'>, moment: number): boolean {
  return Date.parse(start) <= moment && moment < Date.parse(end);
}

/** Adds an out-of-office. Adding the same one again changes nothing. */
export function addAway(
  before: AwayState,
  asked: AwayAsked,
  now: number,
): { state: AwayState; entry: Away } | AwayRefused {
  const state = withoutPast(before, now);
  const known = state.entries.find(({ id }) => id === asked.id);
  if (known !== undefined) {
    const isSame = JSON.stringify({ ...asked, takenAt: known.takenAt }) === JSON.stringify(known);
    return isSame ? { state, entry: known } : refuse('away_refused', 'there is another one of this id');
  }
  const why = whyNotTaken(state, asked, now);
  if (why !== undefined) return why;
  const entry: Away = { ...asked, takenAt: new Date(now).toISOString() };
  const entries = [...state.entries, entry];
  // Entries that were ended take room, too. Otherwise new entries could push out an ended entry, which could then
  // return.
  const isFull =
    entries.length + state.ended.length > LIMITS.away ||
    utf8Bytes(JSON.stringify(entries)) > LIMITS.awayBytes;
  return isFull
    ? refuse('away_full', 'those who are away already, and those who came back, leave no room for another')
    : { state: { ...state, entries }, entry };
}

function whyNotTaken(state: AwayState, asked: AwayAsked, now: number): AwayRefused | undefined {
  const { id, from, to, reason } = asked;
  const [start, end] = [Date.parse(asked.start), Date.parse(asked.end)];
  const wrong = reasonIssue(reason);
  if (wrong !== undefined) return refuse('malformed', wrong);
  if (isSameName(from, to)) return refuse('away_refused', 'nobody votes in their own place');
  if (Date.parse(asked.at) > now + TIMES.clockSkew)
    return refuse('away_refused', 'it is dated in the future: the clock of who is away is wrong');
  if (!(start < end) || end <= now) return refuse('away_refused', 'it would be over already');
  if (end - start > TIMES.grantMost)
    return refuse('away_refused', `one lasts at most ${TIMES.grantMost / DAY} days`);
  if (start - now > MOST_AHEAD_MS) return refuse('away_refused', 'it starts in more than a year');
  if (state.ended.some((one) => one.id === id)) return refuse('away_refused', 'it was ended');
  const other = state.entries.find(
    (one) => isSameName(one.from, from) && Date.parse(one.start) < end && start < Date.parse(one.end),
  );
  return (
    other &&
    refuse(
      'away_refused',
      `${from} is away then already, until ${other.end}; ${other.to} votes in their place`,
    )
  );
}

function refuse(code: AwayRefused['code'], message: string): AwayRefused {
  return { code, message };
}

/** Ends an out-of-office. Its id cannot be used again, so whoever kept the signature cannot enter it a second time. */
export function endAway(
  before: AwayState,
  { id }: BackAsked,
  now: number,
): { state: AwayState; entry: Away } | AwayRefused {
  const state = withoutPast(before, now);
  const entry = state.entries.find((one) => one.id === id);
  if (entry === undefined) return refuse('away_not_found', `there is no out-of-office ${id}`);
  const entries = state.entries.filter((one) => one !== entry);
  const ended = [...state.ended, { id, end: entry.end }].slice(-LIMITS.awayEnded);
  return { state: { entries, ended }, entry };
}
