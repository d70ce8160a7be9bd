/** The data that a page needs to ask for a passkey. */
export interface PasskeyAsk {
  /** The text that is signed. The challenge is its SHA-256. */
  statement: string;
  rpId: string;
  /** Ids of the person's passkeys. */
  ids: readonly string[];
}

/** The data that a page needs to ask for a passkey for a grant, which somebody gives or confirms. */
export interface GrantPasskeyAsk extends PasskeyAsk {
  /** What the grant allows, in words. */
  sentence: string;
}

/** The domain for which a passkey is made, and the person who makes it. */
export interface PasskeyPlace extends Pick<PasskeyAsk, 'rpId' | 'ids'> {
  /** The person's name in the approvers file. */
  person: string;
}

/** The signature that a passkey made, and its times. */
export interface SignedByPasskey {
  /** Id of the passkey, authenticator data, client data and signature: base64url, with dots between them. */
  assertion: string;
  /**
   * The time of the signature, and the time until which a call may start by it. Both are written as in the statement.
   */
  at: string;
  notAfter: string;
}
