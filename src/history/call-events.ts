import type {
  AnswerKind,
  DecisionKind,
  RefusalCode,
  ResolutionKind,
  VotesNeeded,
  VoteSignature,
} from '../contract/decision';
import type { JsonObject } from '../contract/json';
import type { Preview } from '../contract/plan';
import type { Question } from '../contract/question';
import type { ResultKind, ToolResult } from '../contract/result';
import type { Effect, Issue, JsonSchema, Safety } from '../contract/tool';
import type { Authority, DatedVote } from '../contract/authority';
import type { CallRuling, GrantMark, GrantUse } from '../contract/policy-rule';
import type { Roster } from '../contract/roster';
import type { CallProgress } from '../contract/call';
import type { CallState } from '../lifecycle/state';

/** The fields that every turn event has. */
export interface EventHeader {
  /**
   * The id of the history event from which this event was made, in its run. Several turn events can come from one
   * history event.
   */
  eventId: number;
  /** The time when the server recorded the history event, ISO 8601. */
  at: string;
}

/** The phase of a call. A call that nobody has prepared yet, or that nobody can see yet, is `preparing`. */
export type CallPhase = CallState['phase'];

/** Where a call is. */
export interface CallNow {
  phase: CallPhase;
  /** How it ended. Absent if it has not ended, and if its turn ended before. */
  outcome?: ResultKind;
  /** The votes that count, one for each person. Empty if no rule says who decides. */
  votes: DatedVote[];
}

/** The fields that every event of a call has. */
export interface CallHeader extends EventHeader {
  /** Where the call is after the event. Absent: the current step has no such call. */
  now?: CallNow;
  /** Anybody may name any call in a message. Empty if the message could not be read. */
  callId: string;
}

/** One call as a step proposes it, in short. */
export interface ProposedCall {
  callId: string;
  /** Where the call is after its step. */
  now?: CallNow;
  /** The model's own id. */
  id: string;
  tool: string;
  /**
   * `remote`: the worker that has the tool still has to prepare the call; the event call_prepared follows. `recorded`:
   * a fork took over its result.
   */
  kind: 'invalid' | 'run' | 'ask' | 'remote' | 'recorded';
  /** The arguments with defaults; `{}` if they could not be parsed. */
  arguments: JsonObject;
  /** The arguments that the model wrote. Only if defaults changed them. */
  proposed?: JsonObject;
  /** The text that the model wrote as arguments. Only if it is not parsed (yet). */
  raw?: string;
  /** Why an invalid call cannot run. */
  error?: string;
  /** The effect of the tool. Only for a call that may run. */
  effect?: Effect;
  /** The verdicts of the policy rules. Only if a rule fitted. */
  ruling?: CallRuling;
}

/**
 * A call is prepared: a `remote` call, a call that was edited and needed a new plan, or a call that another workflow
 * gates.
 */
export interface CallPrepared extends CallHeader {
  type: 'call_prepared';
  call: ProposedCall;
}

/**
 * A call waits for a decision. From now on, and not before, it can be decided. The event occurs again if an edit or
 * a reset makes somebody look again.
 */
export interface RequestOpened extends CallHeader {
  type: 'request_opened';
  callKey: string;
  tool: string;
  safety: Safety;
  effect: Effect;
  /** The arguments that run when the call is approved. */
  arguments: JsonObject;
  /** The digest of everything that is shown: arguments, preview and plan. A decision carries it. */
  seenDigest: string;
  /** The digest of the tool's name, description, schema, safety and effect. */
  toolDigest: string;
  /** Why the same request comes once more: the last edit was not taken, or the decision did not hold. */
  note?: string;
  /**
   * The arguments that the model asked for. Set only if other arguments run, because defaults were filled in or a
   * person changed them.
   */
  proposed?: JsonObject;
  /** The person who changed the arguments last, and the reason. Absent if no person changed them. */
  edit?: { approver: string; reason?: string };
  preview?: Preview;
  /** Why the policy wants a decision, if it gave a reason. */
  policyReason?: string;
  /** What to know about the arguments: what was read otherwise than it was written, and what nobody here checks. */
  notes?: string[];
  /** Set if the tool wants its requests decided one by one. */
  noBatch?: boolean;
  /**
   * `none`: no grant replaces a decision. `equal`: only a grant for the same arguments does. Absent: any grant does.
   */
  grants?: 'none' | 'equal';
  /** The MCP server that has the tool. Absent: the tool is not from an MCP server. */
  server?: string;
  /** The schema that changed arguments have to fit. Absent if the record has no schema. */
  schema?: JsonSchema;
  /** The time after which the handler is ended, in milliseconds. Absent if the record does not have it. */
  timeoutMs?: number;
  /** A user's own workflow asks, and itself runs the call. How often it runs the call is not known here. */
  unowned?: true;
  /** A gate in a user's own workflow runs the call. The activity is the user's, and has no journal. */
  byGate?: true;
  /** The authority that decides the call. Absent: everybody who may signal the turn can decide. */
  authority?: Authority;
  /** Since when the request waits, ISO 8601. Set only if asking again failed: then it waits as before. Absent: `at`. */
  since?: string;
  /** ISO 8601, workflow time. Null if the request never expires. */
  deadline: string | null;
  /** One line with the tool and the arguments. */
  summary: string;
}

