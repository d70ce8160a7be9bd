import type { History } from '../history/decode/decode';
import type { Client, Connection } from '@temporalio/client';
import type { EncryptionOptions } from '../encryption/keys';
import type { Ancestor, CallProgress } from '../contract/call';
import type { AwayList, Grants } from './control/types';
import type { Pause, PauseAsked, Pauses, PauseTaken, ResumeAsked } from '../contract/control/pauses';
import type { StreamPlace, TextDelta } from '../contract/streamed-text';
import type {
  Abandonment,
  Accepted,
  Decision,
  QuestionAnswer,
  Refused,
  Resolution,
} from '../contract/decision';
import type { ChangedTool } from '../contract/worker-tools';
import type { OpenItem, TurnState } from '../contract/turn';
import type { ForkRequest } from '../history/fork';
import type { TurnEvent } from '../history/events';
import type { ResetPlan } from '../history/reset';

import type { TurnView } from '../history/view';
import type { TurnPlace } from '../history/view-types';
import type { FileStore } from '../store';
import type { ScheduledTurns, ScheduleSummary, ScheduleTimes } from './schedule-types';
import type { FollowOptions, InboxQuery, StartRequest } from './requests';
import type { Session, SessionOptions, SessionsQuery, SessionSummary } from './session/types';

/** The address of the Temporal server. Options that are not given come from `TEMPORAL_*` and `temporal.toml`. */
export interface ConnectOptions {
  /** `host:port`. @default `TEMPORAL_ADDRESS`, then temporal.toml, then `localhost:7233` */
  address?: string;
  /** @default `TEMPORAL_NAMESPACE`, then temporal.toml, then `default` */
  namespace?: string;
  /** Profile of temporal.toml. @default `TEMPORAL_PROFILE`, then `default` */
  profile?: string;
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
  /** The longest wait for the server, in milliseconds. @default 5000 */
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
  /** Open turns. */
  turns: number;
  /** The open turns that wait for people, with no call in doubt. */
  waiting: number;
  /** The open turns with a call in doubt. */
  inDoubt: number;
  /** Open sessions. */
  sessions: number;
}

/** The builds of a deployment. */
export interface Builds {
  deployment: string;
  /** Null where no build is current. Then new turns begin on workers without a build id. */
  current: string | null;
  builds: Build[];
}

/** How a build is drained. */
export interface DrainOptions {
  /** Over how long its turns are spread, in milliseconds. @default 50 for each turn */
  spreadMs?: number;
}

/**
 * The outcome for an open turn or session of a build that is drained. `held`: it stays, because something in it runs or
 * is decided (`busy`), or because no worker answered for it (`no_worker`).
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
  /** The turn to fork. Exactly one of this and `history`. */
  turn?: string;
  /** An exported history, as text or parsed: the turn need not be on this server. */
  history?: unknown;
  /** The id of the fork. @default as for `start` */
  id?: string;
  /** Queue of the worker that has the agent. @default that of the turn */
  taskQueue?: string;
}

/** Why a turn is reset, and by whom. This is kept on record. */
export interface ResetReason {
  /** @default none */
  reason?: string;
  /** Not verified. @default 'somebody' */
  approver?: string;
}

/** A fork that was started. */
export interface StartedFork extends StartedTurn {
  /** The turn it was forked from. */
  of: string;
  /** Every event of that turn so far, to compare with. */
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
  /** The head of the prompt. */
  prompt: string;
  /** The calls that led to a child turn, the call of the first turn first. Absent for other turns. */
  lineage?: Ancestor[];
  /** The session that its turn belongs to; absent where there is none. */
  session?: string;
  /** As in `TurnSummary`. */
  callers?: string[];
}

/** The waiting items that have been read so far. */
export interface Waiting {
  /**
   * Calls in doubt first, then by deadline. Items that never expire come last. The same list until something changes.
   */
  items: readonly InboxItem[];
  /** False until everything was read once. */
  isComplete: boolean;
  /** Increases with every change. */
  version: number;
}

