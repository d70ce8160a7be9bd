import type { Authority, Vote } from './authority/authority';
import type { CallRuling } from './authority/policy';
import type { Roster } from './authority/roster';
import type { Assurance } from './authority/votes';
import type { Json, JsonObject } from './json';
import type { FilePlan, Preview } from './plan';
import type { Question } from './question';
import type { SealedValues } from './secret/sealed';
import type { ToolResult } from './result';
import type { PlacedState, StateSettings, UsedState, Effect, RetryOptions, Safety } from './tool';
import type { BudgetKind } from './spending/budget';

/** The settings of a call that starts a child turn. Part of the prepared call. */
export interface ChildSettings {
  agent: string;
  /** Queue of the workers that have the agent. Absent: the turn's own queue. */
  taskQueue?: string;
  /** The most bytes of its answer that are kept. */
  outputBytes: number;
}

/** The call that started a turn. */
export interface Ancestor {
  turn: string;
  callId: string;
  /** The agent of the turn that made the call. */
  agent: string;
}

/** The facts that a worker needs about a call that starts a child turn. */
export interface ChildAsked {
  /** The id of the child turn, whether it exists already or not. */
  turn: string;
  /** The depth of the turn that makes the call: 0 where no other turn called it. */
  depth: number;
  /** Child turns that this turn has started before. */
  started: number;
  /** A kind of the turn's budget of which nothing is left. Absent: something of each kind is left. */
  none?: BudgetKind;
}

/** The result of a worker's check before a child turn starts. `there`: an earlier run of this turn has started it. */
export const CHILD_LOOKS = ['absent', 'there'] as const;
export type ChildLook = (typeof CHILD_LOOKS)[number];

/** The fields of every call, whatever its result. */
export interface CallHead {
  /** `<step>.<n>`, unique in its turn. */
  callId: string;
  /** The model's own id. It is made up where the model gave no id, or the same id twice. It is unique. */
  id: string;
  tool: string;
}

/** The settings of a tool for running its calls. Part of the prepared call, so that replay never asks the registry. */
export interface CallSettings {
  safety: Safety;
  effect: Effect;
  /** Absent: the turn's own queue. */
  taskQueue?: string;
  local?: boolean;
  timeoutMs: number;
  heartbeatMs: number;
  retry: RetryOptions;
  /** Null: the request never expires. */
  requestExpiresMs: number | null;
  startWithinMs: number;
  /** Its requests must be decided one by one. Absent: no. */
  noBatch?: boolean;
  /**
   * `none`: no grant replaces a decision on the call. `equal`: only a grant for the same arguments. Absent: any grant.
   */
  grants?: 'none' | 'equal';
  /**
   * The time that the call may wait for answers of people while it runs, in milliseconds. It does not count for the
   * timeout. Absent: it may not ask.
   */
  askMs?: number;
  /** The MCP server that has the tool. Absent: it is our own. */
  server?: string;
  /** Absent: its calls share no state. */
  state?: StateSettings;
  /**
   * Set where a user's own workflow asks. `activity` is the activity by which its gate runs the call. Without it, the
   * workflow runs the call itself.
   */
  gate?: { activity?: string };
  /** The call is a child turn. */
  child?: ChildSettings;
}

/**
 * A grant by which a call starts without a decision of its own. Its worker first claims a use and checks the whole
 * grant.
 */
export interface GrantMark {
  id: string;
  /** Who gave it. */
  by: string;
  /** The people who confirmed it, where one person was not enough. */
  confirmedBy?: readonly string[];
  /** ISO 8601. */
  until: string;
  /** For how many calls. */
  times: number;
}

/** The use of a grant by which a call started, as its worker found it. */
export interface GrantUse extends GrantMark {
  /** The number of the use. The first use is 1. */
  use: number;
  /** How sure it is that the named person gave the grant. */
  assurance: Assurance;
}

/** A call that cannot run. Its result is ready and says why. */
export interface InvalidCall extends CallHead {
  kind: 'invalid';
  /** The verdicts of the policy rules, where one fitted. */
  ruling?: CallRuling;
  /** The text of the model where it could not be parsed. Cut to 4 KiB. */
  raw?: string;
  /** The arguments that the model asked for. `{}` where they could not be parsed. */
  proposed: JsonObject;
  result: ToolResult;
}

