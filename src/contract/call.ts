import type { Json, JsonObject } from './json';
import { type FilePlan, PREVIEW } from './plan';
import { QUESTION, type Question } from './question';
import { CALL_HEAD, RESULT, type ToolResult } from './result';
import { CALL_ID } from './decision';
import {
  anything,
  both,
  byField,
  either,
  flag,
  integer,
  only,
  jsonObject,
  list,
  nullable,
  number,
  object,
  type Of,
  oneOf,
  record,
  refined,
  type Shape,
  text,
} from './schema/shape';
import {
  type Effect,
  EFFECTS,
  MS,
  ANY_NAME,
  type PlacedState,
  QUEUE,
  RETRY_OPTIONS,
  SAFETIES,
  STATE_SETTINGS,
  USED_STATE,
} from './tool';
import type { emptyKind } from './spending/budget';
import { RULING, GRANT_MARK, type GrantMark, GRANT_USE, type GrantUse } from './policy-rule';
import { ASKED_AGAIN, type Authority, AUTHORITY, MOST_OTHERS, type Vote } from './authority';
import type { Roster } from './roster';

/** The settings of a call that starts a child turn. Part of the prepared call. */
const CHILD_SETTINGS = object(
  {
    agent: ANY_NAME,
    /** The most bytes of the child's answer that are kept. */
    outputBytes: integer({ minimum: 1 }),
  },
  {
    /** Queue of the workers that have the agent. Absent: the turn's own queue. */
    taskQueue: QUEUE,
  },
);

const ANCESTOR = object({
  turn: ANY_NAME,
  callId: CALL_ID,
  /** The agent of the turn that made the call. */
  agent: ANY_NAME,
});

/** The call that started a turn. */
export interface Ancestor extends Of<typeof ANCESTOR> {}

/** The schema of the calls that led to a child turn. */
export const LINEAGE = list(ANCESTOR, { minItems: 1, maxItems: 100 });

/** The facts that a worker needs about a call that starts a child turn. */
interface ChildAsked {
  /** The id of the child turn, whether it exists already or not. */
  turn: string;
  /** The depth of the turn that makes the call: 0 if no other turn called it. */
  depth: number;
  /** Child turns that this turn has started before. */
  started: number;
  /** A kind of budget that the turn has used up. Absent: something of each kind is left. */
  none?: ReturnType<typeof emptyKind>;
}

/**
 * The result of a worker's check before a child turn starts. `there`: an earlier run of the calling turn has started
 * it.
 */
const CHILD_LOOKS = ['absent', 'there'] as const;

/** The fields of every call, whatever its result. */
export interface CallBase {
  /** See `CALL_HEAD`. */
  callId: string;
  id: string;
  tool: string;
}

const CALL_SETTINGS = object(
  {
    safety: oneOf(SAFETIES),
    effect: oneOf(EFFECTS),
    timeoutMs: MS,
    heartbeatMs: MS,
    retry: RETRY_OPTIONS,
    /** Null: the request never expires. */
    requestExpiresMs: nullable(MS),
    startWithinMs: MS,
  },
  {
    /** Absent: the turn's own queue. */
    taskQueue: QUEUE,
    local: flag(),
    /** Requests of this tool must be decided one by one. Absent: they may be decided together. */
    noBatch: flag(),
    /**
     * `none`: no grant replaces a decision on the call. `equal`: only a grant for the same arguments does. Absent: any
     * grant does.
     */
    grants: oneOf(['none', 'equal']),
    /**
     * The time that the call may wait for people's answers while it runs, in milliseconds. This time does not count
     * towards the timeout. Absent: the call may not ask.
     */
    askMs: MS,
    /** The MCP server that has the tool. Absent: the tool is not from an MCP server. */
    server: text(),
    /** Absent: calls of this tool share no state. */
    state: STATE_SETTINGS,
    /**
     * Set if a user's own workflow asks. `activity` is the activity that runs the call for the gate. Without it, the
     * workflow runs the call itself.
     */
    gate: object({}, { activity: text() }),
    /** The call is a child turn. */
    child: CHILD_SETTINGS,
  },
);

