import type { VoteSignature } from '../decision';

/** That somebody is away, and who votes in their place meanwhile. A signature is over all fields. */
export interface AwayTerms {
  /** Drawn by who is away; one that was ended never comes back. */
  id: string;
  /** Who is away. This and `to` are names of the approvers file. */
  from: string;
  /** Who votes in their place. It does not pass on. */
  to: string;
  /** ISO 8601. */
  start: string;
  /** ISO 8601: from then on nobody votes by it. */
  end: string;
  /** When it was said, by the clock of who is away; ISO 8601. */
  at: string;
}

/** An out-of-office as it comes in. */
export interface AwayAsked extends AwayTerms {
  reason?: string;
  /** Only the worker can say whether it counts. */
  signature?: VoteSignature;
}

/** An out-of-office that is kept. */
export interface Away extends AwayAsked {
  /** Workflow time, ISO 8601. */
  takenAt: string;
}
