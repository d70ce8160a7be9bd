import { isObject, type Json } from './json';
import { soundCheck } from './schema/message';
import type { KnownState } from './tool';
import { cutContent, type TranscriptEntry } from './transcript';
import {
  makeFailure,
  makeSuccess,
  type ResultFacts,
  type ResultHead,
  type ToolFailure,
  type ToolResult,
} from './result';
import type { ClosingCause } from './call-texts';
import { type ForkInput, originOf } from './fork';
import { LIMITS } from './limits';
import { childStem, digestText } from './digest';
import { attributeKey, callIdIn, MEMO, ownCallId, TOOL_NAME } from './names';
import type { Usage } from './spending/usage';
import { MODEL_NOTES, type MovedStep, type ResultRef, type SessionRef, type ThinkOutput } from './think';
import { list, number, object, type Of, oneOf, text } from './schema/shape';
import type { TurnRecord, TurnWords } from './session';
import type { FileRef } from './session/files';
import { plainMarkdown } from './text/markdown';
import { RESULT_STATUSES, type ResultStatus } from './turn-states';
import { OPEN_ITEM } from './open-item';
import { type TurnOrigin, type Ancestor, ORIGIN } from './call';
import { type Budget, type Spent, SPENT } from './spending/budget';
import { type CarriedSpending, type Repeated, WHOLE } from './spending/carried';
import type { Verdict, SignalVerdict } from './decision';

/** Input of `agentTurn`. */
export interface TurnInput {
  agent: string;
  prompt: string;
  /** The files that come with the prompt. Absent: none. */
  files?: FileRef[];
  origin?: TurnOrigin;
  /** The state from which the turn goes on, after continue-as-new and in a fork. */
  carried?: CarriedTurn;
  /** The fork's input. Only in a fork, in all its runs. */
  fork?: ForkInput;
  /** The only call of a turn that asks no model, in all its runs. The turn ends with the call. */
  call?: GivenCall;
  /** The calls that led to a child turn, the call of the first turn first. Absent for other turns. */
  lineage?: Ancestor[];
  /** The most that the turn may spend. It applies if the agent allows more. */
  budget?: Budget;
  /**
   * Only for a child turn: its share of the budget that its parent had left. Nobody can raise this share in the child
   * turn.
   */
  cap?: Budget;
  /** The session that the turn belongs to, in all its runs. Absent: the turn belongs to no session. */
  session?: SessionRef;
  /** The budget of the turn's session, and the spending of the session's earlier turns. */
  sessionSpending?: CarriedSpending;
  /**
   * What the session knows about the state that calls share, by `stateKeyOf`. Absent: no call has used shared state.
   */
  sessionStates?: [string, KnownState][];
}

/** The shape of a call with which a turn is started. Its preparation checks the arguments. */
export const GIVEN_CALL = object({ tool: text({ pattern: TOOL_NAME.source }), raw: text() });

/** A call with which a turn is started: the tool, and the arguments as a client wrote them. */
export interface GivenCall extends Of<typeof GIVEN_CALL> {}

/** Memo `call`: who asked for the call with which a turn was started, and the digest of its tool and arguments. */
export interface CallMemo {
  by: string;
  digest: string;
}

/** The memo of a call. Calls with the same memo are of one person, one tool and one text of arguments. */
export function callMemoOf({ tool, raw }: GivenCall, by = ''): CallMemo {
  return { by, digest: digestText(JSON.stringify([tool, raw])) };
}

/** The only step of a turn that was started with its call. A worker of the tool prepares the call. */
export function stepOfGiven(
  { tool, raw }: GivenCall,
  { replyId, taskQueue }: { replyId: string; taskQueue: string },
): ThinkOutput {
  const head = { callId: callIdIn(1, 0), id: ownCallId(1, 0) };
  return {
    replyId,
    text: '',
    calls: [{ kind: 'remote', ...head, tool, raw, taskQueue }],
    schemas: {},
    model: '',
    finishReason: 'tool_calls',
    order: 'lane',
    maxSteps: 1,
  };
}

