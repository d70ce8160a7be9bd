import type { Authority } from '../../contract/authority/authority';
import type { Assurance } from '../../contract/authority/votes';
import type { Away, AwayAsked, AwaySeen, BackAsked } from '../../contract/control/away';
import type { ConfirmAsked } from '../../contract/control/confirmations';
import type {
  GrantAsked,
  GrantSeen,
  GrantsSeen,
  GrantTerms,
  RevokeAsked,
  Revoked,
} from '../../contract/control/grants';
import type { Narrowing } from '../../contract/control/narrowing';

/** What somebody wants to allow in addition to one call. */
export interface GrantOptions {
  /** Who gives the grant. */
  by: string;
  /** For how long, in milliseconds. @default a day where `times` is given */
  forMs?: number;
  /** For how many calls. @default as many as a grant may allow, 500 */
  times?: number;
  /** Conditions that take the place of "equal to what this call has", by argument. */
  narrowing?: Narrowing;
}

/** A grant before it is given. */
export interface GrantPlan {
  terms: GrantTerms;
  /** What the grant allows, in words. */
  sentence: string;
  /** How sure it has to be who gives the grant. */
  assurance: Assurance;
  /** The authority that is sent with the grant. Only where others have to confirm the grant. */
  authority?: Authority;
  /** Who has to confirm the grant, in words. Absent: nobody has to. */
  held?: string;
}

/** A confirmation of a grant before it is sent. */
export interface ConfirmationPlan {
  /** The confirmation without its signature. */
  asked: ConfirmAsked;
  /** What the grant allows, in words. */
  sentence: string;
  /** How sure it has to be who confirms the grant. */
  assurance: Assurance;
}

/** Past calls that a grant would have allowed, as far as they were looked at. */
export interface GrantCoverage {
  /** Calls that the grant would have allowed without asking. */
  covered: number;
  /** How many of these calls somebody denied. */
  denied: number;
  /** Calls of the tool that were looked at. */
  calls: number;
  /** Turns that were read, newest first. */
  turns: number;
}

/** Grants of a namespace: calls that may run without being asked about. */
export interface Grants {
  /**
   * The grant that somebody would give on a call that waits, or waited. Once it is given, calls of this tool and agent
   * that fit it run without a decision. Nothing is given yet.
   *
   * @throws CountersignError `grant_refused` where decisions on it cannot be replaced so, `usage` for conditions that are wrong,
   * and those of `view`.
   */
  plan(turn: string, callId: string, options: GrantOptions): Promise<GrantPlan>;
  /** How many past calls a grant would have allowed. Reads at most 50 turns, for about 5 s. */
  coverage(terms: Pick<GrantTerms, 'agent' | 'tool' | 'narrowing'>): Promise<GrantCoverage>;
  /**
   * Gives a grant, with a signature where the rule wants one; resolves once every worker finds it. Needs a worker.
   *
   * @throws CountersignError `usage`, `grant_refused`, `grants_full`, `control_unavailable`.
   */
  give(asked: GrantAsked): Promise<GrantSeen>;
  /**
   * Confirms a grant where its rule takes more than one person, with a signature where the rule wants one. It covers calls
   * once as many people as the rule needs have given or confirmed it. Needs a worker.
   *
   * @throws CountersignError `usage`, `grant_not_found`, `grant_refused`, `grants_full`, `control_unavailable`.
   */
  confirm(asked: ConfirmAsked): Promise<GrantSeen>;
  /** All grants, with how many uses of each are claimed. Needs a worker. @throws CountersignError `control_unavailable`. */
  list(): Promise<GrantsSeen>;
  /**
   * Takes back a grant, or all that were given so far. A call that has not claimed its use by then asks a person. Needs a
   * worker.
   *
   * @throws CountersignError `grant_not_found`, `control_unavailable`.
   */
  revoke(asked: RevokeAsked): Promise<Revoked>;
}

/** Who is away, and who votes in their place meanwhile. */
export interface AwayList {
  /**
   * Says that somebody is away, with their signature where rules want decisions signed; resolves once every worker finds it.
   * Needs a worker.
   *
   * @throws CountersignError `usage`, `away_refused`, `away_full`, `control_unavailable`.
   */
  put(asked: AwayAsked): Promise<Away>;
  /** Ends an out-of-office: votes by it count no more. Needs a worker. @throws CountersignError `away_not_found`, `control_unavailable`. */
  end(asked: BackAsked): Promise<Away>;
  /** Who is away or will be. Needs a worker where anybody is. @throws CountersignError `control_unavailable`. */
  list(): Promise<AwaySeen>;
}
