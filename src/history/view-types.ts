import type { CallRuling, GrantMark, GrantUse } from '../contract/policy-rule';
import type { FileRef } from '../contract/session/files';
import { idempotencyKey } from '../contract/names';
import { type Budget, noSpending, type Spent } from '../contract/spending/budget';
import type { ForkOrigin } from '../contract/fork';
import type { JsonObject, Json } from '../contract/json';
import type { ToolResult } from '../contract/result';
import type { ModelNote } from '../contract/think';
import type { Usage } from '../contract/spending/usage';
import type { TranscriptEntry } from '../contract/transcript';
import type { TurnEnd, TurnState } from '../contract/turn-states';
import type { TurnOrigin, Ancestor } from '../contract/call';
import type {
  Answered,
  CallNow,
  DecisionMade,
  InDoubtOpened,
  OutcomeReported,
  QuestionOpened,
  RequestOpened,
  Resolved,
  TurnEvent,
} from './events';

/** One call, with everything on record about it. */
export interface CallView extends CallNow {
  callId: string;
  /** The run in which it waits or last waited for a person. A decision names the run. Absent if it never waited. */
  runId?: string;
  step: number;
  tool: string;
  /** The arguments that the model asked for, with defaults. */
  arguments: JsonObject;
  /** The arguments that the model wrote. Set only if defaults changed them. */
  proposed?: JsonObject;
  /** The arguments that a person approved. Absent if nobody approved any. */
  approved?: JsonObject;
  /**
   * The grant by which the call ran, or is to run, without a decision. Once a worker has claimed a use of the grant,
   * this field has the use, too.
   */
  grant?: GrantMark & Partial<GrantUse>;
  /** The arguments that ran or are to run. */
  effective: JsonObject;
  generation: number;
  /** The verdicts of the policy rules when the call was prepared, if a rule fitted. */
  ruling?: CallRuling;
  /** The call's last request. It stays when the call is decided. */
  request?: RequestOpened;
  /**
   * The question that the call asks a person. It stays when it is answered. Absent if the call is not a question.
   */
  question?: QuestionOpened;
  /** The answers to the question, also refused ones, in order. */
  answers: Answered[];
  /** The decisions on the call, also refused ones, in order. */
  decisions: DecisionMade[];
  /**
   * The decision that settles the last request. Absent: the request waits, it ended without a decision, or its decision
   * did not hold.
   */
  settledBy?: DecisionMade;
  /** Nobody decided in time, so more people may decide. */
  isEscalated?: true;
  doubt?: InDoubtOpened;
  /** The resolutions of the call, also refused ones, in order. */
  resolutions: Resolved[];
  /**
   * The resolution that settled the last doubt. Absent: nobody settled a doubt, or the resolution did not hold.
   */
  resolvedBy?: Resolved;
  /** The id of the child turn that the call started. */
  child?: string;
  result?: ToolResult;
  /** A note for the model about what a person changed or said. The result begins with this text. */
  note?: string;
  /** Only in a fork: the result was given, and no call of this turn ran for it. */
  given?: true;
  durationMs?: number;
  attempts?: number;
  startedAt?: string;
  /** Outcomes that came too late to count. */
  late: OutcomeReported[];
}

/** One reply of the model. */
export interface StepView {
  step: number;
  text: string;
  model: string;
  finishReason: string;
  /** What people should know about how the reply came about. */
  notes?: ModelNote[];
  usage?: Usage;
  /** What the model knew before the conversation. Only in the first step. */
  context?: string;
  /** Only in a fork: the fork begins with this step. */
  given?: true;
  callIds: string[];
  /** When the model was asked, and when its reply was recorded. ISO 8601. */
  askedAt: string;
  repliedAt: string;
  /** The number of attempts to ask the model, from 1. */
  attempts: number;
  /** Why the attempt before the last failed, if the server still had the reason. */
  lastFailure?: string;
}

