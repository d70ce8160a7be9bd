import type { SignatureKind } from '../decision';

/** A person of the approvers file, with the fields that voting needs. */
export interface Voter {
  name: string;
  groups: readonly string[];
  /** The people who may vote in this person's place. */
  delegates: readonly Delegate[];
  /** The person's mail address. It names the same person as `name`. */
  mail?: string;
}

/** A person who may vote in another person's place, and when. */
export interface Delegate {
  name: string;
  /** ISO 8601. The first moment of the time. Absent: it has no beginning. */
  from?: string;
  /** ISO 8601. The moment after the time. Absent: it has no end. */
  until?: string;
}

/** Whether a delegate may vote at a moment, in milliseconds since 1970. A time that cannot be read never comes. */
export function isDelegateAt({ from, until }: Delegate, moment: number): boolean {
  return (
    (from === undefined || Date.parse(from) <= moment) && (until === undefined || moment < Date.parse(until))
  );
}

/**
 * The letters of a person's name. Names go into history, so only plain letters are allowed: a name with look-alike
 * letters would pass for another person's name.
 */
export const PERSON_NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/;

/** The name of a person who sent a message without a name. */
export const SOMEBODY = 'somebody';

/** The form in which names are compared. Upper and lower case do not matter. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}

/** Whether two names mean the same person. */
export function isSameName(one: string, other: string): boolean {
  return nameKey(one) === nameKey(other);
}

/** Returns a check whether a name means one of these people. */
export function nameSet(names: readonly string[]): (name: string) => boolean {
  const keys = new Set(names.map(nameKey));
  return (name) => keys.has(nameKey(name));
}

/** One vote. A person who votes again replaces their earlier vote. */
export interface CastVote {
  voter: string;
  decision: 'approved' | 'denied';
  /** The ids of the hunks that the vote approves. Absent: the whole call. */
  hunks?: readonly string[];
  /**
   * The kind of signature that came with the vote. Absent: there is no signature, so the name is only claimed. The
   * worker says whether the signature counts.
   */
  signedBy?: SignatureKind;
}

/** Whether two choices of hunks are the same. Absent: the whole call. */
export function areSameHunks(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): boolean {
  const keyOf = (hunks: readonly string[] | undefined): string =>
    JSON.stringify(hunks === undefined ? null : [...new Set(hunks)].sort());
  return keyOf(one) === keyOf(other);
}

/** A vote, and when it was cast. The time decides whether its voter was a delegate. */
export interface DatedVote extends CastVote {
  /** ISO 8601. */
  at: string;
}

/** The prefix of a group's name in lists that also name people. */
export const GROUP = 'group:';
