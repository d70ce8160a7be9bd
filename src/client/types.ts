import type { Client, Connection } from '@temporalio/client';
import type { EncryptionOptions } from '../encryption/keys';
import type { Ancestor, CallProgress } from '../contract/call';
import type { OpenItem } from '../contract/open-item';
import type { OpenMemo } from '../contract/turn';
import type { LISTED_STATES } from '../contract/turn-states';
import { type CallFacet } from '../contract/turn-states';
import type { ForkRequest } from '../history/fork';
import type { TurnEvent } from '../history/events';
import type { ScheduleSummary, ScheduleTimes } from './schedule-types';
import type { StartRequest } from './requests';
import type { StreamPlace } from '../contract/streamed-text';
import type { Accepted, Refused } from '../contract/decision';

type ListedState = (typeof LISTED_STATES)[number];

/** The address of the Temporal server. Options that are not given come from `TEMPORAL_*` and `temporal.toml`. */
export interface ConnectOptions {
  /** `host:port`. @default `TEMPORAL_ADDRESS`, then temporal.toml, then `localhost:7233` */
  address?: string;
  /** @default `TEMPORAL_NAMESPACE`, then temporal.toml, then `default` */
  namespace?: string;
  /** Profile of temporal.toml. @default `TEMPORAL_PROFILE`, then `default` */
  profile?: string;
  /** The environment that the defaults are read from. @default `process.env` */
  env?: NodeJS.ProcessEnv;
  /** Shown by Temporal as the caller. @default the SDK's `<pid>@<host>` */
  identity?: string;
  /** Your own connection. It stays open, and `address` has no effect. */
  connection?: Connection;
  /** Your own client, with its data converter. No other option has an effect then. */
  client?: Client;
  /**
   * Keys that encrypt the payloads that Temporal keeps. The workers must have the same keys. @default those of
   * `COUNTERSIGN_ENCRYPTION_*`
   */
  encryption?: EncryptionOptions;
  /**
   * The store for the files of messages: a folder, or `s3://bucket/prefix`. The workers must use the same store.
   * @default `COUNTERSIGN_FILES`. Without it, no files can be sent.
   */
  files?: string;
  /**
   * The web inbox from which `followWithText` gets the text of models while they write it.
   * @default `COUNTERSIGN_STREAM_URL` and `COUNTERSIGN_STREAM_TOKEN`. Without them, the beginning of the text comes
   * from Temporal, some seconds late.
   */
  stream?: StreamPlace;
  /** The longest wait for the server, in milliseconds. @default 10000, Temporal's own */
  timeoutMs?: number;
  /** The time that `start` waits for a namespace that lacks our search attributes, in milliseconds. @default 60000 */
  readyMs?: number;
}

/** A build of a deployment. */
export interface BuildId {
  build: string;
  /** @default 'countersign' */
  deployment?: string;
}

/** A build, with the turns that are open on it. */
export interface Build {
  build: string;
  /**
   * `current`: new turns begin on it. `draining`: older turns are open on it. `drained`: no turn is open on it.
   * `unused`: it was never current.
   */
  state: 'current' | 'ramping' | 'draining' | 'drained' | 'unused';
  /** The number of open turns. */
  turns: number;
  /** The number of open turns that wait for people and have no call in doubt. */
  waiting: number;
  /** The number of open turns with a call in doubt. */
  inDoubt: number;
  /** The number of open sessions. */
  sessions: number;
  /** Only of a build that drains: open turns that stay on it, because a reset made their run. Ten at most. */
  resets?: string[];
}

/** The builds of a deployment. */
export interface Builds {
  deployment: string;
  /**
   * The build on which new turns begin. Null if no build is current: new turns then begin on workers without a build
   * id.
   */
  current: string | null;
  builds: Build[];
}

/** How a build is drained. */
export interface DrainOptions {
  /** The time over which the moves of its turns are spread, in milliseconds. @default 50 for each turn */
  spreadMs?: number;
}

/**
 * The outcome for an open turn or session of a build that is drained. `held`: it stays on the build, because something
 * in it runs or was decided or the server refuses to ask it (`busy`), or because no worker answered for it
 * (`no_worker`).
 */
export type Drained =
  | { id: string; outcome: 'moved' | 'ended' }
  | { id: string; outcome: 'held'; why: 'busy' | 'no_worker'; reason: string };

/** A turn that was started. */
export interface StartedTurn {
  turn: string;
  runId: string;
}

/** A fork to start: from a turn on this server, or from an exported history. */
export interface ForkTurnRequest extends ForkRequest {
  /** The turn to fork. Exactly one of `turn` and `history` is set. */
  turn?: string;
  /** An exported history, as text or parsed. The turn need not be on this server. */
  history?: unknown;
  /** The id of the fork. @default as for `start` */
  id?: string;
  /** Queue of the worker that has the agent. @default that of the turn */
  taskQueue?: string;
}

/** Why a turn is reset, and by whom. Both are kept on record. */
export interface ResetReason {
  /** @default none */
  reason?: string;
  /** Not verified. @default 'somebody' */
  approver?: string;
}

