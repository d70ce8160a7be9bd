import type { SignatureKind } from '../decision';

/** A person of the approvers file, with the fields that voting needs. */
export interface Voter {
  name: string;
  groups: readonly string[];
  /** The people who may vote in this person's place. */
  delegates: readonly string[];
  /** The person's mail address. It names the same person as `name`. */
  mail?: string;
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

/**
 * The person in whose place a vote is cast, and the out-of-office entry that allows it. The workflow checks only the
 * names.
 */
export interface InPlaceOf {
  /** The person's name in the approvers file. */
  person: string;
  /** The id of the out-of-office. */
  entry: string;
}

/** One vote. A person who votes again replaces their earlier vote. */
export interface CastVote {
  voter: string;
  decision: 'approved' | 'denied';
  /** Absent: the person votes as themselves, or for a person whose delegate they are in the file. */
  inPlaceOf?: InPlaceOf;
  /**
   * The kind of signature that came with the vote. Absent: there is no signature, so the name is only claimed. The
   * worker says whether the signature counts.
   */
  signedBy?: SignatureKind;
}

/** The voter in words. */
export function voterText({ voter, inPlaceOf }: Pick<CastVote, 'voter' | 'inPlaceOf'>): string {
  return inPlaceOf === undefined ? voter : `${voter} in place of ${inPlaceOf.person}`;
}

/** The prefix of a group's name in lists that also name people. */
export const GROUP = 'group:';
