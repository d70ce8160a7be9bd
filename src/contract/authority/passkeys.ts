/** What a page needs to ask for a passkey. */
export interface PasskeyAsk {
  /** What is signed: the challenge is the SHA-256 of this text. */
  statement: string;
  rpId: string;
  /** Ids of the person's passkeys. */
  ids: readonly string[];
}

/** The same for a grant that somebody gives or confirms. */
export interface GrantPasskeyAsk extends PasskeyAsk {
  /** What the grant allows, in words. */
  sentence: string;
}

/** Where a passkey is made, and for whom. */
export interface PasskeyPlace extends Pick<PasskeyAsk, 'rpId' | 'ids'> {
  /** By the name in the file. */
  person: string;
}

/** What a passkey signed. */
export interface SignedByPasskey {
  /** Id of the passkey, authenticator data, client data and signature: base64url, with dots between them. */
  assertion: string;
  /** As they stand in the statement. */
  at: string;
  notAfter: string;
}
