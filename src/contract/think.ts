import type { PreparedCall, TurnOrigin } from './call';
import type { Json, JsonObject } from './json';
import type { JsonSchema, Order } from './tool';
import type { FileRef } from './session/files';
import type { Budget } from './spending/budget';
import type { Usage } from './spending/usage';

/** Where a turn finds what was said before it: in the `transcript` query of its session. */
export interface SessionRef {
  sessionId: string;
  runId: string;
  /** The message that the turn is about. */
  messageId: string;
  /** How many entries the session holds. */
  count: number;
  /** Names these entries: other entries have another one. */
  digest: string;
  /** The same for the beginning of them that the turn before was given; absent: there is none. */
  before?: { count: number; digest: string };
}

/** Input of `countersign.think`: never the conversation, only what is new since the last reply. */
export interface ThinkInput {
  agent: string;
  /** Of the turn. */
  origin?: TurnOrigin;
  /** One of the agent's `models`, by name; absent: its own. */
  model?: string;
  /** What the model is to know before the conversation, where a fork took it from its record. */
  context?: string;
  /** What was said before this turn, in the session that it is of. */
  session?: SessionRef;
  /** Counts from 1. */
  step: number;
  /** The reply that the conversation so far ends with, and how many entries that makes. Absent in the first step. */
  after?: { replyId: string; count: number };
  /** New words of a person. */
  words: string[];
  /** The files of each of these words; absent where none has any. */
  files?: FileRef[][];
  /** One for each call of the last reply, in its order. */
  results: ResultRef[];
  /** Outputs before this entry are dropped; see `dropOutputs`. */
  droppedBefore: number;
  /** The most bytes of each of these results; see `cutContent`. Absent: they are whole. */
  cutTo?: number;
  /** Asking for this step has failed at the end of a burst: what that left. */
  tried?: JsonObject;
}

/** A result by name; the text is in the worker's memory or in the `transcript` query. `text` only where history has it nowhere else. */
export interface ResultRef {
  callId: string;
  /** SHA-256 (hex) of the content, before it was cut. */
  digest: string;
  success: boolean;
  text?: string;
}

/** When the steps of a turn whose agent has `durability: 'gate'` are written to its history. */
export interface GateMode {
  /** A burst takes no further step after so many milliseconds. 0: it takes one. */
  commitMs: number;
}

/** Output of `countersign.think`. No calls: `text` is the answer. */
export interface ThinkOutput {
  /** Random for each attempt. */
  replyId: string;
  text: string;
  calls: PreparedCall[];
  /** JSON Schemas by tool digest, for the tools whose calls wait for a decision: edits are checked against them. */
  schemas: Record<string, JsonSchema>;
  model: string;
  finishReason: string;
  usage?: Usage;
  /** What the agent's `context` gave; only with the first reply of a turn. */
  context?: string;
  /** What the provider wants back with this reply; see `ModelReply`. */
  opaque?: string;
  /** The answer as the value that the agent's `output` asks for. */
  value?: Json;
  order: Order;
  maxSteps: number;
  /** What the agent lets a turn spend. Absent: it sets no limit. */
  budget?: Budget;
  /** What the agent lets a session spend; only in a session. Absent: it sets no limit. */
  sessionBudget?: Budget;
  /** After how many steps that are alike the calls of the next one do not run. Absent: any number may. */
  repeats?: number;
  /** See `limits.compactOver` of the agent; only in a session. */
  compactOver?: number;
  /** Only with `durability: 'gate'`: the next steps are taken in bursts. */
  gate?: GateMode;
}

/** Input of `countersign.prepare`: one call, for the worker that has its tool, or a file proposal with new arguments. */
export interface PrepareInput {
  agent: string;
  origin?: TurnOrigin;
  callId: string;
  id: string;
  tool: string;
  raw: string;
  /** Only of a turn's request for more budget: why it asks. */
  policyReason?: string;
  /** Somebody wants the call to be asked about anew. Absent: nobody does. */
  askedAgain?: AskedAgain;
}

/** Who wants a request to be made anew, under today's rules. */
export interface AskedAgain {
  /** As claimed. */
  by: string;
  /** The request is under a rule: only a worker that has rules takes it from there. */
  isRuled: boolean;
}

/** Output of `countersign.prepare`. */
export interface PrepareOutput {
  call: PreparedCall;
  schema?: JsonSchema;
}

/** A step that waits for people, as the next run takes it up. Its reply is the last entry of the transcript. */
export interface MovedStep {
  /**
   * Without its text, which the transcript has. Calls that have ended are `recorded`; those that wait are `remote`, so that
   * they are prepared anew.
   */
  reply: ThinkOutput;
  /** Each call that waits. */
  waits: MovedCall[];
}

/** What was shown of a call that waits, and for how long it waits. */
export interface MovedCall {
  callId: string;
  seenDigest: string;
  /** Workflow time in ms. */
  since: number;
  /** Workflow time in ms; null where it never expires. */
  deadline: number | null;
}