/** The model is being asked, or was asked and gave no reply. */
export interface ThinkingView {
  step: number;
  /** ISO 8601. */
  askedAt: string;
  attempts: number;
  lastFailure?: string;
}

/** Where a turn belongs, as the server says. */
export interface TurnPlace {
  namespace: string;
  workflowId: string;
}

/** A turn as it is after the events so far. */
export interface TurnView {
  turn: string;
  /** The run that the last event belongs to. */
  runId: string;
  agent: string;
  prompt: string;
  /** The files that came with the prompt. Absent if there were none. */
  files?: FileRef[];
  origin?: TurnOrigin;
  /** The calls that led to a child turn, the call of the first turn first. Absent for other turns. */
  lineage?: Ancestor[];
  /** The budget of the turn, with the amounts that people added, if the record has it. Absent: there is no limit. */
  budget?: Budget;
  /** What the turn has spent, with the child turns that have ended. The time is known once the turn has ended. */
  spent?: Spent;
  /** The id of the schedule that started the turn. Absent: no schedule started it. */
  schedule?: string;
  /** The session that the turn belongs to. */
  session?: string;
  taskQueue: string;
  /** What a fork is made from, and the messages from which it goes on. Absent for other turns. */
  fork?: ForkOrigin & { taken: TranscriptEntry[] };
  status: TurnState | TurnEnd;
  startedAt: string;
  endedAt: string | null;
  steps: StepView[];
  /** The step that has no reply (yet). */
  thinking?: ThinkingView;
  /** The calls, in the order in which the model asked for them. */
  calls: CallView[];
  /** Requests that wait for a decision, in order. */
  requests: RequestOpened[];
  /** Questions that wait for an answer, in order. */
  questions: QuestionOpened[];
  /** Calls that wait for a resolution, in order. */
  inDoubt: InDoubtOpened[];
  cancelRequested: boolean;
  abandoned: boolean;
  /** Signals on record that no worker has judged yet. */
  unjudged: number;
  answer?: string;
  /** The answer as a value, if the agent has an `output`. */
  value?: Json;
  error?: { message: string; type?: string };
}

/** A turn about which nothing is known yet. */
export function makeView(): TurnView {
  return {
    turn: '',
    runId: '',
    agent: '',
    prompt: '',
    spent: noSpending(),
    taskQueue: '',
    status: 'running',
    startedAt: '',
    endedAt: null,
    steps: [],
    calls: [],
    requests: [],
    questions: [],
    inDoubt: [],
    cancelRequested: false,
    abandoned: false,
    unjudged: 0,
  };
}

/**
 * The key that the handler of a call got when the call last started. Undefined if the call never started, or the
 * record does not name the key.
 */
export function keyOfStart({ request, doubt, generation, startedAt }: CallView): string | undefined {
  const callKey = doubt?.callKey ?? request?.callKey;
  if (callKey === undefined || startedAt === undefined || doubt?.isKeyless === true) return undefined;
  return idempotencyKey({ callKey, generation });
}

/** The view of a turn after the events so far. It changes with each further event. */
export interface LiveView {
  /** Takes the next event. After a reset, what no longer counts is gone. */
  push(event: TurnEvent): void;
  /** The turn now. The next push changes the same object. */
  current(): TurnView;
}

/** Whether a call waits for a person. */
export function isWaiting(call: CallView): boolean {
  return waitingEvent(call) !== undefined;
}

/** The event since which a call waits for a person. Undefined if it does not wait. */
export function waitingEvent({
  phase,
  request,
  question,
  doubt,
}: CallView): RequestOpened | QuestionOpened | InDoubtOpened | undefined {
  if (phase === 'request') return request;
  if (phase === 'question') return question;
  return phase === 'in_doubt' ? doubt : undefined;
}

/** The state of a turn that has not ended. */
export function statusOf(view: TurnView): TurnView['status'] {
  if (view.inDoubt.length > 0) return 'in_doubt';
  return view.requests.length + view.questions.length > 0 ? 'waiting' : 'running';
}
