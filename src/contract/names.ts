import type { CallFacet } from './turn-states';

/** The task queue of a worker and its turns, unless the config sets another. */
export const TASK_QUEUE = 'countersign';

/** The deployment of workers with a build id, unless the config sets another. */
export const DEPLOYMENT = 'countersign';

/** The prefix of queues that only one worker polls. Calls that share state go there. See `StateHolder`. */
export const HOLDER_QUEUE = 'countersign-worker:';

/** The name of the queue that one worker polls alone: its process, its machine and a random part. */
export function holderQueue({ pid, host }: { pid: number; host: string }, random: string): string {
  return `${HOLDER_QUEUE}${pid}@${host}:${random}`;
}

/** Workflow types. */
export const WORKFLOWS = {
  turn: 'agentTurn',
  session: 'agentSession',
  control: 'countersignControl',
  grant: 'countersignGrant',
} as const;

/**
 * The workflow that holds the pauses of a namespace. A namespace has one such workflow. Every worker of turns polls its
 * queue, on which grants have their workflows, too.
 */
export const CONTROL = { workflowId: 'countersign-control', taskQueue: 'countersign-control' } as const;

/** The id of the workflow of one grant. */
export const grantWorkflowId = (id: string): string => `countersign-grant-${id}`;

/** Our own activity types. The type of a tool's activity is the name of the tool. */
export const ACTIVITIES = {
  think: 'countersign.think',
  burst: 'countersign.burst',
  prepare: 'countersign.prepare',
  verify: 'countersign.verify',
  child: 'countersign.child',
  recall: 'countersign.recall',
  compact: 'countersign.compact',
  held: 'countersign.held',
  gate: 'countersign.gate',
} as const;

/**
 * Signals. They are durable as soon as the server has taken them, even if no worker runs. A workflow cannot refuse them
 * to the sender. `approval` carries a Decision, `resolution` a Resolution, `answer` a QuestionAnswer, `outcome` an
 * OutcomeReport (from a call that had been given up), `abandon` an Abandonment, `withdraw` an AskedQuestion (from a
 * call that runs). A turn also takes `words`, a TurnWords from its session. A session takes `send`, a SessionMessage,
 * and `control`, a SessionControl. A grant takes `revoke`, a RevokeAsked.
 */
export const SIGNALS = {
  approval: 'approval',
  resolution: 'resolution',
  answer: 'answer',
  outcome: 'outcome',
  abandon: 'abandon',
  withdraw: 'withdraw',
  words: 'words',
  send: 'send',
  control: 'control',
  revoke: 'revoke',
} as const;

/**
 * Updates. A live worker has to answer them, and a refused update leaves no trace in history. `move` asks a turn that
 * only waits to continue in a new run on the current build; it is refused with FAILURES.held. A running call uses `ask`
 * to ask a person; it is answered with a CallReply, or refused with FAILURES.ask. The workflow of CONTROL takes `pause`,
 * which is answered with a PauseTaken, and `resume`, with the pauses that ended, or refuses them with FAILURES.pause. A
 * grant takes `confirm`, `revoke` and, from the worker of a call, `use`, which is answered with a UseTaken, or refuses
 * them with FAILURES.grant.
 */
export const UPDATES = {
  decide: 'decide',
  resolve: 'resolve',
  answer: 'answer',
  ask: 'ask',
  move: 'move',
  send: 'send',
  control: 'control',
  pause: 'pause',
  resume: 'resume',
  confirm: 'confirm',
  revoke: 'revoke',
  use: 'use',
} as const;

/**
 * Queries. `transcript` answers with one TranscriptPage, `tools` with a list of ChangedTool, `record` with the record
 * that a session keeps of a turn. A session answers `transcript` and `session`, a SessionView.
 */
export const QUERIES = {
  transcript: 'transcript',
  tools: 'tools',
  record: 'record',
} as const;

/**
 * The search attributes from which the inbox is made. Search attributes are never encrypted. They hold opaque ids, tool
 * names, and the facts with which a turn was started. `tools`: the tools that wait for a person now, `askedBy()` of each
 * tool that ever asked, and `facetMark()` of what happened to calls. All are in one attribute, because a SQL visibility
 * store has three lists for all applications of a namespace.
 */