/** The settings of a tool for running its calls. Part of the prepared call, so that replay never asks the registry. */
export interface CallSettings extends Of<typeof CALL_SETTINGS> {}

const INVALID_CALL = object(
  both(CALL_HEAD, {
    kind: oneOf(['invalid']),
    /** The arguments that the model asked for. `{}` if they could not be parsed. */
    proposed: jsonObject(),
    result: RESULT,
  }),
  {
    /** The verdicts of the policy rules, if one fitted. */
    ruling: RULING,
    /** The text that the model wrote as arguments, if it could not be parsed. Cut to 4 KiB. */
    raw: text(),
  },
);

/** A call that cannot run. Its result is ready and says why. */
export interface InvalidCall extends Of<typeof INVALID_CALL> {}

/** The schema of a call that may run. Its tool has to fit `tool`. */
const validCall = (tool: Shape<string>) =>
  object(
    both(CALL_HEAD, {
      tool,
      kind: oneOf(['run', 'ask']),
      /** The arguments with defaults filled in. The call runs with them unless a person changes them. */
      arguments: jsonObject(),
      /** SHA-256 over the RFC 8785 form of `arguments`. */
      argsDigest: text(),
      /** SHA-256 over the tool's name, description, schema, safety and effect. */
      toolDigest: text(),
      settings: CALL_SETTINGS,
    }),
    {
      /** The arguments that the model asked for. Set only if defaults changed them. */
      proposed: jsonObject(),
      /** Set only if `kind` is `ask`. */
      preview: PREVIEW,
      /** SHA-256 (hex) of the preview's text. */
      previewDigest: text(),
      /** SHA-256 (hex) over the RFC 8785 form of the preview's plan. */
      planDigest: text(),
      /** The reason of the policy, if the policy is stricter than safety. */
      policyReason: text(),
      /** Only if `kind` is `ask`: what a person has to know about the arguments. */
      notes: list(text()),
      /** The verdicts of the policy rules, if one fitted. */
      ruling: RULING,
      /**
       * Only if `kind` is `ask`: the authority that decides. Absent: the worker has no approvers file, so anybody may
       * decide.
       */
      authority: AUTHORITY,
      /**
       * Only if `kind` is `ask`: the grant that replaces the decision. A person is asked only if the grant turns out
       * not to allow the call.
       */
      grant: GRANT_MARK,
      /**
       * Only if `kind` is `ask`: a question to a person. The person's answer is the result of the call, which never
       * runs.
       */
      question: QUESTION,
      /** Only for a question that a call asks while it runs: the id of the call that asks and gets the answer. */
      askedBy: text(),
    },
  );

/** A call that may run: immediately (`run`) or when a person has decided (`ask`). */
export interface ValidCall extends Of<ReturnType<typeof validCall>> {}

const REMOTE_CALL = object(
  both(CALL_HEAD, {
    kind: oneOf(['remote']),
    taskQueue: QUEUE,
    /** Arguments as the model wrote them. */
    raw: text(),
  }),
  {
    /**
     * In a fork, or on another build: why a person has to decide the call, even if safety and policy would let it run.
     */
    askFirst: text(),
    /** Only for a call that was asked about on another build: the digest of its tool on that build. */
    toolDigest: text(),
  },
);

/** A call whose tool lives on another queue: a `countersign.prepare` activity there makes it valid or invalid. */
export interface RemoteCall extends Of<typeof REMOTE_CALL> {}

const RECORDED_CALL = object(
  both(CALL_HEAD, {
    kind: oneOf(['recorded']),
    /** The arguments that the model asked for. */
    proposed: jsonObject(),
    result: RESULT,
  }),
  {
    /** The text that the model wrote as arguments, if it could not be parsed. */
    raw: text(),
  },
);

/**
 * A call whose result is taken from a record: in a fork from the record of the other turn, and after a move to another
 * build from the previous run. It never runs.
 */
export interface RecordedCall extends Of<typeof RECORDED_CALL> {}

export type PreparedCall = InvalidCall | ValidCall | RemoteCall | RecordedCall;

