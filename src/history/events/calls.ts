import type { DecisionKind } from '../../contract/decision';
import type { JsonObject } from '../../contract/json';
import type { Preview } from '../../contract/plan';
import type { ToolResult } from '../../contract/result';
import type { Effect, JsonSchema, Safety } from '../../contract/tool';
import type { EventHead } from './head';

/** One call as a step proposes it, in short. */
export interface ProposedCall {
  callId: string;
  /** The model's own id. */
  id: string;
  tool: string;
  /** `remote`: its own worker still has to prepare it; call_prepared follows. `recorded`: a fork took its result over. */
  kind: 'invalid' | 'run' | 'ask' | 'remote' | 'recorded';
  /** With defaults; `{}` where they could not be parsed. */
  arguments: JsonObject;
  /** What the model wrote, where defaults changed it. */
  proposed?: JsonObject;
  /** What the model wrote, where it is not parsed (yet). */
  raw?: string;
  /** Why an invalid call cannot run. */
  error?: string;
}

/** A `remote` call, one that was edited and needed a new plan, or one that a workflow of its own gates, is prepared. */
export interface CallPrepared extends EventHead {
  type: 'call_prepared';
  call: ProposedCall;
}

/** A call waits for a decision. From here on, not before, one can be taken. Comes again when an edit needs a new look. */
export interface RequestOpened extends EventHead {
  type: 'request_opened';
  callId: string;
  callKey: string;
  tool: string;
  safety: Safety;
  effect: Effect;
  /** What runs when it is approved. */
  arguments: JsonObject;
  argsDigest: string;
  /** What the model asked for, where that is something else. */
  proposed?: JsonObject;
  preview?: Preview;
  /** Why policy wants a decision, where it said. */
  policyReason?: string;
  /** Set where the tool wants each of its requests decided on its own. */
  noBatch?: boolean;
  /** What changed arguments have to fit; absent where the record has none. */
  schema?: JsonSchema;
  /** Milliseconds after which the handler is ended; absent where the record has none. */
  timeoutMs?: number;
  /** ISO 8601, workflow time; null where it never expires. */
  deadline: string | null;
  /** One line: tool and arguments. */
  summary: string;
}

/** Nobody decided in time; nothing ran. */
export interface RequestExpired extends EventHead {
  type: 'request_expired';
  callId: string;
}

/** A call's activity is scheduled: it runs once a worker takes it. Comes again with a higher generation after `run-again`. */
export interface CallStarted extends EventHead {
  type: 'call_started';
  callId: string;
  tool: string;
  /** 0, and one more with each `run-again`. */
  generation: number;
  arguments: JsonObject;
  effect: Effect;
  taskQueue: string;
  /** The decision that it spends; absent for calls that need none. */
  decision?: { decision: DecisionKind | 'run-again'; approver: string; reason?: string };
}

/** A call has its result. The last event of a call, but for a late outcome_reported. */
export interface CallEnded extends EventHead {
  type: 'call_ended';
  callId: string;
  tool: string;
  result: ToolResult;
  /** From scheduled to closed; null where nothing was scheduled. */
  durationMs: number | null;
  /** 0 where nothing was started. */
  attempts: number;
  /**
   * `handler`: reported by the call itself; `failure`: derived from how its activity failed;
   * `turn`: the turn made the result (denied, expired, resolved, …) and this is what the model reads;
   * `record`: a fork began with it; it happened in the turn that was forked, or was given as a what-if.
   */
  origin: 'handler' | 'failure' | 'turn' | 'record';
}

/** A call was started and nobody knows its outcome. Next: verifying, or in_doubt. */
export interface CallLost extends EventHead {
  type: 'call_lost';
  callId: string;
  tool: string;
  message: string;
  /** What is known so far, such as partial output. */
  partial?: string;
}

/** The tool's own check is asked whether a lost call happened. */
export interface Verifying extends EventHead {
  type: 'verifying';
  callId: string;
}

/** What the tool's check said. `cannot_tell` is followed by in_doubt. */
export interface Verified extends EventHead {
  type: 'verified';
  callId: string;
  outcome: 'happened' | 'did_not' | 'cannot_tell';
  message?: string;
}

/** A lost call waits for a person to resolve it. */
export interface InDoubtOpened extends EventHead {
  type: 'in_doubt';
  callId: string;
  callKey: string;
  tool: string;
  message: string;
  partial?: string;
  summary: string;
}
