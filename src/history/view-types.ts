import type { CallRuling } from '../contract/authority/policy';
import type { FileRef } from '../contract/session/files';
import type { CastVote } from '../contract/authority/votes';
import { isDenial } from '../contract/decision';
import { idempotencyKey } from '../contract/names';
import { type Budget, noSpending, type Spent } from '../contract/spending/budget';
import type { ForkOrigin } from '../contract/fork';
import type { JsonObject } from '../contract/json';
import type { ToolResult } from '../contract/result';
import type { Json } from '../contract/json';
import type { Usage } from '../contract/spending/usage';
import type { TranscriptEntry } from '../contract/transcript';
import type { TurnState } from '../contract/turn';
import type { TurnOrigin, Ancestor, GrantMark, GrantUse } from '../contract/call';
import type {
  Answered,
  DecisionMade,
  InDoubtOpened,
  OutcomeReported,
  QuestionOpened,
  RequestOpened,
  Resolved,
} from './call-events';
import type { ProposedCall, TurnEvent, TurnEnd } from './events';
import { defined } from '../contract/defined';

/**
 * Where a call is. `proposed`: no request yet and not started; `approved`: decided, waits for its place;
 * `replanning`: it becomes a request once more (edited, a new plan is being made; or its decision did not hold); `lost`: its outcome is unknown and being looked into;
 * `asked`: a question that waits for an answer; `answered`, `declined`: how a person ended it;
 * `closed`: the turn ended before it had a result.
 */
export type CallPhase =
  | 'proposed'
  | 'requested'
  | 'asked'
  | 'answered'
  | 'declined'
  | 'replanning'
  | 'approved'
  | 'denied'
  | 'expired'
  | 'running'
  | 'lost'
  | 'in_doubt'
  | 'done'
  | 'closed';

/** One call, with everything on record about it. */
export interface CallView {
  callId: string;
  /** The run in which it waits for a person. Absent where it does not wait. A decision names the run. */
  runId?: string;
  step: number;
  tool: string;
  phase: CallPhase;
  /** What the model asked for, with defaults. */
  arguments: JsonObject;
  /** What the model wrote, where defaults changed it. */
  proposed?: JsonObject;
  /** What a person approved. Absent where nobody did. */
  approved?: JsonObject;
  /** The grant by which it ran, or is to run, without a decision. Has the use once its worker has claimed one. */
  grant?: GrantMark & Partial<GrantUse>;
  /** What ran or is to run. */
  effective: JsonObject;
  generation: number;
  /** What the policy rules said when it was prepared, where one fitted. */
  ruling?: CallRuling;
  /** Its last request; stays when the call is decided. */
  request?: RequestOpened;
  /** What it asks a person; stays when it is answered. Absent where the call is not a question. */
  question?: QuestionOpened;
  /** Answers to it, refused ones too, in order. */
  answers: Answered[];
  /** Decisions on it, refused ones too, in order. */
  decisions: DecisionMade[];
  /** The votes that count, one for each person. Empty where no rule says who decides. */
  votes: CastVote[];
  /** Nobody decided in time, so more people may. */
  isEscalated?: true;
  doubt?: InDoubtOpened;
  resolutions: Resolved[];
  /** The id of the child turn that the call is. */
  child?: string;
  result?: ToolResult;
  /** What a person changed or said, for the model. The result begins with this text. */
  note?: string;
  /** Only in a fork: the result was given, nothing of this turn ran. */
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
  usage?: Usage;
  /** What the model knew before the conversation; only of the first step. */
  context?: string;
  /** Only in a fork: it begins with this step. */
  given?: true;
  callIds: string[];
  /** When the model was asked, and when its reply was recorded; ISO 8601. */
  askedAt: string;
  repliedAt: string;
  /** How often the model was asked; counts from 1. */
  attempts: number;
  /** Why the attempt before the last failed, where the server still knew. */
  lastFailure?: string;
}

/** The model is being asked, or was asked in vain. */
export interface ThinkingView {
  step: number;
  /** ISO 8601. */
  askedAt: string;
  attempts: number;
  lastFailure?: string;
}

/** Where a turn is, as the server says. */
export interface TurnPlace {
  namespace: string;
  workflowId: string;
  firstExecutionRunId: string;
}