/** The schema of a prepared call. If the call may run, its tool has to fit `tool`. */
export function preparedCall(tool: Shape<string>): Shape<PreparedCall> {
  return byField(
    'kind',
    [['run', 'ask'], validCall(tool)],
    [['invalid'], INVALID_CALL],
    [['remote'], REMOTE_CALL],
    [['recorded'], RECORDED_CALL],
  );
}

/** The schema of the output of `countersign.prepare`. If the call may run, its tool has to fit `tool`. */
export function prepareOutput(tool: Shape<string>) {
  return object({ call: preparedCall(tool) }, { schema: jsonObject() });
}

/** Whether a call may run, either immediately or once a person has decided. */
export function isValidCall(call: PreparedCall): call is ValidCall {
  return call.kind === 'run' || call.kind === 'ask';
}

/**
 * The time that people have to decide a request, in milliseconds. The rule that decides can only shorten it. Null: the
 * request never expires.
 */
export function timeToDecide({
  settings,
  authority,
}: Pick<ValidCall, 'settings' | 'authority'>): number | null {
  const times = [settings.requestExpiresMs, authority?.rule.expiresMs].flatMap((ms) => ms ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

/** The arguments of a call: those that would run or, if it cannot run, those that the model asked for. */
export function argumentsOf(call: PreparedCall): JsonObject {
  if (call.kind === 'remote') return {};
  return isValidCall(call) ? call.arguments : call.proposed;
}

/** Text without control characters and other invisible characters. */
const plain = (maxLength: number) => text({ minLength: 1, maxLength, pattern: '^[^\\p{C}\\p{Zl}\\p{Zp}]*$' });

/** The schema of a W3C `traceparent`. */
const TRACE = text({ pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$' });

/** The schema of a turn's origin that comes from outside. */
export const ORIGIN = refined(
  object(
    {},
    {
      requester: plain(200),
      /** Other people whose messages the turn has taken up since. */
      others: list(plain(200), { maxItems: MOST_OTHERS }),
      metadata: record(plain(128), {
        maxProperties: 16,
        propertyNames: { pattern: '^[a-z][a-z0-9_.-]{0,31}$' },
      }),
      /** The span in which the turn was started, as a W3C `traceparent`. */
      trace: TRACE,
    },
  ),
  { additionalProperties: false },
);

/** The person who asked for a turn, and further facts. Whoever starts the turn only claims them. */
export interface TurnOrigin extends Of<typeof ORIGIN> {}

/** Input of a tool's activity. */
export interface CallInput extends CallBase {
  agent: string;
  /** The key of this call of this reply. It stays the same when a reset keeps the reply. */
  callKey: string;
  /** 0 at first. Each `run-again` adds one. */
  generation: number;
  arguments: JsonObject;
  argsDigest: string;
  toolDigest: string;
  effect: Effect;
  timeoutMs: number;
  /** The decision by which this call runs, which no other call can use. Absent for calls that need no decision. */
  decision?: SpentDecision;
  /** The grant that lets the call start without a decision. */
  grant?: GrantMark;
  /** The authority when the request was made. The worker's own file can only make it stricter. */
  authority?: Authority;
  /** The arguments that the model asked for. Set only if a person changed them. */
  proposed?: JsonObject;
  /** The approved file plan. */
  plan?: FilePlan;
  /** The turn is a fork in a dry world, so only a pure call that needs no decision may reach its handler. */
  dry?: true;
  /** Only for a call that shares state with others: where the state is, as far as the turn knows. */
  state?: PlacedState;
  /**
   * Set only for unsafe calls, and for calls that may ask people. The workflow draws the secret for this execution.
   * Whoever reports the outcome late, or asks in the name of the call, has to know the secret. The secret is in no
   * memo, so people who list turns cannot forge a report.
   */
  secret?: string;
  /**
   * An attempt may have run elsewhere: on the worker that held the state of the call, or in the run that this run was
   * reset from. The worker finds out about that run by itself. Never set for an unsafe call.
   */
  mayHaveRun?: true;
  /**
   * The number of times that this call was given back: a worker lacked the agent or tool, a pause held the call, the
   * worker that held the state did not take the call, or the decision did not hold. Absent: never.
   */
  round?: number;
  /** See `CallSettings`. */
  askMs?: number;
  /** Set only for a call that is a child turn. */
  child?: ChildAsked;
  /** The origin of its turn. */
  origin?: TurnOrigin;
  /** The first run of this workflow. A different run means that an operator reset the workflow. */
  originalRunId: string;
  /**
   * Set only in a run that a reset made: the id of that run, if it got the call after the reset. Absent: the run before
   * the reset may know the call.
   */
  askedIn?: string;
  /** As `askedIn`, if the decision by which the call runs came after the reset. */
  decidedIn?: string;
}

/** The part of a decision that its call keeps. `hunks`: the accepted hunks. Absent: all hunks. */
export interface SpentDecision {
  decisionId: string;
  decision: 'approved' | 'modified';
  approver: string;
  /** The digest of what the decision allows: arguments, preview and plan. See `seenDigestOf`. */
  seenDigest: string;
  /** The digest of the preview that was shown. Absent: no preview was shown. */
  previewDigest?: string;
  reason?: string;
  hunks?: string[];
  /** Only if rules say who decides: the votes that made the decision. */
  votes?: Vote[];
  /**
   * The person who changed the arguments, and the reason. This is not the approver if somebody had to look at the
   * changed call again.
   */
  edit?: { approver: string; reason?: string };
}

/** The roster may be anything, because it is only a record. `rosterIn` reads it. */
const STARTED_BY = { grant: GRANT_USE, roster: anything() };

/** The grant and the signatures by which a call started. */
export interface StartedBy {
  grant?: GrantUse;
  /**
   * The roster by which the worker accepted the signatures. It serves only as a record: anybody may have written it.
   */
  roster?: Roster;
}

export const CALL_PROGRESS = object(
  {},
  {
    /** The part that is done, from 0 to 1. */
    fraction: number(),
    text: text(),
  },
);

/** The progress of a call, as its handler reports it. */
export interface CallProgress extends Of<typeof CALL_PROGRESS> {}

const IN_DOUBT = object(
  { message: text() },
  {
    /** The facts that are known so far, such as partial output. */
    partial: text(),
    /** The last progress that the call reported. */
    progress: CALL_PROGRESS,
    /**
     * The handler was aborted and still ran at this moment. So a check that finds no effect proves nothing. Absent: the
     * handler did not run any more.
     */
    running: only(true),
  },
);

/** Why the outcome of a started call is unknown. */
export interface InDoubt extends Of<typeof IN_DOUBT> {}

/** What the worker adds if it gives a call back without starting it. */
const GIVEN_BACK = {
  /**
   * The secret of the call's input. Set only for an unsafe call. An operator who completes a running call does not know
   * this secret.
   */
  secret: text({ maxLength: 1000 }),
  /** Proves to other workers, by the keys that they share, that the call did not start. Absent: there are no keys. */
  proof: text(),
};

const ASK_AGAIN = object(
  {
    /** Why a person has to look again. */
    askAgain: text(),
  },
  both(GIVEN_BACK, {
    /** The voters whose votes do not count. Other votes still count. Absent: the decision as a whole does not count. */
    struck: ASKED_AGAIN.struck,
    /** The authority by the worker's own file. Absent: the authority has not changed. */
    authority: AUTHORITY,
    /** An attempt before this one may have run. Never set for an unsafe call. */
    mayHaveRun: only(true),
  }),
);

/** The handler was not called: the decision does not count in this run, or the rules do not accept it. */
export interface AskAgain extends Of<typeof ASK_AGAIN> {}

const NOT_HERE = object(
  {
    /** The missing part, in words. */
    notHere: text(),
  },
  GIVEN_BACK,
);

/** The worker that took the call lacks its agent or tool. The call did not start, and its decision remains valid. */
export interface NotHere extends Of<typeof NOT_HERE> {}

const PAUSED = object(
  {
    /** The pause that holds the call, or why it is not known, in words. */
    paused: text(),
  },
  both(GIVEN_BACK, {
    /** An attempt before this one may have run. Never set for an unsafe call. */
    mayHaveRun: only(true),
  }),
);

/**
 * Somebody paused the call, or the worker could not find out whether it is paused. The call did not start, and its
 * decision remains valid.
 */
export interface Paused extends Of<typeof PAUSED> {}

/** The call is a child turn, which may start or exists already. */
const CHILD_READY = object(
  { child: oneOf(CHILD_LOOKS) },
  both(STARTED_BY, {
    /** The parent of the child turn's spans, as a W3C `traceparent`. Absent: its worker writes no spans. */
    trace: TRACE,
  }),
);

const USED = both(STARTED_BY, USED_STATE);

/** The schema of the output of a tool's activity. */
export const CALL_OUTPUT = either(
  object({ result: RESULT }, both({ contentDigest: ANY_NAME }, USED)),
  object({ inDoubt: IN_DOUBT }, USED),
  ASK_AGAIN,
  NOT_HERE,
  PAUSED,
  CHILD_READY,
);

/**
 * Output of a tool's activity. It is the outcome with the SHA-256 of its content, or a note that nobody knows the
 * outcome, that the decision does not hold, or that the call did not start.
 */
export type CallOutput = Of<typeof CALL_OUTPUT>;

/**
 * Whether one of our workers really asks for a person to look again. It says so only of a request and, for an unsafe
 * call, only with the secret of that call. From any other sender, it proves nothing.
 */
export function isAskable(
  { kind, settings }: Pick<ValidCall, 'kind' | 'settings'>,
  secret: string | undefined,
  said: Pick<AskAgain, 'authority' | 'secret'>,
): boolean {
  if (kind !== 'ask' && said.authority === undefined) return false;
  return settings.effect !== 'unsafe' || (secret !== undefined && said.secret === secret);
}

/** Input of `countersign.held`, an activity that ends once no pause holds the call. */
export interface HeldInput {
  agent: string;
  tool: string;
}

/** The details in the heartbeats of an attempt, for people who watch and for a later attempt. */
export interface Beat {
  /** Only for an unsafe call: its idempotency key. It tells a later attempt not to run the call again. */
  key?: string;
  progress?: CallProgress;
  /** The end of the output that the handler has reported so far. */
  partial?: string;
  /** The data that the handler keeps for the next attempt. */
  checkpoint?: Json;
  /** Only for `think`, if the text is not streamed: the beginning of the text that the model has written so far. */
  text?: string;
  /** Only for a burst: the step that `text` belongs to. */
  step?: number;
}

/** Input of `countersign.verify`. */
export interface VerifyInput extends CallBase {
  agent: string;
  origin?: TurnOrigin;
  callKey: string;
  generation: number;
  arguments: JsonObject;
}

export const VERIFY_OUTPUT = byField(
  'outcome',
  [['happened'], object({ outcome: oneOf(['happened']), result: RESULT })],
  [['did_not', 'cannot_tell'], object({ outcome: oneOf(['did_not', 'cannot_tell']), message: text() })],
);

/** Output of `countersign.verify`. */
export type VerifyOutput = Of<typeof VERIFY_OUTPUT>;

/** The schema of `AskedQuestion`. */
export const ASKED_QUESTION = object({
  callId: text(),
  callKey: text(),
  generation: number(),
  /** The secret of the execution that asks. See `CallInput`. */
  secret: text(),
  /** The attempt of the call's activity. A later attempt replaces an attempt that was lost. */
  attempt: number(),
  /** Counts the questions of one attempt, so that a withdrawal never takes back a later question. */
  number: number(),
});

/**
 * Names a question that a running call asked. It is also the payload of the `withdraw` signal, which says that nobody
 * waits for the answer any more.
 */
export interface AskedQuestion extends Of<typeof ASKED_QUESTION> {}

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

/**
 * Payload of the `outcome` signal. A call that had been given up, and then ends, reports its result with this signal.
 */
export interface OutcomeReport {
  callKey: string;
  generation: number;
  /** The secret of the execution that reports. See `CallInput`. */
  secret: string;
  result: ToolResult;
}
