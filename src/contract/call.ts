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

/** What a call needs that starts a child turn; part of what is prepared. */
export interface ChildSettings {
  agent: string;
  /** Queue of the workers that have the agent. Absent: the turn's own. */
  taskQueue?: string;
  /** The most bytes of its answer that are kept. */
  outputBytes: number;
}

/** The call that started a turn. */
export interface Ancestor {
  turn: string;
  callId: string;
  /** The agent of that turn. */
  agent: string;
}

/** What a worker has to know of a call that starts a child turn. */
export interface ChildAsked {
  /** The id that the child turn has, if it is there. */
  turn: string;
  /** How deep the turn is that calls: 0 where nobody called it. */
  depth: number;
  /** Child turns that this turn has started before. */
  started: number;
  /** Of what the turn may spend nothing of this kind is left. Absent: some of each is. */
  none?: BudgetKind;
}

/** What a worker found before a child turn starts. `there`: an earlier run of this turn has started it. */
export const CHILD_LOOKS = ['absent', 'there'] as const;
export type ChildLook = (typeof CHILD_LOOKS)[number];

/** What every call carries, whatever became of it. */
export interface CallHead {
  /** `<step>.<n>`, unique in its turn. */
  callId: string;
  /** The model's own id, made up and unique where it gave none or one twice. */
  id: string;
  tool: string;
}

/** How a tool wants its calls run; part of what is prepared, so that replay never asks the registry. */
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
  /** Its requests are decided one by one only. Absent: no. */
  noBatch?: boolean;
  /** `none`: no grant takes the place of a decision on it. `equal`: only one for the same arguments. Absent: any does. */
  grants?: 'none' | 'equal';
  /** It may ask people while it runs, and wait for so many milliseconds in all beside its timeout. Absent: it may not. */
  askMs?: number;
  /** The MCP server that has the tool. Absent: it is our own. */
  server?: string;
  /** Absent: its calls share no state. */
  state?: StateSettings;
  /** Asked about by a workflow of its own. The activity by which its gate runs it; without one that workflow runs it itself. */
  gate?: { activity?: string };
  /** The call is a child turn. */
  child?: ChildSettings;
}

/** A grant by which a call starts without a decision of its own; its worker claims a use first, and looks at all of it. */
export interface GrantMark {
  id: string;
  /** Who gave it. */
  by: string;
  /** Who confirmed it, where it took more than one. */
  confirmedBy?: readonly string[];
  /** ISO 8601. */
  until: string;
  /** For how many calls. */
  times: number;
}

/** The use of a grant by which a call started, as its worker found it. */
export interface GrantUse extends GrantMark {
  /** The first is 1. */
  use: number;
  /** How sure it is that the grant is from whom it says. */
  assurance: Assurance;
}

/** A call that cannot run: its result is ready and says why. */
export interface InvalidCall extends CallHead {
  kind: 'invalid';
  /** What the policy rules said, where one fitted. */
  ruling?: CallRuling;
  /** What the model wrote where it could not be parsed; cut to 4 KiB. */
  raw?: string;
  /** What the model asked for, where it could be parsed; `{}` otherwise. */
  proposed: JsonObject;
  result: ToolResult;
}

/** A call that may run: at once (`run`) or when a person has decided (`ask`). */
export interface ValidCall extends CallHead {
  kind: 'run' | 'ask';
  /** With defaults applied: what runs unless a person changes it. */
  arguments: JsonObject;
  /** What the model asked for; only where defaults changed it. */
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
  /** What the policy said, where it said more than safety does. */
  policyReason?: string;
  /** What the policy rules said, where one fitted. */
  ruling?: CallRuling;
  /** Only where `kind` is `ask`: who decides. Absent: the worker has no approvers file, so anybody may. */
  authority?: Authority;
  /** Only where `kind` is `ask`: nobody is asked, unless the grant turns out not to allow it. */
  grant?: GrantMark;
  /** Only where `kind` is `ask`: it asks a person for an answer, which is its result. It never runs. */
  question?: Question;
  /** Only of a question that a call asks while it runs: the id of that call, which gets the answer. */
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
  /** Only of a call that was asked about on another build: the digest of its tool there. */
  toolDigest?: string;
}

/**
 * A call whose result is taken from the record: in a fork from that of the other turn, and where a turn moved to another
 * build from its run before. It never runs.
 */