/** The state that a turn takes along when it continues as new. */
export interface CarriedTurn {
  /** The last finished step. */
  step: number;
  transcript: TranscriptEntry[];
  /** Outputs before this index are dropped. */
  droppedBefore: number;
  /** Results of the last step, for the next `think`. */
  results: ResultRef[];
  /** The most bytes of each of these results in the transcript. Absent: the results are whole. */
  cutTo?: number;
  /** Content digest and verdict of each decision that has been used, by `decisionId`. */
  spent: [string, { digest: string; verdict: Verdict }][];
  counts: TurnCounts;
  usage: Usage;
  /** What the session has to know about the length of the conversation. Absent: nothing. */
  window?: Pick<TurnRecord, 'compactOver' | 'tokens' | 'shortened'>;
  /** The last verdicts on signals, for the memo. */
  signalVerdicts: SignalVerdict[];
  /** What the turn knows about the state that calls share, by `stateKeyOf`. Absent: no call has used shared state. */
  states?: [string, KnownState][];
  /**
   * Words that arrived and were not taken up yet, and the ids of words that were taken up. Absent: no words arrived.
   */
  words?: { waiting: TurnWords[]; took: string[] };
  /** The budget and the spending of the turn. Absent: there is no limit, and nothing was spent. */
  spending?: CarriedSpending;
  /** Child turns that were started. Absent: none. */
  children?: number;
  /** The last steps that were alike. Absent: there are none. */
  repeated?: Repeated;
  /** Only if the turn moved to another build while it waited: the step that it is in. */
  moved?: MovedStep;
}

/** The counts of a turn. */
export const COUNTS = object({
  calls: WHOLE,
  failed: WHOLE,
  requests: WHOLE,
  denied: WHOLE,
  modified: WHOLE,
  expired: WHOLE,
  inDoubt: WHOLE,
});
export interface TurnCounts extends Of<typeof COUNTS> {}

/** The counts of a turn that has done nothing yet. */
export function noCounts(): TurnCounts {
  return { calls: 0, failed: 0, requests: 0, denied: 0, modified: 0, expired: 0, inDoubt: 0 };
}

/**
 * Result of `agentTurn`. A cancelled turn and a turn whose model failed for good have no result: they close as
 * Cancelled and Failed.
 */
export interface TurnResult {
  status: ResultStatus;
  /** The answer. In a turn without an answer, the last text of the model. */
  answer: string;
  /** Why the turn did not answer, in words. Set with `budget` and `loop`. */
  why?: string;
  /** The spending of the turn and its child turns. */
  spent?: Spent;
  /** The answer as a value, if the agent has an `output`. */
  value?: Json;
  steps: number;
  counts: TurnCounts;
  usage: Usage;
  /** Only in a turn that was started with its call: the result of the call. */
  result?: ToolResult;
  /** Only in a turn of a session: the record that the session keeps. */
  conversation?: TurnRecord;
  /** The people besides its requester whose words the turn read. */
  others?: string[];
}

/**
 * Memo `closed`: by cause, the ids of the calls that the workflow has closed by itself since it last wrote the memo. No
 * other event says how these calls ended.
 */
export type ClosedMemo = Partial<Record<ClosingCause, string[]>>;

/** Memo `open`: the calls that wait for a person, in short. */
export const OPEN_MEMO = object(
  {
    /** A call's key is `<key>:<callId>` for all calls of the current step. */
    key: text(),
    /** The number of all calls that wait. `items` has the first 20. */
    count: number(),
    items: list(OPEN_ITEM),
  },
  {
    /** The model that asked for the calls, and what people should know about its reply. Absent: nothing. */
    by: object({ model: text(), notes: list(oneOf(MODEL_NOTES)) }),
  },
);
export interface OpenMemo extends Of<typeof OPEN_MEMO> {}

/**
 * The id of the child turn that a call starts. It is made from the reply that asked for the call, not from a run. After
 * a reset that keeps the reply, it is the id of the turn that was started before. So a call never starts two turns.
 */
export function childTurnId(turn: string, { callId, replyId }: { callId: string; replyId: string }): string {
  return `${childStem(turn)}.${callId}.${replyId.replace(/[^A-Za-z0-9]/g, '').slice(0, KEY_CHARACTERS)}`;
}

const KEY_CHARACTERS = 12;

/** The call that a child turn belongs to, by the id of the child. Undefined if it belongs to another turn. */
export function callOfChild(turn: string, child: string): string | undefined {
  const stem = childStem(turn);
  if (!child.startsWith(`${stem}.`)) return undefined;
  return /^(.+)\.[A-Za-z0-9]{1,12}$/.exec(child.slice(stem.length + 1))?.[1];
}

/** How a child turn ended. `result` is whatever its workflow returned. */
export type ChildEnd =
  | { kind: 'completed'; result: unknown }
  | { kind: 'failed'; message: string }
  | { kind: 'foreign'; message: string }
  | { kind: 'cancelled' | 'terminated' | 'timed_out' };

/** The id of a child turn, and the facts of its call that go into the result. */
interface ChildOf {
  child: string;
  head: ResultHead;
  facts: ResultFacts;
  outputBytes: number;
}

/** The result of a call whose child turn has ended: the child turn's answer, or why there is none. */
export function childResult(end: ChildEnd, { child, head, facts, outputBytes }: ChildOf): ToolResult {
  const answer = answerOf(end);
  const result =
    typeof answer === 'string'
      ? makeSuccess(head, { content: cutContent(answer, outputBytes), contentType: 'text' }, facts)
      : makeFailure(head, { ...answer, message: cutContent(answer.message, outputBytes) }, facts);
  return { ...result, metadata: { ...result.metadata, child } };
}

