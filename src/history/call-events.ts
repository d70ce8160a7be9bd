import type { InPlaceOf } from '../contract/authority/votes';
import type { Authority } from '../contract/authority/authority';
import type { CallRuling } from '../contract/authority/policy';
import type { Roster } from '../contract/authority/roster';
import type { SealedValues } from '../contract/secret/sealed';
import type { CallProgress, GrantMark, GrantUse } from '../contract/call';
import type {
  AnswerKind,
  DecisionKind,
  RefusalCode,
  ResolutionKind,
  VoteSignature,
} from '../contract/decision';
import type { JsonObject } from '../contract/json';
import type { Preview } from '../contract/plan';
import type { Question } from '../contract/question';
import type { ToolResult } from '../contract/result';
import type { Effect, Issue, JsonSchema, Safety } from '../contract/tool';

/** The fields that every turn event has. */
export interface EventHeader {
  /** The history event from which it was made, in its run. Several turn events can come from one history event. */
  eventId: number;
  /** The time when the server recorded the history event, ISO 8601. */
  at: string;
}

/** One call as a step proposes it, in short. */
export interface ProposedCall {
  callId: string;
  /** The model's own id. */
  id: string;
  tool: string;
  /**
   * `remote`: its own worker still has to prepare it. The event call_prepared follows. `recorded`: a fork took its
   * result over.
   */
  kind: 'invalid' | 'run' | 'ask' | 'remote' | 'recorded';
  /** The arguments with defaults; `{}` where they could not be parsed. */
  arguments: JsonObject;
  /** The arguments that the model wrote. Only where defaults changed them. */
  proposed?: JsonObject;
  /** The text that the model wrote. Only where it is not parsed (yet). */
  raw?: string;
  /** Why an invalid call cannot run. */
  error?: string;
  /** The effect of the tool. Only for a call that may run. */
  effect?: Effect;
  /** The verdicts of the policy rules. Only where a rule fitted. */
  ruling?: CallRuling;
}

/**
 * A call is prepared. It is a `remote` call, a call that was edited and needed a new plan, or a call that another
 * workflow gates.
 */
export interface CallPrepared extends EventHeader {
  type: 'call_prepared';
  call: ProposedCall;
}

/**
 * A call waits for a decision. A decision can be taken from here on, not before. Comes again when an edit, or a reset,
 * needs a new look.
 */
export interface RequestOpened extends EventHeader {
  type: 'request_opened';
  callId: string;
  callKey: string;
  tool: string;
  safety: Safety;
  effect: Effect;
  /** The arguments that run when the call is approved. */
  arguments: JsonObject;
  /** The digest of all that is shown: arguments, preview and plan. A decision names it. */
  seenDigest: string;
  /** The digest of the tool's name, description, schema, safety and effect. */
  toolDigest: string;
  /** Why the same request comes once more: the edit before was not taken, or the decision did not hold. */
  note?: string;
  /**
   * The arguments that the model asked for. Only where others run, because defaults were filled in or a person changed
   * them.
   */
  proposed?: JsonObject;
  /** Who changed the arguments last, and why. Absent where no person did. */
  edit?: { approver: string; reason?: string };
  preview?: Preview;
  /** Why policy wants a decision, where it said. */
  policyReason?: string;
  /** Set where the tool wants each of its requests decided on its own. */
  noBatch?: boolean;
  /** `none`: no grant takes the place of a decision. `equal`: only one for the same arguments. Absent: any does. */
  grants?: 'none' | 'equal';
  /** The MCP server that has the tool. Absent: it is our own. */
  server?: string;
  /** The schema that changed arguments have to fit. Absent where the record has none. */
  schema?: JsonSchema;
  /** Milliseconds after which the handler is ended. Absent where the record has none. */
  timeoutMs?: number;
  /** A user's own workflow asks, and runs the call itself. How often it runs the call is not known here. Absent: no. */
  unowned?: true;
  /** A gate in a user's own workflow runs the call. The activity is the user's, and has no journal. Absent: no. */
  byGate?: true;
  /** Who decides. Absent: everybody who may signal the turn. */
  authority?: Authority;
  /** ISO 8601, workflow time. Null where it never expires. */
  deadline: string | null;
  /** One line: tool and arguments. */
  summary: string;
}

/** Nobody decided in time, so more people may decide now. */
export interface RequestEscalated extends EventHeader {
  type: 'request_escalated';
  callId: string;
  /** People and `group:<name>`. */
  to: string[];
}

