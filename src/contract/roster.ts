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

/**
 * The lines by which a worker checked the signatures of a call that it started. The worker claims this. Nothing in it
 * is signed.
 */
export interface Roster {
  /** The installation that the file names. */
  installation: string;
  /** SHA-256 (hex) of the file. */
  fileDigest: string;
  lines: readonly RosterLine[];
}