export const SEARCH_ATTRIBUTES = {
  state: 'CountersignState',
  pending: 'CountersignPending',
  tools: 'CountersignTools',
  deadline: 'CountersignDeadline',
  agent: 'CountersignAgent',
  metadata: 'CountersignMetadata',
} as const;

/** The type of each search attribute, in Temporal's words. */
const ATTRIBUTE_TYPES = {
  state: 'KEYWORD',
  pending: 'INT',
  tools: 'KEYWORD_LIST',
  deadline: 'DATETIME',
  agent: 'KEYWORD',
  metadata: 'KEYWORD_LIST',
} as const satisfies Record<Attribute, string>;

/** The search attributes, by the words for them in our code. */
export const ATTRIBUTES = ['state', 'pending', 'tools', 'deadline', 'agent', 'metadata'] as const;
type Attribute = (typeof ATTRIBUTES)[number];

/** The key of a search attribute: its name and its type, as `defineSearchAttributeKey` makes it. */
export function attributeKey<A extends Attribute>(
  attribute: A,
): { name: (typeof SEARCH_ATTRIBUTES)[A]; type: (typeof ATTRIBUTE_TYPES)[A] } {
  return { name: SEARCH_ATTRIBUTES[attribute], type: ATTRIBUTE_TYPES[attribute] };
}

/** Temporal's own search attribute of a workflow that a schedule started: the schedule's id. */
export const SCHEDULED_BY = 'TemporalScheduledById';

/** A tool that ever asked a person in the turn, in `tools`. No name of a tool has a colon. */
export const askedBy = (tool: string): string => `asked:${tool}`;
/** What happened to a call of the turn, in `tools`. */
export const facetMark = (facet: CallFacet): string => `was:${facet}`;

/**
 * Memo keys. `prompt`: the beginning of the prompt. `fork`: a ForkOrigin. `lineage`: Ancestor[]. `open`: an OpenMemo.
 * `closed`: a ClosedMemo. `verdicts`: SignalVerdict[]. `session`: in a turn the id of its session, in a session a
 * SessionMemo. `call`: in a turn that was started with its call, a CallMemo. `pauses`: Pause[], in the workflow of CONTROL. In the workflow of a grant `grant`, a GrantShown, and
 * `uses`, their number.
 */
export const MEMO = {
  prompt: 'prompt',
  fork: 'fork',
  lineage: 'lineage',
  open: 'open',
  closed: 'closed',
  verdicts: 'verdicts',
  session: 'session',
  call: 'call',
  pauses: 'pauses',
  grant: 'grant',
  uses: 'uses',
} as const;

/** Memo key through which a whole call gets into history: a ValidCall, which the next command takes out again. */
export const gateMemoKey = (callId: string): string => `gated.${callId}`;

/** The value of CountersignDeadline if the requests of a turn never expire. */
export const NEVER = '9999-12-31T00:00:00.000Z';

/** The agent of the calls that come through the gateway, unless the gateway serves another agent. */
export const GATEWAY_AGENT = 'gateway';

/** The form of a tool's name: snake_case. The names in RESERVED_TOOL_NAMES are taken. */
export const TOOL_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** The tool names with which a turn asks for more budget: for itself, or for its session. */
export const RAISE_BUDGET = 'raise_budget';
export const RAISE_SESSION_BUDGET = 'raise_session_budget';

/** Names that a tool cannot have: Temporal's catch-all activity, and the requests for more budget. */
export const RESERVED_TOOL_NAMES: readonly string[] = ['default', RAISE_BUDGET, RAISE_SESSION_BUDGET];

/** The providers in model names of the form `provider:model`. */
export const MODEL_PROVIDERS = ['openai', 'anthropic', 'google'] as const;

/** The kinds of a model's failures that are retried, and those that are not. */
export const RETRIED_FAILURES = ['rate_limit', 'timeout', 'server', 'network'] as const;
export const FINAL_FAILURES = ['auth', 'refused', 'request'] as const;

