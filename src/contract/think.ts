import type { PreparedCall, prepareOutput, TurnOrigin } from './call';
import type { JsonObject } from './json';
import { LIMITS, TIMES } from './limits';
import {
  integer,
  only,
  json,
  jsonObject,
  list,
  nullable,
  number,
  object,
  type Of,
  oneOf,
  record,
  text,
} from './schema/shape';
import { ORDERS } from './tool';
import type { FileRef } from './session/files';
import { BUDGET } from './spending/budget';
import { USAGE } from './spending/usage';

/** The source of the conversation before a turn: the `transcript` query of its session. */
export interface SessionRef {
  sessionId: string;
  runId: string;
  /** The message that the turn is about. */
  messageId: string;
  /** The number of entries that the session holds. */
  count: number;
  /** The digest of these entries: other entries have another digest. */
  digest: string;
  /** The same for the first of these entries, which the turn before got. Absent: no turn came before. */
  before?: { count: number; digest: string };
}

/** Input of `countersign.think`. It has only the entries since the last reply, never the whole conversation. */
export interface ThinkInput {
  agent: string;
  /** The origin of the turn. */
  origin?: TurnOrigin;
  /** One of the agent's `models`, by name. Absent: the agent's own model. */
  model?: string;
  /** The knowledge of the model before the conversation, if a fork took it from its record. */
  context?: string;
  /** The conversation before this turn in its session. */
  session?: SessionRef;
  /** Counts from 1. */
  step: number;
  /** The last reply of the conversation so far, and the number of entries up to it. Absent in the first step. */
  after?: { replyId: string; count: number };
  /** New words of a person. */
  words: string[];
  /** The files that came with each of these words. Absent if there are no files. */
  files?: FileRef[][];
  /** The result of each call of the last reply, in its order. */
  results: ResultRef[];
  /** Outputs before this entry are dropped. See `dropOutputs`. */
  droppedBefore: number;
  /** The most bytes of each of these results. See `cutContent`. Absent: the results are whole. */
  cutTo?: number;
  /** The record of a burst at whose end asking for this step failed. */
  tried?: JsonObject;
}

/**
 * A result by its digest. The text is in the worker's memory or in the `transcript` query; `text` is set only if
 * history has the text nowhere else.
 */
export interface ResultRef {
  callId: string;
  /** SHA-256 (hex) of the content, before it was cut. */
  digest: string;
  success: boolean;
  text?: string;
}

const GATE_MODE = object({
  /** After this many milliseconds, a burst does not take a further step. 0: it takes one step. */
  commitMs: integer({ minimum: 0, maximum: TIMES.commitEveryMost }),
});

/** When the steps of a turn whose agent has `durability: 'gate'` are written to its history. */
export interface GateMode extends Of<typeof GATE_MODE> {}

/**
 * What people should know about a reply: a model of `fallback` wrote it, old outputs were left out because the
 * conversation was too long, or the model's server read only a part of the conversation.
 */
export const MODEL_NOTES = ['fallback', 'shortened', 'cut'] as const;
export type ModelNote = (typeof MODEL_NOTES)[number];

/**
 * The schema of the output of `countersign.think`, apart from its calls. They are checked one by one: a check may do
 * only so much, and a long list of people stands in each call.
 */
export const THINK_OUTPUT = object(
  {
    /** Random for each attempt. */
    replyId: text({ minLength: 1, maxLength: 200 }),
    text: text(),
    calls: list(jsonObject(), { maxItems: LIMITS.callsAnswered }),
    /** JSON Schemas by tool digest, for the tools whose calls wait for a decision. Edits are checked against them. */
    schemas: record(jsonObject()),
    model: text(),
    finishReason: text(),
    order: oneOf(ORDERS),
    maxSteps: integer({ minimum: 1 }),
  },
  {
    /** What people should know about how the reply came about. Absent: nothing. */
    notes: list(oneOf(MODEL_NOTES), { maxItems: MODEL_NOTES.length }),
    /**
     * The conversation was too long until the outputs before this entry were left out. Later steps begin without them.
     * Absent: nothing more was left out.
     */
    droppedBefore: integer({ minimum: 0 }),
    usage: USAGE,
    /** The text from the agent's `context`. Only with the first reply of a turn. */
    context: text(),
    /** The data that the provider wants back with this reply. See `ModelReply`. */
    opaque: text({ maxLength: LIMITS.opaqueBytes }),
    /** The answer as the value that the agent's `output` asks for. */
    value: json(),
    /** The budget that the agent allows a turn. Absent: it sets no limit. */
    budget: BUDGET,
    /** The budget that the agent allows a session. Only in a session. Absent: it sets no limit. */
    sessionBudget: BUDGET,
    /**
     * After how many equal steps the calls of the next equal step do not run. Absent: any number of steps may be equal.
     */
    repeats: integer({ minimum: 1 }),
    /** See `limits.compactOver` of the agent. Only in a session. */
    compactOver: integer({ minimum: 1 }),
    /** Only with `durability: 'gate'`: the next steps are taken in bursts. */
    gate: GATE_MODE,
  },
);

/** Output of `countersign.think`. No calls: `text` is the answer. */
export interface ThinkOutput extends Omit<Of<typeof THINK_OUTPUT>, 'calls'> {
  calls: PreparedCall[];
}

/** Input of `countersign.prepare`: one call, for the worker that has its tool, or a file proposal with new arguments. */
export interface PrepareInput {
  agent: string;
  origin?: TurnOrigin;
  callId: string;
  id: string;
  tool: string;
  raw: string;
  /** Only for a turn's request for more budget: why it asks. */
  policyReason?: string;
  /** The admin who wants the call to be asked about anew. Absent: nobody does. */
  askedAgain?: AskedAgain;
}

/** The admin who wants a request to be made anew, under today's rules. */
interface AskedAgain {
  /** The admin's name, as it was claimed. */
  by: string;
  /** Whether the request is under a rule: only a worker that has rules may prepare it anew. */
  isRuled: boolean;
}

/** Output of `countersign.prepare`. */
export interface PrepareOutput extends Of<ReturnType<typeof prepareOutput>> {}

/** A step that waits for people, as the next run takes it up. Its reply is the last entry of the transcript. */
export interface MovedStep {
  /**
   * The reply without its text, which the transcript has. Calls that have ended are `recorded`. Calls that wait are
   * `remote`, so that they are prepared anew.
   */
  reply: ThinkOutput;
  /** Each call that waits. */
  waits: MovedCall[];
}

const MOMENT = number({ minimum: 0, maximum: 8.64e15 });

const MOVED_CALL = object(
  {
    callId: text(),
    seenDigest: text(),
    /** Workflow time in ms. */
    since: MOMENT,
    /** Workflow time in ms. Null if it never expires. */
    deadline: nullable(MOMENT),
  },
  {
    /** An earlier build showed it otherwise, so an approval has to carry the digest of what its sender saw. */
    isOther: only(true),
  },
);

/** A call that waits, with the digest of what was shown and the times of the wait. */
export interface MovedCall extends Of<typeof MOVED_CALL> {}

/** The schema of a moved step, apart from its reply. */
export const MOVED = object({ reply: jsonObject(), waits: list(MOVED_CALL) });