/**
 * The decision on a call does not hold in this run or under the rules, so its handler was not called. The event
 * request_opened follows.
 */
export interface DecisionVoid extends EventHeader {
  type: 'decision_void';
  callId: string;
  tool: string;
  message: string;
  /** The people whose votes do not count; other votes still count. Absent: no vote counts. */
  struck?: string[];
}

/** A call is a question and waits for an answer. An answer can be taken from here on, not before. */
export interface QuestionOpened extends EventHeader {
  type: 'question_opened';
  callId: string;
  callKey: string;
  tool: string;
  question: Question;
  /** ISO 8601, workflow time. Null where it never expires. */
  deadline: string | null;
  /** One line: tool and question. */
  summary: string;
}

/** Nobody decided or answered in time. Nothing ran. */
export interface RequestExpired extends EventHeader {
  type: 'request_expired';
  callId: string;
  /** It was a question. Absent: no. */
  question?: true;
}

/** A call's activity is scheduled: it runs once a worker takes it. Comes again with a higher generation after `run-again`. */
export interface CallStarted extends EventHeader {
  type: 'call_started';
  callId: string;
  tool: string;
  /** 0, and one more with each `run-again`. */
  generation: number;
  arguments: JsonObject;
  effect: Effect;
  taskQueue: string;
  /** The grant by which the call starts without a decision. Its worker claims a use of it before the handler. */
  grant?: GrantMark;
  /** The decision that it spends. Absent for calls that need none. */
  decision?: { decision: DecisionKind | 'run-again'; approver: string; reason?: string };
}

/** No worker that has what the call needs took the call yet. There is one event, however often the call is tried. */
export interface CallWaits extends EventHeader {
  type: 'call_waits';
  callId: string;
  tool: string;
  /** The part that is missing on the worker that took the call, or the reason why the call goes to another worker. */
  message: string;
}

/** A pause holds the call: it did not start, and is tried again. Next: call_resumed, or it ends with its turn. */
export interface CallHeld extends EventHeader {
  type: 'call_held';
  callId: string;
  tool: string;
  /** Who paused what, when and why. Where the pauses cannot be read, the reason. */
  message: string;
}

/** No pause holds the call any more. It is about to start. */
export interface CallResumed extends EventHeader {
  type: 'call_resumed';
  callId: string;
  tool: string;
}

/** The child turn of a call runs. Comes again after a reset, where the child turn was there already. */
export interface ChildStarted extends EventHeader {
  type: 'child_started';
  callId: string;
  tool: string;
  /** The id of the child turn. */
  child: string;
}

/** A call has its result. The last event of a call, but for a late outcome_reported. */
export interface CallEnded extends EventHeader {
  type: 'call_ended';
  callId: string;
  tool: string;
  result: ToolResult;
  /** From scheduled to closed. Null where nothing was scheduled. */
  durationMs: number | null;
  /** 0 where nothing was started. */
  attempts: number;
  /**
   * `handler`: the call itself reported it. `failure`: it is derived from the failure of the activity. `turn`: the turn
   * made the result (denied, expired, resolved, …), and the model reads it so. `record`: a fork began with it. Then it
   * happened in the turn that was forked, or was given as a what-if.
   */
  origin: 'handler' | 'failure' | 'turn' | 'record';
  /** The use of a grant by which it ran. */
  grant?: GrantUse;
  /** The roster by which the worker accepted the signatures that let the call run. Absent: there were none. */
  roster?: Roster;
  /**
   * A note for the model about the changes and the reason of a person. The result begins with this text. Absent:
   * nothing.
   */
  note?: string;
}

/** A call was started and nobody knows its outcome. Next: verifying, or in_doubt. */
export interface CallLost extends EventHeader {
  type: 'call_lost';
  callId: string;
  tool: string;
  message: string;
  /** The facts that are known so far, such as partial output. */
  partial?: string;
  /** The last progress that it reported. */
  progress?: CallProgress;
  /** The use of a grant by which it ran. */
  grant?: GrantUse;
  /** As in `call_ended`. */
  roster?: Roster;
}

/** The tool's own check is asked whether a lost call happened. */
export interface Verifying extends EventHeader {
  type: 'verifying';
  callId: string;
}

/** The verdict of the tool's check. `cannot_tell` is followed by in_doubt. */
export interface Verified extends EventHeader {
  type: 'verified';
  callId: string;
  outcome: 'happened' | 'did_not' | 'cannot_tell';
  message?: string;
}