/** Types of the failures that cross from activities to workflows. */
export const FAILURES = {
  /** Temporal's own type, for an activity type that the worker does not have. */
  notRegistered: 'NotFoundError',
  /** A call that may run again. The details hold its ToolResult up to now. */
  retry: 'countersign.retry',
  /** The model failed and is not asked again. The turn fails. */
  model: 'countersign.model',
  /** A worker lacks the agent or tool of a task. Another worker may have it. */
  notHere: 'countersign.not_here',
  /** The turn cannot start or go on. */
  turn: 'countersign.turn',
  /** The turn cannot move to another build now. */
  held: 'countersign.held',
  /** A call may not ask a person, or may not ask this question. */
  ask: 'countersign.ask',
  /** Other calls of the turn ask already. The call asks again soon. */
  askLater: 'countersign.ask_later',
  /** A workflow uses its gate wrongly. */
  gate: 'countersign.gate',
  /** Somebody paused the call that was about to start. The call is tried again. */
  paused: 'countersign.paused',
  /** A request about pauses was refused. The details hold a PauseRefused. */
  pause: 'countersign.pause',
  /** A request about grants was refused. The details hold a GrantRefused. */
  grant: 'countersign.grant',
} as const;

/**
 * Ids of every `patched()` that a released turn has or had. A history with another id comes from a newer version. There
 * are none yet. An id is never taken out, because histories keep it.
 */
export const PATCHES: readonly string[] = [];

/**
 * The key of a call: the id of the reply that asked for it, and the call's own id. A reset that keeps the reply keeps
 * the key.
 */
export function callKey(replyId: string, callId: string): string {
  return `${replyId}:${callId}`;
}

/** The id of a call of a reply: its step, and its place in the reply. `index` counts the calls of the reply from 0. */
export function callIdIn(step: number, index: number): string {
  return `${step}.${index + 1}`;
}

/** The step that an id of a call, or a step alone, names. 0 for an id that a user's workflow chose. */
export function stepOfCall(callId: string): number {
  return Number(callId.split('.')[0]) || 0;
}

/** The id in place of a provider's id for a call of a reply without one. `index` counts the calls of the reply from 0. */
export function ownCallId(step: number, index: number): string {
  return `call_${step}_${index + 1}`;
}

/**
 * The key of one execution of a call, for its handler and our journal. `run-again` makes a new key, a retry does not.
 */
export function idempotencyKey(call: { callKey: string; generation: number }): string {
  return `${call.callKey}:${call.generation}`;
}

/** Ids of activities in history, by purpose. */
export const activityIds = {
  think: (step: number, asked = 1) => `think-${step}${again(asked)}`,
  burst: (step: number, asked = 1) => `burst-${step}${again(asked)}`,
  prepare: (callId: string, asked = 1) => `prepare-${callId}${again(asked)}`,
  recall: (turn: string, asked = 1) => `recall-${turn}${again(asked)}`,
  compact: (turns: number) => `compact-${turns}`,
  held: (callId: string, round: number) => `held-${callId}-${round}`,
  call: (callId: string, generation: number) => `call-${callId}-${generation}`,
  child: (callId: string, asked = 1) => `child-${callId}${again(asked)}`,
  verify: (callId: string, generation: number, asked = 1) => `verify-${callId}-${generation}${again(asked)}`,
} as const;

/** The end of an activity's id if the activity is scheduled again because its result could not be read. */
function again(asked: number) {
  return asked === 1 ? '' : `-again-${asked - 1}`;
}

/** The forms of `activityIds`. A user's workflow chooses the ids of its calls, so only some forms may end with `again`. */
const ACTIVITY_IDS = [
  /^(call|held)-(.+)-(\d+)$/,
  /^(verify)-(.+?)-(\d+)(?:-again-\d+)?$/,
  /^(think|burst|prepare|recall|compact|child)-(.+?)(?:-again-\d+)?$/,
];

/**
 * The parts of an activity's id. `of`: the step, the call, the turn or the number of turns. `number`: the generation or
 * the round, 0 if the id has none. Undefined if `activityIds` makes no such id.
 */
export function parseActivityId(id: string): { what: string; of: string; number: number } | undefined {
  const parts = ACTIVITY_IDS.map((form) => form.exec(id)).find((found) => found !== null);
  if (parts === undefined) return undefined;
  const [, what = '', of = '', number = '0'] = parts;
  return { what, of, number: Number(number) };
}

/**
 * The header in which our page names the person whom it shows as signed in, percent-encoded. In the address of a stream,
 * the parameter of this name.
 */
export const USER_HEADER = 'countersign-user';

/** The place of a call on the page of the web inbox: the fragment of its address. */
export function callFragment(turn: string, callId: string): string {
  return `#/turns/${encodeURIComponent(turn)}/calls/${encodeURIComponent(callId)}`;
}