export interface RecordedCall extends CallHead {
  kind: 'recorded';
  /** What the model wrote where it could not be parsed. */
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

/** Who asked for a turn, and facts that were given with it. As claimed by whoever started it. */
export interface TurnOrigin {
  requester?: string;
  /** Others whose words the turn has taken up since. */
  others?: string[];
  metadata?: Record<string, string>;
  /** The span in which it was started, as a W3C `traceparent`. */
  trace?: string;
}

/** Input of a tool's activity. */
export interface CallInput extends CallHead {
  agent: string;
  /** Unique to this call of this reply; it stays when a reset keeps the reply. */
  callKey: string;
  /** 0, and one more with each `run-again`. */
  generation: number;
  arguments: JsonObject;
  argsDigest: string;
  toolDigest: string;
  effect: Effect;
  timeoutMs: number;
  /** The decision that is spent by this call; absent for calls that need none. */
  decision?: SpentDecision;
  /** Only without a decision: the grant by which it may start. */
  grant?: GrantMark;
  /** Who had to decide when it was asked about. The worker's own file can only add to it. */
  authority?: Authority;
  /** What the model asked for; only where a person changed it. */
  proposed?: JsonObject;
  /** The approved file plan. */
  plan?: FilePlan;
  /** The turn is a fork in a dry world: nothing but a pure call that needs no decision may reach its handler. */
  dry?: true;
  /** Only for a call that shares state with others: where that is, as the turn knows. */
  state?: PlacedState;
  /**
   * Only for unsafe calls, and for those that may ask people: drawn by the workflow for this execution, and asked of
   * whoever reports its outcome late, or asks in its name. It stands in no memo, so that nobody who lists turns can forge one.
   */
  secret?: string;
  /** It waited for the worker that held its state, where an attempt may have run. Never of an unsafe call. */
  mayHaveRun?: true;
  /** How often a worker gave this call back because it lacks the agent or tool or because of a pause, or did not take it where it held its state. Absent: never. */
  round?: number;
  /** As its settings say. */
  askMs?: number;
  /** Secret answers that the arguments name, encrypted. */
  sealed?: SealedValues;
  /** Only of a call that is a child turn. */
  child?: ChildAsked;
  /** Of its turn. */
  origin?: TurnOrigin;
  /** The run that first held this workflow: another one means that an operator reset it. */
  originalRunId: string;
}

/** What a call keeps of its decision. `hunks`: the accepted ones; absent means all. */
export interface SpentDecision {
  decisionId: string;
  decision: 'approved' | 'modified';
  approver: string;
  /** Of what it allows: arguments, preview and plan; see `seenDigestOf`. */
  seenDigest: string;
  /** Of the preview that was shown; the worker cannot make it again. Absent: none was. */
  previewDigest?: string;
  reason?: string;
  hunks?: string[];
  /** Only where rules say who decides: the votes that made it. */
  votes?: Vote[];
  /** Who changed the arguments and why; another person than the approver where the edit had to be looked at again. */
  edit?: { approver: string; reason?: string };
}

/** By whose leave a call started. */
export interface StartedBy {
  grant?: GrantUse;
  /** By what the worker found its signatures good. Only for the record: anybody may have written it. */
  roster?: Roster;
}

/** Output of a tool's activity: the outcome (with the SHA-256 of its content), that nobody knows it, that its decision does not hold, or that it did not start. */
export type CallOutput =
  | ({ result: ToolResult; contentDigest: string } & StartedBy & UsedState)
  | ({ inDoubt: InDoubt } & StartedBy & UsedState)
  | AskAgain
  | NotHere
  | Paused
  | ChildReady;

/** The call is a child turn, and may start or is there. */
export interface ChildReady {
  child: ChildLook;
}

/** The handler was not called: the decision does not count in this run, or not by the rules. */
export interface AskAgain {
  /** Why a person has to look again. */
  askAgain: string;
  /** Votes that do not count, by voter. The others still do. Absent: the decision as a whole does not count. */
  struck?: string[];
  /** Who decides by the worker's own file. Absent: as before. */
  authority?: Authority;
  /** That of the input, for an unsafe call: nobody else knows that it did not start. */
  secret?: string;
}

/** The worker that took the call lacks its agent or tool. It did not start: its decision still allows it. */
export interface NotHere {
  /** What is lacking, in words. */
  notHere: string;
  /** That of the input, for an unsafe call: an operator who completes one that runs does not know it. */
  secret?: string;
}

/** Somebody paused it, or nobody can tell whether somebody did. It did not start: its decision still allows it. */
export interface Paused {
  /** By which pause, or why that is not known, in words. */
  paused: string;
  /** That of the input, as of `NotHere`. */
  secret?: string;
  /** An attempt before this one may have run. Never of an unsafe call. */
  mayHaveRun?: true;
}

/** Input of `countersign.held`, which ends once no pause holds the call. */
export interface HeldInput {
  agent: string;
  tool: string;
}

/** How far a call is, as its handler says. */
export interface CallProgress {
  /** From 0 to 1. */
  fraction?: number;
  text?: string;
}

/** What the heartbeats of an attempt carry, for people who look and for a later attempt. */
export interface Beat {
  /** Only of an unsafe call: its idempotency key. A later attempt must not run it again. */
  key?: string;
  progress?: CallProgress;
  /** The end of its output so far. */
  partial?: string;
  /** What its handler keeps for the next attempt. */
  checkpoint?: Json;
  /** Only of `think`, where nothing else carries it: the head of what the model wrote so far. */
  text?: string;
  /** Only of a burst: the step of that text. */
  step?: number;
}

/** Why the outcome of a started call is unknown. */
export interface InDoubt {
  message: string;
  /** What is known so far, such as partial output. */
  partial?: string;
  /** How far it was when it was last heard of. */
  progress?: CallProgress;
  /** Its handler was aborted and still ran at this moment, so a check that finds nothing done proves nothing. Absent: no. */
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

/** Which question of a call that runs. By itself it is the payload of the `withdraw` signal: nobody waits for the answer any more. */
export interface AskedQuestion {
  callId: string;
  callKey: string;
  generation: number;
  /** Of the execution that asks; see CallInput. */
  secret: string;
  /** Of its activity: a later one takes the place of one that was lost. */
  attempt: number;
  /** Counts the questions of one attempt, so that a withdrawal never takes back a later one. */
  number: number;
}

/** Payload of the `ask` update: a call that runs asks a person. */
export interface CallQuestion extends AskedQuestion {
  question: Question;
}

/** What became of a question of a call that runs. `unanswered`: nobody answered in time, or it was closed. */
export type CallReply =
  { answer: 'answered'; content: JsonObject } | { answer: 'declined' } | { answer: 'unanswered' };

/** Payload of the `outcome` signal: what a call that had been given up reports when it ends after all. */
export interface OutcomeReport {
  callKey: string;
  generation: number;
  /** Of the execution that reports; see CallInput. */
  secret: string;
  result: ToolResult;
}