/** A lost call waits for a person to resolve it. */
export interface InDoubtOpened extends EventHeader {
  type: 'in_doubt';
  callId: string;
  callKey: string;
  tool: string;
  message: string;
  partial?: string;
  /** The last progress that it reported. */
  progress?: CallProgress;
  summary: string;
}

/** A signal with a decision, a resolution or an answer is on record and waits for a worker. The `decision`, `resolved` or `answered` event follows once it is judged. */
export interface SignalRecorded extends EventHeader {
  type: 'signal_recorded';
  signal: 'approval' | 'resolution' | 'answer';
  /** Absent where the payload could not be read. */
  callId?: string;
  approver?: string;
  identity: string;
}

/** How a message came. */
export type Delivery = 'update' | 'signal';

/** The verdict on a decision or resolution. */
export type Judgement =
  | { accepted: true }
  | { accepted: false; code: RefusalCode; message?: string; issues?: Issue[] }
  /** Judged, but its verdict is no longer in the record: more than 20 signals came at once. */
  | { accepted: 'unknown' };

/** The reset that applied a message again. The message first came in the part of the run that the reset took back. */
export interface Reapplied extends EventHeader {
  /** The reason that the operator gave. Temporal's own command line puts the name of the operator before it. */
  reason: string;
}

/** The sender of a decision, a resolution or an answer, as claimed, and the way by which it came. */
export interface Attribution {
  /** The name that was claimed. `somebody` where no name was claimed. */
  approver: string;
  /** The person in whose place it was said, as claimed. Only votes have it. */
  inPlaceOf?: InPlaceOf;
  reason?: string;
  channel: string;
  /** The channel says that the approver was signed in there. */
  authenticated?: true;
  /** The signature that came with it. The worker says whether the signature counts, right before the handler. */
  signature?: VoteSignature;
  door: Delivery;
  /** Temporal's own identity of the caller. */
  identity: string;
  decisionId?: string;
  /** Only if a reset applied it again. */
  reapplied?: Reapplied;
}

/** A decision was judged. An update that is refused leaves no trace in history, so it has no event. */
export interface DecisionMade extends EventHeader, Attribution {
  type: 'decision';
  /** Empty where the payload could not be read. */
  callId: string;
  /** Absent where the payload could not be read. */
  decision?: DecisionKind;
  /** With `modified`: the new arguments. */
  arguments?: JsonObject;
  /** With `approved`: ids of the accepted hunks. Absent means all. */
  hunks?: string[];
  /** The digest of the request that the person saw, as the client says. Absent if the client says nothing. */
  seenDigest?: string;
  /**
   * The decision allows something and does not carry the digest of what was seen. It was taken as a decision on the
   * request as it was.
   */
  unbound?: true;
  /** The edit needs a new look: call_prepared and request_opened follow. */
  asksAgain?: true;
  /** It is a vote, and the call still waits for more votes. */
  stillWaits?: true;
  judgement: Judgement;
}

/** A resolution was judged. If accepted: call_started follows `run-again`, call_ended the others. */
export interface Resolved extends EventHeader, Attribution {
  type: 'resolved';
  /** Empty where the payload could not be read. */
  callId: string;
  resolution?: ResolutionKind;
  /** With `happened`: the result of the call, as far as the person knows it. */
  content?: string;
  /** It is a vote, and the call still waits for more votes. */
  stillWaits?: true;
  judgement: Judgement;
}

/** An answer to a question was judged. If it is accepted, call_ended follows with the text that the model reads. */
export interface Answered extends EventHeader, Attribution {
  type: 'answered';
  /** Empty where the payload could not be read. */
  callId: string;
  answer?: AnswerKind;
  /**
   * With `answered`: the values that were filled in. Once accepted, it has the defaults of the fields that were left
   * out.
   */
  content?: JsonObject;
  /** The encrypted values that the handles in `content` stand for. */
  sealed?: SealedValues;
  judgement: Judgement;
}

/** A call reported its outcome late, after it had been given up. */
export interface OutcomeReported extends EventHeader {
  type: 'outcome_reported';
  callId: string;
  generation: number;
  result: ToolResult;
  /**
   * Whether the call was still in doubt when the outcome came. If it was not, the outcome is only shown beside the
   * resolution of a person.
   */
  settles: boolean;
}