const STAYS = 'What it had done until then stays done.';

function answerOf(end: ChildEnd): string | ToolFailure {
  switch (end.kind) {
    case 'completed':
      return isTurnResult(end.result) ? answerIn(end.result) : { code: 'unknown', message: UNREADABLE };
    case 'cancelled':
      return { code: 'cancelled', message: `The turn of this sub-agent was cancelled. ${STAYS}` };
    case 'foreign':
      return { code: 'refused', message: end.message };
    case 'failed':
      return { code: 'tool', message: `The sub-agent failed: ${end.message}. ${STAYS}` };
    default:
      return { code: 'tool', message: `The turn of this sub-agent was ${ENDED[end.kind]}. ${STAYS}` };
  }
}

const ENDED = { terminated: 'terminated by an operator', timed_out: 'ended because its time was over' };
const UNREADABLE = 'The sub-agent ended, and what it returned cannot be read.';

function answerIn({ status, answer, why, steps }: EndedTurn): string | ToolFailure {
  if (status === 'answered') return answer;
  const because = why ?? `it has made ${steps} steps, and that is its limit`;
  const last = answer === '' ? '' : `\n\nWhat it said last:\n${answer}`;
  return { code: 'tool', message: `The sub-agent ended without an answer: ${because}. ${STAYS}${last}` };
}

/** What is read of the result of a child turn. */
type EndedTurn = Pick<TurnResult, 'status' | 'answer' | 'why' | 'steps' | 'spent' | 'others'> & {
  usage: object;
};

/** Whether a workflow returned the result of a turn. Only fields that are used are checked. */
export function isTurnResult(value: unknown): value is EndedTurn {
  if (!isObject(value)) return false;
  const { status, answer, steps, why } = value;
  const isKnown = RESULT_STATUSES.some((one) => one === status);
  const isWhy = why === undefined || typeof why === 'string';
  return isKnown && isWhy && typeof answer === 'string' && Number.isSafeInteger(steps) && areUsual(value);
}

function areUsual({ usage, counts, spent, others }: Record<string, unknown>) {
  const isKnown = others === undefined || originIssues({ others }).length === 0;
  return (
    isKnown && isObject(usage) && isObject(counts) && (spent === undefined || spentIssues(spent).length === 0)
  );
}

const spentIssues = /* @__PURE__ */ soundCheck(SPENT);

/** Input of `countersign.child`. */
export interface ChildWaitInput {
  child: string;
}

/** Reads how a child turn ended, from the output of an activity. Undefined if it cannot be read. */
export function readChildEnd(value: unknown): ChildEnd | undefined {
  if (!isObject(value)) return undefined;
  const { kind, message, result } = value;
  if (kind === 'completed') return { kind, result };
  if (kind === 'failed' || kind === 'foreign')
    return typeof message === 'string' ? { kind, message } : undefined;
  return kind === 'cancelled' || kind === 'terminated' || kind === 'timed_out' ? { kind } : undefined;
}

/**
 * The problems of a turn's origin. Empty if the origin fits. Both the starter of a turn and the turn itself check
 * it.
 */
export const originIssues = /* @__PURE__ */ soundCheck(ORIGIN);

/** The data of a turn that lists and Temporal's UI show. Every start of a turn passes this beside the input. */
export function startOf(input: TurnInput, prompt: string) {
  const { agent, origin, fork, lineage, session, call } = input;
  const facts = factsIn(origin?.metadata);
  const who = fork === undefined ? agent : `${agent} (a fork of ${fork.of})`;
  return {
    typedSearchAttributes: [
      { key: attributeKey('state'), value: 'running' },
      { key: attributeKey('pending'), value: 0 },
      { key: attributeKey('agent'), value: agent },
      ...(facts.length === 0 ? [] : [{ key: attributeKey('metadata'), value: facts }]),
    ],
    memo: {
      [MEMO.prompt]: prompt.slice(0, LIMITS.promptCharacters),
      ...(fork === undefined ? {} : { [MEMO.fork]: originOf(fork) }),
      ...(lineage === undefined ? {} : { [MEMO.lineage]: lineage }),
      ...(session === undefined ? {} : { [MEMO.session]: session.sessionId }),
      ...(call === undefined ? {} : { [MEMO.call]: callMemoOf(call, origin?.requester) }),
    },
    staticSummary: plainMarkdown(`${who}: ${prompt.slice(0, 100)}`),
  };
}

/** Facts as visibility keeps them. */
export function factsIn(metadata: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(metadata).map(([name, value]) => `${name}=${value}`);
}
