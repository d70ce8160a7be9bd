import type { DecisionKind, RefusalCode, ResolutionKind } from '../../contract/decision';
import type { JsonObject } from '../../contract/json';
import type { ToolResult } from '../../contract/result';
import type { Issue } from '../../contract/tool';
import type { EventHead } from './head';

/** A signal with a decision or resolution is on record and waits for a worker. The `decision` or `resolved` event follows once it is judged. */
export interface SignalRecorded extends EventHead {
  type: 'signal_recorded';
  signal: 'approval' | 'resolution';
  /** Absent where the payload could not be read. */
  callId?: string;
  approver?: string;
  identity: string;
}

/** By which door a message came. */
export type Door = 'update' | 'signal';

/** What became of a decision or resolution. */
export type Judgement =
  | { accepted: true }
  | { accepted: false; code: RefusalCode; message?: string; issues?: Issue[] }
  /** Judged, but its verdict is no longer in the record: more than 20 signals came at once. */
  | { accepted: 'unknown' };

/** Who said something, as claimed, and by which way. */
export interface Said {
  /** As claimed; `somebody` where nothing was. */
  approver: string;
  reason?: string;
  channel: string;
  /** The channel says that the approver was signed in there. */
  authenticated?: true;
  door: Door;
  /** Temporal's own identity of the caller. */
  identity: string;
  decisionId?: string;
}

/** A decision was judged. Refusals at the update door leave no trace in history, so they are not among these. */
export interface DecisionMade extends EventHead, Said {
  type: 'decision';
  /** Empty where the payload could not be read. */
  callId: string;
  /** Absent where the payload could not be read. */
  decision?: DecisionKind;
  /** With `modified`: the new arguments. */
  arguments?: JsonObject;
  /** With `approved`: ids of the accepted hunks; absent means all. */
  hunks?: string[];
  /** Of the arguments that the person saw, as their client says; absent where it says nothing. */
  argsDigest?: string;
  /** The edit needs a new look: call_prepared and request_opened follow. */
  asksAgain?: boolean;
  judgement: Judgement;
}

/** A resolution was judged. If accepted: call_started follows `run-again`, call_ended the others. */
export interface Resolved extends EventHead, Said {
  type: 'resolved';
  /** Empty where the payload could not be read. */
  callId: string;
  resolution?: ResolutionKind;
  /** With `happened`: what the call returned, as far as the person knows. */
  content?: string;
  judgement: Judgement;
}

/** A call that had been given up reported its outcome after all. */
export interface OutcomeReported extends EventHead {
  type: 'outcome_reported';
  callId: string;
  generation: number;
  result: ToolResult;
  /** Whether the call was still in doubt when it came; otherwise it is only shown beside what a person said. */
  settles: boolean;
}
