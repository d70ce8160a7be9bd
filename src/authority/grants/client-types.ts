import type { ConfirmAsked } from './confirmations';
import type { GrantAsked, GrantSeen, GrantsSeen, GrantTerms, RevokeAsked, Revoked } from './grant';
import type { Narrowing } from './narrowing';
import type { Assurance, Authority } from '../../contract/authority';

/** What a person wants to allow beyond one call. */
export interface GrantOptions {
  /** The person who gives the grant. */
  by: string;
  /** The time for which the grant holds, in milliseconds. @default a day if `times` is given */
  forMs?: number;
  /** The number of calls that the grant allows. @default as many as a grant may allow, 500 */
  times?: number;
  /**
   * Conditions on arguments, by name. They replace the condition that the argument equals the argument of this call.
   */
  narrowing?: Narrowing;
}

/** A grant before it is given. */
export interface GrantPlan {
  terms: GrantTerms;
  /** What the grant allows, in words. */
  sentence: string;
  /** The assurance that the giver of the grant must have. */
  assurance: Assurance;
  /** The authority that is sent with the grant. Set only if other people have to confirm the grant. */
  authority?: Authority;
  /** The people who have to confirm the grant, in words. Absent: nobody has to. */
  held?: string;
}

/** A confirmation of a grant that is ready to be sent, once it is signed if that is needed. */
export interface ConfirmationPlan {
  /** The confirmation without its signature. */
  asked: ConfirmAsked;
  /** What the grant allows, in words. */
  sentence: string;
  /** The assurance that the person who confirms the grant must have. */
  assurance: Assurance;
}

/** Past calls that a grant would have allowed, among the calls that were looked at. */
export interface GrantCoverage {
  /** Calls that the grant would have allowed without asking. */
  covered: number;
  /** The number of covered calls that somebody denied. */
  denied: number;
  /** The number of calls of the tool that were looked at. */
  calls: number;
  /** The number of turns that were read. The newest turns are read first. */
  turns: number;
}

/** Grants of a namespace: calls that may run without being asked about. */
export interface Grants {
  /**
   * The grant that somebody would give on a call that waits, or waited. Nothing is given yet. Once it is given, calls
   * of this tool and agent that fit it run without a decision.
   *
   * @throws CountersignError `refused` if a grant cannot replace decisions on the call, `usage` for conditions
   * that are wrong, and those of `view`.
   */
  plan(turn: string, callId: string, options: GrantOptions): Promise<GrantPlan>;
  /** The number of past calls that a grant would have allowed. Reads at most 50 turns, for about 5 s. */
  coverage(terms: Pick<GrantTerms, 'agent' | 'tool' | 'narrowing'>): Promise<GrantCoverage>;
  /**
   * Gives a grant, with a signature if the rule wants one. Resolves once every worker finds the grant. Needs a
   * worker.
   *
   * @throws CountersignError `usage`, `refused`, `full`, `still_waiting`.
   */
  give(asked: GrantAsked): Promise<GrantSeen>;
  /**
   * Confirms a grant whose rule wants more than one person, with a signature if the rule wants one. The grant allows
   * calls once as many people as the rule needs have given or confirmed it. Needs a worker.
   *
   * @throws CountersignError `usage`, `not_found`, `refused`, `full`, `still_waiting`.
   */
  confirm(asked: ConfirmAsked): Promise<GrantSeen>;
  /** All grants that hold or wait, each with the number of its uses that are claimed. Reads at most 200. */
  list(): Promise<GrantsSeen>;
  /**
   * Takes back a grant, or all grants that are listed. Once this resolves, no call starts by them any more: a call that
   * has not started asks a person. If no worker answers, the revocation is only recorded.
   *
   * @throws CountersignError `not_found`, `no_server`.
   */
  revoke(asked: RevokeAsked): Promise<Revoked>;
}
