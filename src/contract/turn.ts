import type { ClosingCause } from './call-messages';
import type { SignalVerdict, Verdict } from './decision';
import type { KnownState, TurnOrigin, Ancestor } from './call';
import type { ForkInput } from './fork';
import type { ResultRef, Usage } from './think';
import type { TranscriptEntry } from './transcript';
import type { Budget, Spent } from './budget';

/** Input of `agentTurn`. */
export interface TurnInput {
  agent: string;
  prompt: string;
  origin?: TurnOrigin;
  /** By continue-as-new, and in a fork: what the turn goes on from. */
  carried?: CarriedTurn;
  /** Only in a fork, in all its runs. */
  fork?: ForkInput;
  /** Only of a child turn: the calls that led to it, that of the first turn first. */
  lineage?: Ancestor[];
  /** What it may spend at most, if its agent allows more. */
  budget?: Budget;
  /** Only of a child turn: what is left for it of its parent's budget. Nobody can raise that here. */
  cap?: Budget;
}

/** What a turn takes along when it continues as new. */
export interface CarriedTurn {
  /** The last finished step. */
  step: number;
  transcript: TranscriptEntry[];
  /** Index before which outputs are dropped. */
  droppedBefore: number;
  /** Results of the last step, for the next `think`. */
  results: ResultRef[];
  /** The most bytes of each of them in the transcript; absent: they are whole. */
  cutTo?: number;
  /** Content digest and verdict by decisionId; spent for good. */
  spent: [string, { digest: string; verdict: Verdict }][];
  counts: TurnCounts;
  usage: Usage;
  /** The last verdicts on signals, for the memo. */
  signalVerdicts: SignalVerdict[];
  /** What is known of the state that calls share, by `stateKeyOf`. Absent: none used any. */
  states?: [string, KnownState][];
  /** Absent: nothing of it is limited, and nothing was spent. */
  spending?: CarriedSpending;
  /** Child turns that were started. Absent: none. */
  children?: number;
  /** The last steps that were alike. Absent: none were. */
  repeated?: Repeated;
}

/** What a turn may spend and has spent. */
export interface CarriedSpending {
  /** The budget as it is by now, where people raised it. */
  budget: Budget;
  /** The agent has said what it allows. */
  isSet: boolean;
  spent: Spent;
}

/** Steps in a row that asked for the same calls and got the same results. */
export interface Repeated {
  /** Digest of the calls of the last step. */
  calls: string;
  /** Digest of its results. */
  results: string;
  /** How many in a row. */
  times: number;
  /** How many in a row did not run for that. */
  refused: number;
}

/** What happened in a turn, in numbers. */
export interface TurnCounts {
  calls: number;
  failed: number;
  requests: number;
  denied: number;
  modified: number;
  expired: number;
  inDoubt: number;
}

/** Result of `agentTurn`. A cancelled turn and one whose model failed for good have none: they close as Cancelled and Failed. */
export interface TurnResult {
  status: 'answered' | 'step_limit' | 'budget' | 'loop';
  /** Of a turn that did not answer: what the model said last. */
  answer: string;
  /** Why it did not answer, in words; with `budget` and `loop`. */
  why?: string;
  /** Its child turns included. */
  spent?: Spent;
  steps: number;
  counts: TurnCounts;
  usage: Usage;
}

/** CountersignState. `waiting`: at least one request; `in_doubt`: at least one call in doubt (it wins over waiting). */
export const TURN_STATES = [
  'running',
  'waiting',
  'in_doubt',
  'answered',
  'step_limit',
  'budget',
  'loop',
  'failed',
  'cancelled',
] as const;
export type TurnState = (typeof TURN_STATES)[number];

/**
 * Memo `closed`: ids of the calls that the workflow has closed by itself since it wrote the memo before, by cause. Of these no
 * other event says how they ended.
 */
export type ClosedMemo = Partial<Record<ClosingCause, string[]>>;

/** Memo `open`: what waits for a person, in short. */
export interface OpenMemo {
  /** A call's key is `<key>:<callId>` for all calls of the current step. */
  key: string;
  /** How many wait in all; `items` names the first 20. */
  count: number;
  items: OpenItem[];
}

export interface OpenItem {
  callId: string;
  kind: 'request' | 'in_doubt';
  tool: string;
  summary: string;
  /** Of a request: what an approver sees; a decision names it. */
  seenDigest?: string;
  /** Why the edit before was not taken, in short; only where one was made. */
  note?: string;
  /** ISO 8601, workflow time. */
  since: string;
  /** ISO 8601; null where it never expires. */
  deadline: string | null;
}