/** A call that may run: at once (`run`) or when a person has decided (`ask`). */
export interface ValidCall extends CallHead {
  kind: 'run' | 'ask';
  /** The arguments with defaults, which run unless a person changes them. */
  arguments: JsonObject;
  /** The arguments that the model asked for. Only where defaults changed them. */
  proposed?: JsonObject;
  /** SHA-256 over the RFC 8785 form of `arguments`. */
  argsDigest: string;
  /** SHA-256 over name, description, schema, safety and effect of the tool. */
  toolDigest: string;
  settings: CallSettings;
  /** Only where `kind` is `ask`. */
  preview?: Preview;
  /** SHA-256 (hex) of the preview's text. */
  previewDigest?: string;
  /** SHA-256 (hex) over the RFC 8785 form of the preview's plan. */
  planDigest?: string;
  /** The reason of the policy, where the policy is stricter than safety. */
  policyReason?: string;
  /** The verdicts of the policy rules, where one fitted. */
  ruling?: CallRuling;
  /** Only where `kind` is `ask`: who decides. Absent: the worker has no approvers file, so anybody may. */
  authority?: Authority;
  /**
   * Only where `kind` is `ask`: the grant by which nobody is asked, unless the grant turns out not to allow the call.
   */
  grant?: GrantMark;
  /** Only where `kind` is `ask`: the question to a person. The answer is its result, and the call never runs. */
  question?: Question;
  /** Only for a question that a call asks while it runs: the id of the call that asks and gets the answer. */
  askedBy?: string;
}

/** A call whose tool lives on another queue: a `countersign.prepare` activity there makes it valid or invalid. */
export interface RemoteCall extends CallHead {
  kind: 'remote';
  taskQueue: string;
  /** Arguments as the model wrote them. */
  raw: string;
  /** In a fork, or on another build: why a person has to decide on it, even where safety and policy would let it run. */
  askFirst?: string;
  /** Only for a call that was asked about on another build: the digest of its tool on that build. */
  toolDigest?: string;
}

/**
 * A call whose result is taken from a record: in a fork from the record of the other turn, and after a move to another
 * build from the run before. It never runs.
 */
export interface RecordedCall extends CallHead {
  kind: 'recorded';
  /** The text of the model where it could not be parsed. */
  raw?: string;
  /** What the model asked for. */
  proposed: JsonObject;
  result: ToolResult;
}

export type PreparedCall = InvalidCall | ValidCall | RemoteCall | RecordedCall;

/** Whether a call may run, at once or once a person has decided. */
export function isValidCall(call: PreparedCall): call is ValidCall {
  return call.kind === 'run' || call.kind === 'ask';
}

/** The person who asked for a turn, and facts that were given with it. The starter of the turn only claims both. */
export interface TurnOrigin {
  requester?: string;
  /** Other people whose messages the turn has taken up since. */
  others?: string[];
  metadata?: Record<string, string>;
  /** The span in which the turn was started, as a W3C `traceparent`. */
  trace?: string;
}

/** Input of a tool's activity. */
export interface CallInput extends CallHead {
  agent: string;
  /** Unique to this call of this reply. Stays the same when a reset keeps the reply. */
  callKey: string;
  /** 0, and one more with each `run-again`. */
  generation: number;
  arguments: JsonObject;
  argsDigest: string;
  toolDigest: string;
  effect: Effect;
  timeoutMs: number;
  /** The decision that is spent by this call. Absent for calls that need none. */
  decision?: SpentDecision;
  /** The grant by which the call may start without a decision. */
  grant?: GrantMark;
  /** Who had to decide when the request was made. The worker's own file can only add to this. */
  authority?: Authority;
  /** What the model asked for. Only where a person changed it. */
  proposed?: JsonObject;
  /** The approved file plan. */
  plan?: FilePlan;
  /** The turn is a fork in a dry world: nothing but a pure call that needs no decision may reach its handler. */
  dry?: true;
  /** Only for a call that shares state with others: where the state is, as far as the turn knows. */
  state?: PlacedState;
  /**
   * Only for unsafe calls, and for calls that may ask people. The workflow draws it for this execution. Everybody who
   * reports the outcome late, or asks in the name of the call, has to know it. No memo has the secret, so that people
   * who list turns cannot forge a report.
   */
  secret?: string;
  /**
   * The call waited for the worker that held its state, where an attempt may have run. Never set for an unsafe call.
   */
  mayHaveRun?: true;
  /**
   * The number of times that this call was given back: a worker lacked the agent or tool, a pause held the call, the
   * worker that held its state did not take it, or its decision did not hold. Absent: never.
   */
  round?: number;
  /** As in its settings. */
  askMs?: number;
  /** Secret answers that the arguments name, encrypted. */
  sealed?: SealedValues;
  /** Only for a call that is a child turn. */
  child?: ChildAsked;
  /** The origin of its turn. */
  origin?: TurnOrigin;
  /** The run that first held this workflow: another one means that an operator reset it. */
  originalRunId: string;
}

/** The part of its decision that a call keeps. `hunks`: the accepted hunks. Absent means all. */
export interface SpentDecision {
  decisionId: string;
  decision: 'approved' | 'modified';
  approver: string;
  /** The digest of what the decision allows: arguments, preview and plan. See `seenDigestOf`. */
  seenDigest: string;
  /** The digest of the preview that was shown: the worker cannot make that preview again. Absent: none was shown. */
  previewDigest?: string;
  reason?: string;
  hunks?: string[];
  /** Only where rules say who decides: the votes that made the decision. */
  votes?: Vote[];
  /**
   * The person who changed the arguments, and the reason. It is another person than the approver where the edit had to
   * be looked at again.
   */
  edit?: { approver: string; reason?: string };
}