/** Nobody decided in time, so more people may decide now. */
export interface RequestEscalated extends CallHeader {
  type: 'request_escalated';
  /** The people and the groups (`group:<name>`) who may decide now, too. */
  to: string[];
}

/**
 * The decision on a call does not hold in this run or under the rules, so the handler was not called. The event
 * request_opened follows.
 */
export interface DecisionVoid extends CallHeader {
  type: 'decision_void';
  tool: string;
  message: string;
  /** The people whose votes do not count. Other votes still count. Absent: no vote counts. */
  struck?: string[];
}

/** A call is a question and waits for an answer. From now on, and not before, it can be answered. */
export interface QuestionOpened extends CallHeader {
  type: 'question_opened';
  callKey: string;
  tool: string;
  question: Question;
  /** ISO 8601, workflow time. Null if the question never expires. */
  deadline: string | null;
  /** One line with the tool and the question. */
  summary: string;
}

/** Nobody decided or answered in time. Nothing ran. */
export interface RequestExpired extends CallHeader {
  type: 'request_expired';
  /** The call was a question. */
  question?: true;
}

/**
 * A call's activity is scheduled, and runs once a worker takes it. The event occurs again with a higher generation
 * after `run-again`.
 */
export interface CallStarted extends CallHeader {
  type: 'call_started';
  tool: string;
  /** 0 at first. Each `run-again` adds one. */
  generation: number;
  arguments: JsonObject;
  effect: Effect;
  taskQueue: string;
  /** The grant that lets the call start without a decision. Its worker claims a use of the grant before the handler. */
  grant?: GrantMark;
  /** The decision by which the call starts. Absent for calls that need no decision. */
  decision?: { decision: DecisionKind | 'run-again'; approver: string; reason?: string };
}

/**
 * No worker that has what the call needs has taken the call yet. There is one such event, however often the call is
 * tried.
 */
export interface CallWaits extends CallHeader {
  type: 'call_waits';
  tool: string;
  /** What the worker that took the call lacks, or why the call goes to another worker. */
  message: string;
}

/**
 * A pause holds the call. It did not start, and is tried again. The next event is call_resumed, or the end of the call
 * with its turn.
 */
export interface CallHeld extends CallHeader {
  type: 'call_held';
  tool: string;
  /** Who paused what, when and why, or why the pauses cannot be read. */
  message: string;
}

/** No pause holds the call any more, so it is about to start. */
export interface CallResumed extends CallHeader {
  type: 'call_resumed';
  tool: string;
}

/** The child turn of a call runs. The event occurs again after a reset, although the child turn existed before. */
export interface ChildStarted extends CallHeader {
  type: 'child_started';
  tool: string;
  /** The id of the child turn. */
  child: string;
}

/** A call has its result. This is the last event of a call, unless an outcome_reported comes late. */
export interface CallEnded extends CallHeader {
  type: 'call_ended';
  tool: string;
  result: ToolResult;
  /** The time from scheduling to closing, in milliseconds. Null if nothing was scheduled. */
  durationMs: number | null;
  /** 0 if nothing was started. */
  attempts: number;
  /**
   * Where the result comes from. `handler`: the call itself reported it. `failure`: it is derived from the failure of
   * the activity. `turn`: the turn made it (denied, expired, resolved, …), and the model reads it in this form.
   * `record`: a fork began with it, so it happened in the turn that was forked, or was given as a what-if.
   */
  origin: 'handler' | 'failure' | 'turn' | 'record';
  /** The use of a grant by which the call ran. */
  grant?: GrantUse;
  /** The roster by which the worker accepted the signatures that let the call run. Absent: there were no signatures. */
  roster?: Roster;
  /**
   * A note for the model about what a person changed or said. The result begins with this text. Absent: a person
   * changed and said nothing.
   */
  note?: string;
}

/** A call was started and nobody knows its outcome. The next event is verifying or in_doubt. */
export interface CallLost extends CallHeader {
  type: 'call_lost';
  tool: string;
  message: string;
  /** The output that is known so far. */
  partial?: string;
  /** The last progress that the call reported. */
  progress?: CallProgress;
  /** The grant by which the call ran, and its use if that is known. */
  grant?: GrantMark & Partial<GrantUse>;
  /** See `CallEnded`. */
  roster?: Roster;
}

