import type { ClosingCause } from './call-messages';
import type { SignalVerdict, Verdict } from './decision';
import type { KnownState, TurnOrigin } from './call';
import type { ForkInput } from './fork';
import type { Json } from './json';
import type { ResultRef, Usage } from './think';
import type { TranscriptEntry } from './transcript';

/** Input of `agentTurn`. */
export interface TurnInput {
  agent: string;
  prompt: string;
  origin?: TurnOrigin;
  /** By continue-as-new, and in a fork: what the turn goes on from. */
  carried?: CarriedTurn;
  /** Only in a fork, in all its runs. */
  fork?: ForkInput;
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
  status: 'answered' | 'step_limit';
  answer: string;
  /** The answer as a value, where the agent has an `output`. */
  value?: Json;
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