/** A fork that was started. */
export interface StartedFork extends StartedTurn {
  /** The turn that was forked. */
  of: string;
  /** Every event of that turn so far, for a comparison. */
  events: readonly TurnEvent[];
}

/**
 * The outcome of sending a decision, a resolution or an answer to a question. `recorded`: no worker answered in time.
 * The message is durable and takes effect when a worker returns.
 */
export type Answer =
  | { status: 'accepted'; verdict: Accepted }
  | { status: 'refused'; verdict: Refused }
  | { status: 'recorded'; decisionId: string };

/** An answer that is not a refusal. */
export type TakenAnswer = Exclude<Answer, { status: 'refused' }>;

/**
 * One line of the inbox: a request, a question or a call in doubt, with everything that visibility knows about it.
 * Details come from `view`.
 */
export interface InboxItem extends OpenItem {
  turn: string;
  agent: string;
  callKey: string;
  /** The beginning of the prompt. */
  prompt: string;
  /** The calls that led to a child turn, the call of the first turn first. Absent for other turns. */
  lineage?: Ancestor[];
  /** The session that its turn belongs to. Absent: the turn belongs to none. */
  session?: string;
  /** See `TurnSummary`. */
  callers?: string[];
  /** The model that asked for it, and what people should know about its reply. Absent: nothing. */
  by?: OpenMemo['by'];
}

/** The waiting items that have been read so far. */
export interface Waiting {
  /**
   * Calls in doubt come first, then the earliest deadlines. Items that never expire come last. The list stays the same
   * object until something changes.
   */
  items: readonly InboxItem[];
  /** False until everything has been read once. */
  isComplete: boolean;
  /** Increases with every change. */
  version: number;
}

/** The items that wait after a query to visibility, and the turns to which that query drew attention. */
export interface WaitingStep extends Waiting {
  /**
   * The turns in which visibility showed something new since the last answer. Empty until everything has been read
   * once.
   */
  found: readonly string[];
  /**
   * The turns for which visibility differs from what was read of them. Either visibility is behind, or the turns
   * changed.
   */
  doubted: readonly string[];
}

/** Keeps everything that waits in memory. A program that watches the inbox has one reader. */
export interface InboxReader {
  /**
   * Reads the next page: one query to visibility, up to 1,000 turns. Begins again after the last page, and after an
   * error. Waits if there would otherwise be more than two queries a second.
   *
   * @throws CountersignError `no_server`, `server_busy` with `data.retryInMs`, `not_ready`, `key_missing`,
   * `server_failed`.
   */
  next(): Promise<WaitingStep>;
  /**
   * Reads one turn as the server has it now, without visibility, which lags behind. `isChanged`: something else waits
   * in it.
   *
   * @throws CountersignError as `next`.
   */
  read(turn: string): Promise<{ waiting: Waiting; isChanged: boolean }>;
  /** Makes visibility decide again what waits in this turn, because an earlier read of the turn may be too old. */
  forget(turn: string): void;
}

/** One turn, as visibility knows it. */
export interface TurnSummary {
  turn: string;
  runId: string;
  agent: string;
  /** `terminated` and `timed_out`: the turn was ended from outside. */
  state: ListedState;
  /** The number of requests, questions and calls in doubt. */
  pending: number;
  /** The turn of which this turn is a fork. Absent: this turn is not a fork. */
  forkOf?: string;
  /** The schedule that started the turn. Absent: no schedule started it. */
  schedule?: string;
  /** The session that the turn belongs to. Absent: the turn belongs to no session. */
  session?: string;
  /**
   * Agents of the turns that led to a child turn, or to a fork of a child turn. '' stands for an agent that is not
   * known.
   */
  callers?: string[];
  /** What happened to its calls. Failures and grants are known from the next change of what waits on, or from its end on. */
  facets?: CallFacet[];
  /** The beginning of the prompt. */
  prompt: string;
  /** ISO 8601. */
  startedAt: string;
  /** ISO 8601. Null while the turn is open. */
  endedAt: string | null;
}

export interface ListQuery {
  state?: TurnSummary['state'];
  agent?: string;
  /** Only turns of these agents. The turns that led to such a turn have to be of these agents, too. */
  agents?: readonly string[];
  /** Only turns that the schedule with this id started. */
  schedule?: string;
  /** Only turns that were started with all of these facts. */
  metadata?: Record<string, string>;
  /** Only turns that are open, or ended at this time or later. ISO 8601. */
  since?: string;
  /**
   * The beginning of the id, or a part of the prompt's beginning. For the prompt, the newest 2,000 turns are looked at.
   */
  search?: string;
  /** @default 50 */
  limit?: number;
}