/** The grant and the signatures by which a call started. */
export interface StartedBy {
  grant?: GrantUse;
  /** The roster by which the worker accepted the signatures. Only for the record: anybody may have written this. */
  roster?: Roster;
}

/**
 * Output of a tool's activity: the outcome (with the SHA-256 of its content), or that nobody knows the outcome, that
 * the decision does not hold, or that the call did not start.
 */
export type CallOutput =
  | ({ result: ToolResult; contentDigest: string } & StartedBy & UsedState)
  | ({ inDoubt: InDoubt } & StartedBy & UsedState)
  | AskAgain
  | NotHere
  | Paused
  | ChildReady;

/** The call is a child turn, which may start or exists already. */
export interface ChildReady {
  child: ChildLook;
  /** The parent of the child turn's spans, as a W3C `traceparent`. Absent: its worker writes no spans. */
  trace?: string;
}

/** The handler was not called: the decision does not count in this run, or not by the rules. */
export interface AskAgain {
  /** Why a person has to look again. */
  askAgain: string;
  /** The voters whose votes do not count. Other votes still count. Absent: the decision as a whole does not count. */
  struck?: string[];
  /** Who decides, by the worker's own file. Absent: as before. */
  authority?: Authority;
  /** The secret of the input, for an unsafe call: only its worker knows that the call did not start. */
  secret?: string;
}

/** The worker that took the call lacks its agent or tool. The call did not start, and its decision still allows it. */
export interface NotHere {
  /** The missing part, in words. */
  notHere: string;
  /** The secret of the input, for an unsafe call. An operator who completes a running call does not know it. */
  secret?: string;
}

/**
 * Somebody paused the call, or it is not known whether it is paused. It did not start, and its decision still allows
 * it.
 */
export interface Paused {
  /** Which pause holds the call, or why that is not known, in words. */
  paused: string;
  /** The secret of the input, as in `NotHere`. */
  secret?: string;
  /** An attempt before this one may have run. Never set for an unsafe call. */
  mayHaveRun?: true;
}

/** Input of `countersign.held`, which ends once no pause holds the call. */
export interface HeldInput {
  agent: string;
  tool: string;
}

/** The progress of a call, as its handler reports it. */
export interface CallProgress {
  /** From 0 to 1. */
  fraction?: number;
  text?: string;
}

/** The details in the heartbeats of an attempt, for people who watch and for a later attempt. */
export interface Beat {
  /** Only for an unsafe call: its idempotency key. A later attempt must not run the call again. */
  key?: string;
  progress?: CallProgress;
  /** The end of its output so far. */
  partial?: string;
  /** The data that the handler keeps for the next attempt. */
  checkpoint?: Json;
  /** Only for `think`, where the text is not streamed: the beginning of the text that the model has written. */
  text?: string;
  /** Only for a burst: the step that `text` belongs to. */
  step?: number;
}

/** Why the outcome of a started call is unknown. */
export interface InDoubt {
  message: string;
  /** The facts that are known so far, such as partial output. */
  partial?: string;
  /** The last progress that the call reported. */
  progress?: CallProgress;
  /**
   * The handler was aborted and still ran at this moment, so a check that finds no effect proves nothing. Absent: no.
   */
  running?: true;
}

/** Input of `countersign.verify`. */
export interface VerifyInput extends CallHead {
  agent: string;
  origin?: TurnOrigin;
  callKey: string;
  generation: number;
  arguments: JsonObject;
  sealed?: SealedValues;
}

/** Output of `countersign.verify`. */
export type VerifyOutput =
  | { outcome: 'happened'; result: ToolResult }
  | { outcome: 'did_not'; message: string }
  | { outcome: 'cannot_tell'; message: string };

/**
 * Names a question of a call that runs. It is also the payload of the `withdraw` signal, which says that nobody waits
 * for the answer any more.
 */
export interface AskedQuestion {
  callId: string;
  callKey: string;
  generation: number;
  /** The secret of the execution that asks. See CallInput. */
  secret: string;
  /** The attempt of its activity. A later attempt takes the place of one that was lost. */
  attempt: number;
  /** Counts the questions of one attempt, so that a withdrawal never takes back a later question. */
  number: number;
}

/** Payload of the `ask` update: a call that runs asks a person. */
export interface CallQuestion extends AskedQuestion {
  question: Question;
}

/**
 * The outcome of a question that a running call asked. `unanswered`: nobody answered in time, or the question was
 * closed.
 */
export type CallReply =
  { answer: 'answered'; content: JsonObject } | { answer: 'declined' } | { answer: 'unanswered' };

/** Payload of the `outcome` signal. By it, a call that had been given up reports its result when it ends late. */
export interface OutcomeReport {
  callKey: string;
  generation: number;
  /** The secret of the execution that reports. See CallInput. */
  secret: string;
  result: ToolResult;
}
