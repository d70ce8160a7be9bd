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

/**
 * The lines by which a worker checked the signatures of a call that it started. The worker claims this, and nothing
 * signs it.
 */
export interface Roster {
  /** Of the file. */
  installation: string;
  /** SHA-256 (hex) of the file. */
  fileDigest: string;
  lines: readonly RosterLine[];
}
