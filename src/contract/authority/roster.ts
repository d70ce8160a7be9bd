import type { Away } from '../control/away-terms';

/** The line of an approvers file by which a worker found a signature good. */
export interface RosterLine {
  /** The vote that the signature is of. */
  decisionId: string;
  /** By their name in the file. */
  person: string;
  mail?: string;
  groups: readonly string[];
  /** An SSH key or a passkey of this person, or the key of a web inbox, exactly as in the file. */
  line: string;
  /** Only of a passkey: where the file says that it is used. */
  site?: RosterSite;
}

/** Where passkeys are made and used: the web inbox. */
export interface RosterSite {
  /** The domain that passkeys are made for. */
  rpId: string;
  /** Addresses at which the page may be open where somebody signs. */
  origins: readonly string[];
}

/** Somebody in an approvers file, with the mail address that also names them there. */
export interface RosterPerson {
  person: string;
  mail?: string;
}

/** The out-of-office by which a worker counted a vote in somebody's place. */
export interface RosterAway {
  /** The vote that rests on it. */
  decisionId: string;
  /** Whole, with its signature. */
  entry: Away;
  /** Who is away. */
  from: RosterPerson;
  /** Who voted in their place. */
  to: RosterPerson;
  /** The line by which the worker found the signature good. Absent: nobody signed the entry, so it is a claim. */
  key?: RosterLine;
}

/**
 * The lines by which a worker checked the signatures of a call that it started, and the out-of-office entries by which
 * it counted votes in somebody's place. The worker claims this, and nothing signs it but the entries themselves.
 */
export interface Roster {
  /** Of the file. */
  installation: string;
  /** SHA-256 (hex) of the file. */
  fileDigest: string;
  lines: readonly RosterLine[];
  /** Absent: no vote in somebody's place counted, or the worker could not record this yet. */
  away?: readonly RosterAway[];
}