/** A turn as it is after the events so far. */
export interface TurnView {
  turn: string;
  /** The run that the last event belongs to. */
  runId: string;
  /** The first run of the turn, as the server names it: a signed decision names it. */
  firstRunId: string;
  agent: string;
  prompt: string;
  /** The files that came with the prompt. Absent where there were none. */
  files?: FileRef[];
  origin?: TurnOrigin;
  /** The calls that led to a child turn, the call of the first turn first. Absent for other turns. */
  lineage?: Ancestor[];
  /** What it may spend, as far as the record says, with what people added to it. Absent: no limit. */
  budget?: Budget;
  /** What it has spent, with its child turns as far as they have ended. The time is known once the turn has ended. */
  spent?: Spent;
  /** Id of the schedule that started it. Absent where somebody did. */
  schedule?: string;
  /** The session that the turn belongs to. */
  session?: string;
  taskQueue: string;
  /** Where a fork comes from, and the messages that it goes on from. Absent for other turns. */
  fork?: ForkOrigin & { taken: TranscriptEntry[] };
  status: TurnState | TurnEnd;
  startedAt: string;
  endedAt: string | null;
  steps: StepView[];
  /** The step whose reply is not there (yet). */
  thinking?: ThinkingView;
  /** In order of proposal. */
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
  /** The answer as a value, where the agent has an `output`. */
  value?: Json;
  error?: { message: string; type?: string };
}

/** A turn of which nothing is known yet. */
export function makeView(): TurnView {
  return {
    turn: '',
    runId: '',
    firstRunId: '',
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

/** What let a call run last: the decision, or the resolution that ran it again. Undefined where it needed none. */
export function allowedBy({ decisions, resolutions }: CallView): DecisionMade | Resolved | undefined {
  const accepted = ({ judgement }: DecisionMade | Resolved): boolean => judgement.accepted === true;
  return (
    resolutions.findLast((one) => accepted(one) && one.resolution === 'run-again') ??
    decisions.findLast((one) => accepted(one) && !isDenial(one))
  );
}

/** The key that the handler of a call got with its last start. Undefined where it never started, or the record does not name it. */
export function keyOfStart({ request, doubt, generation, startedAt }: CallView): string | undefined {
  const callKey = doubt?.callKey ?? request?.callKey;
  if (callKey === undefined || startedAt === undefined) return undefined;
  return idempotencyKey({ callKey, generation });
}

/** A turn as it is after the events so far; grows with them. */
export interface LiveView {
  /** Takes one more event. After a reset, what no longer counts is gone. */
  push(event: TurnEvent): void;
  /** The turn now. The same object is changed by the next push. */
  current(): TurnView;
}

/** Finds what waits for a person in a turn, and notes it there. */
export function findOpen(view: TurnView): void {
  for (const call of view.calls) {
    if (isOpen(call)) call.runId = view.runId;
    else delete call.runId;
  }
  view.requests = view.calls.flatMap(({ phase, request }) =>
    phase === 'requested' && request ? [request] : [],
  );
  view.questions = view.calls.flatMap(({ phase, question }) =>
    phase === 'asked' && question ? [question] : [],
  );
  view.inDoubt = view.calls.flatMap(({ phase, doubt }) => (phase === 'in_doubt' && doubt ? [doubt] : []));
}

/** Whether a call waits for a person. */
export function isOpen({ phase }: CallView): boolean {
  return phase === 'requested' || phase === 'asked' || phase === 'in_doubt';
}

/** The state of a turn that has not ended. */
export function statusOf(view: TurnView): TurnView['status'] {
  if (view.inDoubt.length > 0) return 'in_doubt';
  return view.requests.length + view.questions.length > 0 ? 'waiting' : 'running';
}

/** A call of which nothing but its proposal is known. */
export function callView(call: ProposedCall, step: number): CallView {
  const { callId, tool, arguments: args, proposed, ruling } = call;
  const lists = { answers: [], decisions: [], votes: [], resolutions: [], late: [] };
  const made = { callId, step, tool, arguments: args, effective: args, generation: 0, ...lists };
  return { ...made, phase: 'proposed', ...defined({ proposed, ruling }) };
}

/** The grant that an event names for its call. */
export function grantOf({ grant }: Pick<CallView, 'grant'>): Pick<CallView, 'grant'> {
  return grant === undefined ? {} : { grant };
}
