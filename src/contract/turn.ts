import type { ClosingCause } from './call-messages';
import type { SignalVerdict, Verdict } from './decision';
import type { KnownState, TurnOrigin } from './call';
import { type ForkInput, originOf } from './fork';
import { LIMITS } from './limits';
import { MEMO, SEARCH_ATTRIBUTES } from './names';
import type { ResultRef, SessionRef, Usage } from './think';
import type { TurnRecord, TurnWords } from './session';
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
  /** Only in a turn of a session, in all its runs. */
  session?: SessionRef;
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
  /** Words that came and were not taken up yet, and the ids of those that were. Absent: none came. */
  words?: { waiting: TurnWords[]; took: string[] };
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
  steps: number;
  counts: TurnCounts;
  usage: Usage;
  /** Only in a turn of a session: what the session keeps. */
  conversation?: TurnRecord;
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

/** Search attributes that a turn is started with, as the SDK takes them. */
const KEYS = {
  state: { name: SEARCH_ATTRIBUTES.state, type: 'KEYWORD' },
  pending: { name: SEARCH_ATTRIBUTES.pending, type: 'INT' },
  agent: { name: SEARCH_ATTRIBUTES.agent, type: 'KEYWORD' },
  metadata: { name: SEARCH_ATTRIBUTES.metadata, type: 'KEYWORD_LIST' },
} as const;

/** What a turn is started with beside its input, so that lists show it before it has run. Whoever starts a turn uses this. */
export function startOf(input: TurnInput, prompt: string) {
  const { agent, origin, fork, session } = input;
  const facts = factsIn(origin?.metadata);
  return {
    typedSearchAttributes: [
      { key: KEYS.state, value: 'running' },
      { key: KEYS.pending, value: 0 },
      { key: KEYS.agent, value: agent },
      ...(facts.length === 0 ? [] : [{ key: KEYS.metadata, value: facts }]),
    ],
    memo: {
      [MEMO.prompt]: prompt.slice(0, LIMITS.promptCharacters),
      ...(fork === undefined ? {} : { [MEMO.fork]: originOf(fork) }),
      ...(session === undefined ? {} : { [MEMO.session]: session.sessionId }),
    },
    staticSummary: summaryOf(agent, prompt, fork?.of),
  };
}

const SUMMARY_CHARS = 100;

function summaryOf(agent: string, prompt: string, forkOf: string | undefined): string {
  const who = forkOf === undefined ? agent : `${agent} (a fork of ${forkOf})`;
  return `${who}: ${prompt.slice(0, SUMMARY_CHARS).replace(/\s+/g, ' ')}`;
}

/** Facts as visibility keeps them. */
export function factsIn(metadata: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(metadata).map(([name, value]) => `${name}=${value}`);
}
