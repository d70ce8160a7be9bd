import type { JsonObject } from './json';
import type { Issue } from './tool';

export const DECISIONS = ['approved', 'modified', 'denied'] as const;
export type DecisionKind = (typeof DECISIONS)[number];

/** What a person says to a request; payload of signal `approval` and update `decide`. */
export interface Decision {
  callId: string;
  decision: DecisionKind;
  /** Only with `modified`, and required there: the whole arguments, not a patch. */
  arguments?: JsonObject;
  /** Only with `approved`: ids of the accepted hunks of the plan; none accepted is a denial. */
  hunks?: string[];
  reason?: string;
  /** As claimed. */
  approver?: string;
  /** `cli`, `web`, …; `signal` where nothing is said. */
  channel?: string;
  /** The approver was signed in at the channel. Like the name, the word of whoever may signal. */
  authenticated?: true;
  /** Of the arguments the person saw. */
  argsDigest?: string;
  /** Of the call the person saw. */
  callKey?: string;
  /** Drawn if missing; a repeat with the same content gets the first verdict again. */
  decisionId?: string;
}

export const RESOLUTIONS = ['happened', 'did-not', 'run-again'] as const;
export type ResolutionKind = (typeof RESOLUTIONS)[number];

/** What a person says to a call in doubt; payload of signal `resolution` and update `resolve`. */
export interface Resolution {
  callId: string;
  resolution: ResolutionKind;
  reason?: string;
  /** Only with `happened`: what the call returned, as far as the person knows. */
  content?: string;
  approver?: string;
  channel?: string;
  /** As in a decision. */
  authenticated?: true;
  callKey?: string;
  decisionId?: string;
}

/** Payload of the `abandon` signal: end a cancelled turn although calls are in doubt. */
export interface Abandonment {
  reason?: string;
  approver?: string;
}

/** Why a decision or resolution was refused. Nothing changed then, and the request is as open as it was. */
export const REFUSAL_CODES = [
  'unknown_call',
  'already_decided',
  'stale_args',
  'invalid_arguments',
  'expired',
  'malformed',
  'cancelled',
  'not_in_doubt',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** The answer to a decision or resolution. */
export type Verdict = Accepted | Refused;

export interface Accepted {
  accepted: true;
  decisionId: string;
  callId: string;
  decision: DecisionKind | ResolutionKind;
  approver: string;
  /** Workflow time, ISO 8601. */
  at: string;
  /** Set when an edit of a file proposal needs a new look: the call is a request again, with a new plan. */
  asksAgain?: boolean;
}

export interface Refused {
  accepted: false;
  code: RefusalCode;
  message: string;
  callId: string;
  decisionId?: string;
  /** `invalid_arguments`: what is wrong, and where. */
  issues?: Issue[];
  /** `already_decided`: the decision that stands. */
  standing?: { decision: string; approver: string; at: string };
}

/** One verdict on a signal, as the memo keeps it. */
export interface SignalVerdict {
  callId: string;
  /** `accepted`, or the refusal's code. */
  verdict: 'accepted' | RefusalCode;
  decisionId: string;
  at: string;
}
