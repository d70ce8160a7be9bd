import { fixed, object, type Of, text } from './schema/shape';

/** The web inbox where passkeys are made and used. */
const SITE = object({
  /** The domain that passkeys are made for. */
  rpId: text(),
  /** The origins of the web page from which a signature is accepted. */
  origins: fixed(text()),
});

const LINE = object(
  {
    /** The id of the vote that was signed. */
    decisionId: text(),
    /** The person's name in the approvers file. */
    person: text(),
    groups: fixed(text()),
    /** An SSH key or a passkey of this person, or the key of a web inbox, exactly as in the file. */
    line: text(),
  },
  {
    mail: text(),
    /** Only for a passkey: the web inbox where the file says that it is used. */
    site: SITE,
  },
);

/** The line of an approvers file by which a worker accepted a signature. */
export interface RosterLine extends Of<typeof LINE> {}

export const ROSTER = object({
  /** The installation that the file names. */
  installation: text(),
  /** SHA-256 (hex) of the file. */
  fileDigest: text(),
  lines: fixed(LINE),
});

/**
 * The lines by which a worker checked the signatures of a call that it started. The worker claims this. Nothing in it
 * is signed.
 */
export interface Roster extends Of<typeof ROSTER> {}
