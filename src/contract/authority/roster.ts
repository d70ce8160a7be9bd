import type { Away } from '../control/away-terms';

/** The line of an approvers file by which a worker accepted a signature. */
export interface RosterLine {
  /** The id of the vote that was signed. */
  decisionId: string;
  /** The person's name in the approvers file. */
  person: string;
  mail?: string;
  groups: readonly string[];
  /** An SSH key or a passkey of this person, or the key of a web inbox, exactly as in the file. */
  line: string;
  /** Only for a passkey: the web inbox where the file says that it is used. */
  site?: RosterSite;
}

/** The web inbox where passkeys are made and used. */
export interface RosterSite {
  /** The domain that passkeys are made for. */
  rpId: string;
  /** The origins of the web page from which a signature is accepted. */
  origins: readonly string[];
}

/** Somebody in an approvers file, with the mail address that also names them there. */
export interface RosterPerson {
  person: string;
  mail?: string;
}

/** The out-of-office by which a worker counted a vote in somebody's place. */
export interface RosterAway {
  /** The id of the vote that rests on the entry. */
  decisionId: string;
  /** The whole entry, with its signature. */
  entry: Away;
  /** The person who is away. */
  from: RosterPerson;
  /** The person who voted in their place. */
  to: RosterPerson;
  /** The line by which the worker accepted the signature. Absent: nobody signed the entry, so it is a claim. */
  key?: RosterLine;
}

/**
 * The lines by which a worker checked the signatures of a call that it started, and the out-of-office entries by which
 * it counted votes in somebody's place. The worker claims this. Nothing in it is signed, except the entries.
 */
export interface Roster {
  /** The installation that the file names. */
  installation: string;
  /** SHA-256 (hex) of the file. */
  fileDigest: string;
  lines: readonly RosterLine[];
  /** Absent: no vote in somebody's place counted, or the worker could not record this yet. */
  away?: readonly RosterAway[];
}