/** The tool's own check is asked whether a lost call took effect. */
export interface Verifying extends CallHeader {
  type: 'verifying';
}

/** The verdict of the tool's check. After `cannot_tell`, in_doubt follows. */
export interface Verified extends CallHeader {
  type: 'verified';
  outcome: 'happened' | 'did_not' | 'cannot_tell';
  message?: string;
}

/** A lost call waits for a person to resolve it. */
export interface InDoubtOpened extends CallHeader {
  type: 'in_doubt';
  callKey: string;
  tool: string;
  message: string;
  partial?: string;
  /** The last progress that the call reported. */
  progress?: CallProgress;
  summary: string;
  /** The code that ran was not given the key of the call, as the activity of a user behind the plugin. */
  isKeyless?: true;
}

/**
 * A signal with a decision, a resolution or an answer is on record and waits for a worker. Once it is judged, the event
 * `decision`, `resolved` or `answered` follows.
 */
export interface SignalRecorded extends EventHeader {
  type: 'signal_recorded';
  signal: 'approval' | 'resolution' | 'answer';
  /** Absent if the payload could not be read. */
  callId?: string;
  approver?: string;
  identity: string;
}

/** How a message arrived. */
export type Delivery = 'update' | 'signal';

/** The verdict on a decision or resolution. */
export type Judgement =
  | { accepted: true }
  | { accepted: false; code: RefusalCode; message?: string; issues?: Issue[] }
  /**
   * The message was judged, but its verdict is no longer in the record, because more than 20 signals arrived together.
   */
  | { accepted: 'unknown' };

/**
 * The reset that applied a message again. The message first arrived in the part of the run that the reset took back.
 */
export interface Reapplied extends EventHeader {
  /** The reason that the operator gave. Temporal's own command line puts the name of the operator before it. */
  reason: string;
}

/** The sender of a decision, a resolution or an answer, as claimed, and how the message arrived. */
export interface Attribution {
  /** The name that was claimed, or `somebody` if no name was claimed. */
  approver: string;
  reason?: string;
  channel: string;
  /** The channel says that the approver was signed in there. */
  authenticated?: true;
  /** The signature that came with the message. The worker decides whether it counts, right before the handler. */
  signature?: VoteSignature;
  door: Delivery;
  /** Temporal's identity of the caller. */
  identity: string;
  decisionId?: string;
  /** Only if a reset applied the message again. */
  reapplied?: Reapplied;
}

/** A decision was judged. An update that is refused leaves nothing in history, so it has no event. */
export interface DecisionMade extends CallHeader, Attribution {
  type: 'decision';
  /** Absent if the payload could not be read. */
  decision?: DecisionKind;
  /** Only with `modified`: the new arguments. */
  arguments?: JsonObject;
  /** Only with `approved`: ids of the accepted hunks. Absent: all hunks. */
  hunks?: string[];
  /** The digest of the request that the person saw, as the client says. Absent if the client does not say it. */
  seenDigest?: string;
  /** Only with `denied`: what the model should do instead. */
  suggestion?: string;
  /**
   * The decision allows something and does not carry the digest of what was seen. It was taken as a decision on the
   * request as it was then.
   */
  unbound?: true;
  /** Somebody has to look at the edited call again: call_prepared and request_opened follow. */
  asksAgain?: true;
  /** The decision counts as a vote, and the call still waits for more votes. */
  stillWaits?: true;
  /** Only if it came by update: the votes that were still needed then. */
  needs?: VotesNeeded;
  judgement: Judgement;
}

/**
 * A resolution was judged. If it is accepted, call_started follows after `run-again`, and call_ended after any other
 * resolution.
 */
export interface Resolved extends CallHeader, Attribution {
  type: 'resolved';
  resolution?: ResolutionKind;
  /** Only with `happened`: the result of the call, if the person knows it. */
  content?: string;
  /** The resolution counts as a vote, and the call still waits for more votes. */
  stillWaits?: true;
  /** Only if it came by update: the votes that were still needed then. */
  needs?: VotesNeeded;
  judgement: Judgement;
}

/** An answer to a question was judged. If it is accepted, call_ended follows with the text that the model reads. */
export interface Answered extends CallHeader, Attribution {
  type: 'answered';
  answer?: AnswerKind;
  /**
   * Only with `answered`: the values that were filled in. Once the answer is accepted, this includes the defaults of
   * the fields that were left out.
   */
  content?: JsonObject;
  judgement: Judgement;
}

/** A call reported its outcome late, after it had been given up. */
export interface OutcomeReported extends CallHeader {
  type: 'outcome_reported';
  generation: number;
  result: ToolResult;
  /**
   * Whether the call was still in doubt when the outcome arrived. If it was not, the outcome is only shown beside the
   * person's resolution.
   */
  settles: boolean;
}