/** What waits after a look at visibility, and what visibility knows otherwise. */
export interface WaitingStep extends Waiting {
  /** The turns in which visibility showed something new since the last answer. Empty until everything was read once. */
  found: readonly string[];
  /** The turns of which visibility knows something other than what was read of them. It is behind, or they changed. */
  doubted: readonly string[];
}

/** Keeps everything that waits in memory. A program that watches the inbox has one. */
export interface InboxReader {
  /**
   * Reads on: one query to visibility, a page of up to 1,000 turns. Begins again after the last page, and after an
   * error. Waits where there would be more than two queries a second.
   *
   * @throws CountersignError `no_server`, `server_busy` with `data.retryInMs`, `not_ready`, `key_missing`, `server_failed`.
   */
  next(): Promise<WaitingStep>;
  /**
   * Reads one turn as the server has it now, without visibility, which lags. `isChanged`: something else waits in it.
   *
   * @throws CountersignError as `next`.
   */
  read(turn: string): Promise<{ waiting: Waiting; isChanged: boolean }>;
  /** Lets visibility say at once what waits in this turn: an earlier read of the turn may be too old. */
  forget(turn: string): void;
}

/** One turn, as visibility knows it. */
export interface TurnSummary {
  turn: string;
  runId: string;
  agent: string;
  /** `terminated` and `timed_out` are done from outside. */
  state: TurnState | 'terminated' | 'timed_out';
  /** Requests, questions and calls in doubt. */
  pending: number;
  /** The turn that it is a fork of; absent where it is not one. */
  forkOf?: string;
  /** The schedule that started it; absent where somebody did. */
  schedule?: string;
  /** The session that it belongs to; absent where there is none. */
  session?: string;
  /** Agents of the turns that led to a child turn, or to a fork of one. '' stands for an agent that is not known. */
  callers?: string[];
  /** The head of the prompt. */
  prompt: string;
  /** ISO 8601. */
  startedAt: string;
  /** ISO 8601; null while it is open. */
  endedAt: string | null;
}

export interface ListQuery {
  state?: TurnSummary['state'];
  agent?: string;
  /** Only turns of these agents. The turns that led to them have to be of these agents, too. */
  agents?: readonly string[];
  /** Only turns that this schedule started, by its id. */
  schedule?: string;
  /** Only turns that were started with these facts, all of them. */
  metadata?: Record<string, string>;
  /** Only turns that are open, or ended at that time or later. ISO 8601. */
  since?: string;
  /**
   * The beginning of the id, or a part of the prompt's beginning. For the prompt, the newest 2,000 turns are looked at.
   */
  search?: string;
  /** @default 50 */
  limit?: number;
}

/** Which turns to list, and from where. */
export interface TurnsQuery {
  state?: TurnSummary['state'];
  agent?: string;
  /** As in `ListQuery`. */
  agents?: readonly string[];
  /** Only turns that started then or later. ISO 8601. */
  from?: string;
  /** Only turns that started before. ISO 8601. */
  to?: string;
  /** Beginning of the id. */
  id?: string;
  /** Only turns in which this tool ever asked a person. */
  tool?: string;
  /** Part of the id, the agent or the prompt's head. Looks at the next 2,000 turns that match the other fields. */
  text?: string;
  /** The `older` of the page before. */
  older?: string;
  /** @default 200 */
  limit?: number;
}

/** Some turns: open turns first, then the turns that ended last. */
export interface TurnsPage {
  turns: TurnSummary[];
  /** Where the next page begins; null where there is none. A turn that was reset may come once more there, with an earlier run. */
  older: string | null;
  /** With `text`: how many turns were looked at, and whether these were all. */
  searched?: { turns: number; isAll: boolean };
}

/** The runs to list. Without any field, all runs are listed. */
export interface RunQuery {
  /** A visibility query of your own. The other fields then have no effect. */
  query?: string;
  /** The whole id of a turn. */
  turn?: string;
  agent?: string;
  /** Only runs that are open, or closed at that time or later. ISO 8601. */
  since?: string;
  /** Only runs that started before. ISO 8601. */
  until?: string;
}