/** Which turns to list, and where to begin. */
export interface TurnsQuery {
  state?: TurnSummary['state'];
  agent?: string;
  /** See `ListQuery`. */
  agents?: readonly string[];
  /** Only turns that started at this time or later. ISO 8601. */
  from?: string;
  /** Only turns that started before this time. ISO 8601. */
  to?: string;
  /** The beginning of the id. */
  id?: string;
  /** Only turns in which this tool ever asked a person. */
  tool?: string;
  /** Only turns in which this happened to a call, as `TurnSummary.facets` says. */
  facet?: CallFacet;
  /**
   * A part of the id, the agent or the beginning of the prompt. The next 2,000 turns that match the other fields are
   * searched.
   */
  text?: string;
  /** The `older` of the previous page. */
  older?: string;
  /** @default 200 */
  limit?: number;
}

/** A page of turns: open turns first, then the turns that ended last. */
export interface TurnsPage {
  turns: TurnSummary[];
  /**
   * Where the next page begins. Null if there is none. With `text` or `agents`, a page looks at 2,000 turns at most,
   * so it may hold fewer than the limit, or none, although there are older ones. A turn that was reset may occur once more on a later page,
   * with an earlier run.
   */
  older: string | null;
  /** With `text`: the number of turns that were searched, and whether these were all. */
  searched?: { turns: number; isAll: boolean };
}

/** The runs to list. Without any field, all runs are listed. */
export interface RunQuery {
  /** Your own visibility query. The other fields then have no effect. */
  query?: string;
  /** The whole id of a turn. */
  turn?: string;
  agent?: string;
  /** Only runs that are open, or closed at this time or later. ISO 8601. */
  since?: string;
  /** Only runs that started before this time. ISO 8601. */
  until?: string;
}

/** One run of a turn. A turn has several runs if it continued as new or was reset. */
export interface RunSummary {
  turn: string;
  runId: string;
  /** ISO 8601. */
  startedAt: string;
  open: boolean;
}

/** One activity that is not closed yet. History has it only when it closes. */
export interface PendingActivity {
  what: 'think' | 'prepare' | 'call' | 'child' | 'verify' | 'held';
  /** The call of the activity. Absent for `think`. */
  callId?: string;
  /** The tool, or the activity's type. */
  name: string;
  state: 'scheduled' | 'started' | 'cancel_requested' | 'paused';
  taskQueue: string;
  attempt: number;
  /** The most attempts that are made. 0: there is no limit. */
  maximumAttempts: number;
  /** The identity of the worker that has the activity, or had it last. */
  worker?: string;
  startedAt?: string;
  lastHeartbeatAt?: string;
  nextAttemptAt?: string;
  lastFailure?: string;
  /**
   * Why it is `scheduled`. `worker`: no worker took it yet. `retry`: it failed and is tried again. `pause`: a pause holds
   * it. `other_worker`: the worker that took it lacks its agent or tool. `nobody`: so do all workers of its queue.
   */
  waits?: 'worker' | 'retry' | 'pause' | 'other_worker' | 'nobody';
  /** The progress that the handler reports. It may be some seconds old. */
  progress?: CallProgress;
  /** The end of the output so far. */
  partial?: string;
  /**
   * Only for `think`: the beginning of the text that the model has written, if its worker streams to no web inbox.
   */
  text?: string;
  /** Only for a burst: the step that `text` belongs to. */
  step?: number;
}

/** A workflow task that fails and is tried again. The turn stands still until one attempt succeeds. */
export interface FailingTask {
  /** The number of the attempt that comes next or runs now: 2 or more. */
  attempt: number;
  /**
   * Why the task fails, as recorded by the server: the first line, at most 500 characters. Absent: the reason is not
   * known.
   */
  reason?: string;
}

/** The activities that run right now, and the queues without a worker. */
export interface Pending {
  /** The workflow task of the turn that fails and is tried again. Absent: no workflow task fails. */
  failingTask?: FailingTask;
  activities: PendingActivity[];
  /** Queues that the turn waits on and that no worker polls. */
  idleQueues: string[];
  /** The agent of a turn that waits only for people, where the workers of its queue have only others. */
  lacks?: { agent: string; there: string[] };
}

/** A schedule to make, and the turn that it starts each time. `requester` owns the schedule. */
export interface ScheduleRequest extends ScheduleTimes, Omit<StartRequest, 'id'> {
  /** The same form as the id of a turn, at most 150 characters. The turns are called `<id>-<time in UTC>`. */
  id: string;
}

/**
 * Schedules that start turns, as Temporal Schedules: `client.client.schedule` pauses, runs and describes them. Each
 * method may throw `not_found`, `no_server`, `server_failed`.
 */
export interface Schedules {
  /**
   * Makes a schedule. It is not checked whether any worker has the agent.
   *
   * @throws CountersignError `usage` for a wrong time, zone or turn, and for times that never come. `exists`
   * if the id is taken.
   */
  add(request: ScheduleRequest): Promise<ScheduleSummary>;
  /** The schedules that start turns, by id. Schedules of other workflows are left out. */
  list(): Promise<ScheduleSummary[]>;
  /** Deletes a schedule. Turns that it started go on. */
  remove(id: string): Promise<void>;
}
