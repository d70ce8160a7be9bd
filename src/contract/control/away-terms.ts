import type { VoteSignature } from '../decision';

/**
 * An out-of-office: one person is away for a time, and another person votes in their place. A signature covers all
 * fields.
 */
export interface AwayTerms {
  /** Drawn by the person who is away. The id of an out-of-office that was ended cannot be used again. */
  id: string;
  /** The person who is away. `from` and `to` are names of the approvers file. */
  from: string;
  /** The person who votes in their place. That person cannot pass the place on. */
  to: string;
  /** ISO 8601. */
  start: string;
  /** ISO 8601. From this moment on, nobody votes by this out-of-office. */
  end: string;
  /** When the person entered it, by their own clock. ISO 8601. */
  at: string;
}

/** An out-of-office as a client sends it. */
export interface AwayAsked extends AwayTerms {
  reason?: string;
  /** The signature on the terms. Only the worker can say whether it counts. */
  signature?: VoteSignature;
}

/** An out-of-office as the workflow of CONTROL keeps it. */
export interface Away extends AwayAsked {
  /** When the workflow took it, in workflow time. ISO 8601. */
  takenAt: string;
}