/** One run of a turn. A turn has several runs where it continued as new or was reset. */
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
  /** Absent for `think`. */
  callId?: string;
  /** The tool, or the activity's type. */
  name: string;
  state: 'scheduled' | 'started' | 'cancel_requested' | 'paused';
  taskQueue: string;
  attempt: number;
  /** 0: no limit. */
  maximumAttempts: number;
  /** Identity of the worker that has it, or had it last. */
  worker?: string;
  startedAt?: string;
  lastHeartbeatAt?: string;
  nextAttemptAt?: string;
  lastFailure?: string;
  /** The progress that its handler reports. It is at most some seconds old. */
  progress?: CallProgress;
  /** The end of its output so far. */
  partial?: string;
  /**
   * Only for `think`: the beginning of the text that the model has written, where its worker streams to no web inbox.
   */
  text?: string;
  /** Only of a burst: the step of that text. */
  step?: number;
}

/** A workflow task that fails and is tried again. The turn stands still until one attempt succeeds. */
export interface FailingTask {
  /** The attempt that comes or runs now: 2 or more. */
  attempt: number;
  /** Why the task fails, as the server has it on record: the first line, at most 500 characters. Absent: not known. */
  reason?: string;
}

/** The activities that run right now, and the queues without a worker. */
export interface Pending {
  /** Absent where the workflow task does not fail. */
  failingTask?: FailingTask;
  activities: PendingActivity[];
  /** Queues that something waits on and no worker polls. */
  idleQueues: string[];
}

/** A schedule to make, and the turn that it starts each time. `requester` owns the schedule. */
export interface ScheduleRequest extends ScheduleTimes, Omit<StartRequest, 'id'> {
  /** As the id of a turn, at most 150 characters. The turns are called `<id>-<time in UTC>`. */
  id: string;
}

/**
 * Turns that start by themselves: Temporal Schedules that each start turns. Each method may throw `schedule_not_found`,
 * `no_server`, `server_failed`.
 */
export interface Schedules {
  /**
   * Makes a schedule. Whether any worker has the agent is not asked.
   *
   * @throws CountersignError `usage` for a wrong time, zone or turn, and for times that never come. `schedule_exists`
   * where the id is taken.
   */
  add(request: ScheduleRequest): Promise<ScheduledTurns>;
  /** The schedules that start turns, by id. Schedules of other workflows are left out. */
  list(): Promise<ScheduleSummary[]>;
  get(id: string): Promise<ScheduledTurns>;
  /**
   * The times between two moments at which it starts a turn, with jitter. It does not matter whether the schedule is
   * paused. ISO 8601, at most 1,000.
   */
  times(id: string, from: string, to: string): Promise<string[]>;
  /** Deletes it. Turns that it started go on. */
  remove(id: string): Promise<void>;
  pause(id: string, reason?: string): Promise<void>;
  resume(id: string, reason?: string): Promise<void>;
  /** Starts a turn now, also while it is paused or another one is open. Undefined where the server does not name the turn within 5 s. */
  run(id: string): Promise<string | undefined>;
}

/**
 * A connection to the turns of one namespace, for those who start turns and those who approve calls. Loads nothing
 * native.
 */
export interface Countersign {
  readonly client: Client;
  readonly namespace: string;
  /** The store for the files of messages; undefined where none is named. @throws CountersignError `config_invalid`. */
  files(): FileStore | undefined;
  /** Starts a turn. @throws CountersignError `usage`, `turn_exists`, `not_ready`, `server_failed`. */
  start(request: StartRequest): Promise<StartedTurn>;
  /**
   * Starts a turn that takes everything before a call from the record of another one and goes on from there. Calls that
   * have run are not executed again. In a dry world (the default), no call with an effect runs at all.
   *
   * @throws CountersignError `usage`, `turn_not_found`, `call_not_found`, `fork_refused`, `bad_history`, `key_missing`,
   * and those of `start`.
   */
  fork(request: ForkTurnRequest): Promise<StartedFork>;
  /**
   * The effect that a reset to before a call would have. Changes nothing.
   *
   * @throws CountersignError `turn_not_found`, `call_not_found`, `reset_refused`, `bad_history`, `key_missing`.
   */
  planReset(turn: string, before: string): Promise<ResetPlan>;
  /**
   * Resets a turn as planned, open or closed. Decisions after that point are spent: no signal and no update is applied
   * again, and we never start an unsafe call again that ran.
   *
   * @throws CountersignError `reset_refused` where the turn has changed
   * since, `turn_not_found`, `server_failed`.
   */
  reset(plan: ResetPlan, reason?: ResetReason): Promise<StartedTurn>;
  /**
   * The id of the one turn whose id starts with `prefix`.
   *
   * @throws CountersignError `turn_not_found`, `ambiguous_id`.
   */
  find(prefix: string): Promise<string>;
  /**
   * The agent of a turn with exactly this id, and the agents of the turns that led to a child turn, or to a fork of
   * one.
   *
   * @throws CountersignError `turn_not_found`.
   */
  agentsOf(turn: string): Promise<Pick<TurnSummary, 'agent' | 'callers'>>;
  /**
   * The beginning of each id that no other turn has now, which `find` takes. An id is missing where too many ids begin
   * like it.
   */
  shortIds(turns: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Decides a request. A refusal is an answer, not an error.
   *
   * @throws CountersignError `turn_not_found`, `server_failed`, `signals_full`.
   */
  decide(turn: string, decision: Decision): Promise<Answer>;
  /**
   * As `decide`, but a refusal is an error with the refusal's own code. `data.verdict` has the whole refusal.
   *
   * @throws CountersignError `unknown_call`, `already_decided`, `stale_args`, `invalid_arguments`, `expired`,
   * `malformed`, `cancelled`, and those of `decide`.
   */
  decideOrThrow(turn: string, decision: Decision): Promise<TakenAnswer>;
  /** Resolves a call in doubt. As `decide`. */
  resolve(turn: string, resolution: Resolution): Promise<Answer>;
  /** Answers a question, or declines to. It lets nothing run. As `decide`. */
  answer(turn: string, answer: QuestionAnswer): Promise<Answer>;
  /**
   * Asks a turn to end: requests are closed, running calls cancelled and waited for.
   *
   * @throws CountersignError `turn_not_found`.
   */
  cancel(turn: string, reason?: string): Promise<void>;
  /** Cancels a turn and lets it end although calls are in doubt. @throws CountersignError `turn_not_found`. */
  abandon(turn: string, abandonment: Abandonment): Promise<void>;
  /**
   * Every event of a turn from its start, then live until it ends. Survives a restart of the server.
   *
   * @throws CountersignError `turn_not_found`.
   */
  follow(turn: string, options?: FollowOptions): AsyncIterable<TurnEvent>;
  /**
   * As `follow`, and also gives the text of the model while it writes it. Each attempt begins anew, with `at: 0`. The
   * event `step` has the finished reply, and may come before the last piece of its text.
   *
   * @throws CountersignError `turn_not_found`.
   */
  followWithText(turn: string, options?: FollowOptions): AsyncIterable<TurnEvent | TextDelta>;
  /** Every event of a turn so far. @throws CountersignError `turn_not_found`. */
  timeline(turn: string): Promise<TurnEvent[]>;
  /** The turn as it is now. @throws CountersignError `turn_not_found`. */
  view(turn: string): Promise<TurnView>;
  /** The place of a turn that a signed decision names, as the server gave it when the turn was read. */
  placeOf(view: Pick<TurnView, 'turn' | 'firstRunId'>): TurnPlace;
  /**
   * The requests of a turn whose tool has changed since they were made. The worker of the turn is asked. If they are
   * approved, they are refused before they run. Undefined where no worker answers within 2 s.
   */
  changedTools(turn: string): Promise<readonly ChangedTool[] | undefined>;
  /** What runs right now. @throws CountersignError `turn_not_found`. */
  pendingActivities(turn: string): Promise<Pending>;
  /** Requests, questions and calls in doubt of all turns, calls in doubt first, then the earliest deadline. Needs no worker. */
  inbox(query?: InboxQuery): Promise<InboxItem[]>;
  /**
   * The number of requests, questions and calls in doubt that wait in all turns. With a filter, only those that match
   * are counted.
   */
  countWaiting(filter?: Omit<InboxQuery, 'limit'>): Promise<number>;
  /** A reader for a program that watches the inbox, or a part of it. Needs no worker. */
  inboxReader(filter?: Omit<InboxQuery, 'limit'>): InboxReader;
  /** Turns, newest first. */
  list(query?: ListQuery): Promise<TurnSummary[]>;
  /** Turns page by page. @throws CountersignError `usage` for an `older` that no page had. */
  turns(query?: TurnsQuery): Promise<TurnsPage>;
  /** Runs of turns, newest first. */
  runs(query?: RunQuery): AsyncIterable<RunSummary>;
  /** Every event of one run so far, without the other runs of the turn. @throws CountersignError `turn_not_found`. */
  runEvents(run: Pick<RunSummary, 'turn' | 'runId'>): Promise<TurnEvent[]>;
  /** The history of one run, as the server keeps it. @throws CountersignError `turn_not_found`. */
  history(run: Pick<RunSummary, 'turn' | 'runId'>): Promise<History>;
  /**
   * The history of each run of a turn, first one first, as the server keeps it.
   *
   * @throws CountersignError `turn_not_found`.
   */
  histories(turn: string): Promise<History[]>;
  /** The builds of a deployment, and what is open on each; undefined where it has none. */
  builds(deployment?: string): Promise<Builds | undefined>;
  /**
   * Makes a build the current one, on which turns begin.
   *
   * @throws CountersignError `usage` for an empty name; `build_not_found`; `build_refused` where it lacks a queue of
   * the build before.
   */
  makeCurrent(build: BuildId): Promise<void>;
  /**
   * Moves turns and sessions of a build to the current build. A turn moves while it only waits for people, and a
   * session between turns. Returns the outcome of each.
   *
   * @throws CountersignError `build_not_found`, `build_refused` for the current build, `still_waiting` where no worker
   * of the build answers.
   */
  drain(build: BuildId, options?: DrainOptions): AsyncIterable<Drained>;
  /** Turns that start by themselves. */
  readonly schedules: Schedules;
  /** A session by its id. Asks the server nothing. @throws CountersignError `usage` for what cannot be an id. */
  session(id: string, options?: SessionOptions): Session;
  /** Sessions, newest first. Needs no worker. */
  sessions(query?: SessionsQuery): Promise<SessionSummary[]>;
  /**
   * Pauses calls with an effect: those of an agent, those of a tool, or all. With `models`, model calls are paused,
   * too. Resolves once no worker starts such a call any more. Requests that wait for a person may be decided meanwhile.
   * Needs a worker.
   *
   * @throws CountersignError `usage`, `pauses_full`, `control_unavailable`.
   */
  pause(asked: PauseAsked): Promise<PauseTaken>;
  /**
   * Ends the pause of this agent and tool, or all; returns what ended. Held calls go on within some 75 s. Needs a worker.
   *
   * @throws CountersignError `pause_not_found`, `control_unavailable`.
   */
  resume(asked: ResumeAsked): Promise<Pause[]>;
  /** What is paused now. Needs no worker. */
  pauses(): Promise<Pauses>;
  /** Calls that may run without being asked about. */
  grants: Grants;
  /** Who is away, and who votes in their place. */
  away: AwayList;
  /** Closes the connection, unless it was given. */
  close(): Promise<void>;
}
