import type { Client } from '@temporalio/client';
import type { Abandonment, Decision, QuestionAnswer, Resolution } from '../contract/decision';
import { CountersignError } from '../contract/errors';
import type { TextDelta } from '../contract/streamed-text';
import type { ChangedTool } from '../contract/worker-tools';
import type { History } from '../history/decode/decode';
import type { TurnEvent } from '../history/events';
import { readHistories, readRunEvents, readTimeline, readTurn } from '../history/read';
import { readHistory } from '../history/read-run';
import type { ResetPlan } from '../history/reset';
import { type TurnView, viewOf } from '../history/view';
import type { TurnPlace } from '../history/view-types';
import type { FileStore } from '../store/stored-file';
import { makeCurrent, readBuilds } from './builds';
import type { ClientContext } from './context';
import { answerQuestion, decideCall, resolveCall } from './decide';
import { drainBuild } from './drain';
import { agentsOf, findTurn, shortIds } from './find-turn';
import { countWaiting, readInbox } from './inbox/inbox';
import { WaitingReader } from './inbox/reader';
import { listRuns, listTurns, listTurnsPage } from './list';
import { changedTools, pendingActivities } from './pending';
import type { FollowOptions, InboxQuery, StartRequest } from './requests';
import { makeSchedules } from './schedules';
import { openSession } from './session';
import { listSessions } from './session/reader';
import type { Session, SessionOptions, SessionsPage, SessionsQuery } from './session/types';
import { type CallRequest, forkTurn, startCall, startTurn } from './start-turn';
import { followWithText } from './streamed-text';
import type {
  Answer,
  BuildId,
  Builds,
  Drained,
  DrainOptions,
  ForkTurnRequest,
  InboxItem,
  InboxReader,
  ListQuery,
  Pending,
  ResetReason,
  RunQuery,
  RunSummary,
  Schedules,
  StartedFork,
  StartedTurn,
  TakenAnswer,
  TurnsPage,
  TurnsQuery,
  TurnSummary,
} from './types';
import type { Grants } from '../authority/grants/client-types';
import { makeGrants } from '../authority/grants/client';
import { planTurnReset, resetTurn, abandonTurn, cancelTurn } from './cancel-and-reset';
import type { PauseAsked, PauseTaken, ResumeAsked, Pause, Pauses } from '../authority/pauses/pause';
import { pause, resume, readControl } from '../authority/pauses/client';

/**
 * A connection to the turns of one namespace, for people and programs that start turns or approve calls. Loads nothing
 * native.
 */
export class Countersign {
  readonly client: Client;
  readonly namespace: string;
  /** Schedules that start turns. */
  readonly schedules: Schedules;
  /** Grants, which let calls run without a decision. */
  readonly grants: Grants;

  /** Made by `connect`. `end` closes what `connect` opened. */
  constructor(
    private readonly context: ClientContext,
    private readonly end: () => Promise<void>,
  ) {
    this.client = context.client;
    this.namespace = context.namespace;
    this.schedules = makeSchedules(context);
    this.grants = makeGrants(context);
  }

  /** The store for the files of messages. Undefined if none is named. @throws CountersignError `config_invalid`. */
  files(): FileStore | undefined {
    return this.context.files();
  }

  /** Starts a turn. @throws CountersignError `usage`, `exists`, `not_ready`, `server_failed`. */
  start(request: StartRequest): Promise<StartedTurn> {
    return startTurn(this.context, request);
  }

  /** Starts a turn that is one call, as the gateway does. @throws CountersignError as `start`. */
  startCall(request: CallRequest): Promise<StartedTurn> {
    return startCall(this.context, request);
  }

  /**
   * Starts a turn that takes everything before a call from the record of another turn and goes on from there. Calls
   * that have run are not executed again. In a dry world (the default), no call with an effect runs at all.
   *
   * @throws CountersignError `usage`, `not_found`, `refused`, `bad_history`, `key_missing`,
   * and those of `start`.
   */
  fork(request: ForkTurnRequest): Promise<StartedFork> {
    return forkTurn(this.context, request);
  }

  /**
   * The effects of resetting a turn to the point before a call. Changes nothing.
   *
   * @throws CountersignError `not_found`, `refused`, `bad_history`, `key_missing`.
   */
  planReset(turn: string, before: string): Promise<ResetPlan> {
    return planTurnReset(this.context, turn, before);
  }

  /**
   * Resets an open or closed turn by the plan. Decisions made after the reset point no longer count: no signal and no
   * update is applied again. An unsafe call that ran is not started again without a new decision.
   *
   * @throws CountersignError `refused` if the turn has changed since, `not_found`, `server_failed`.
   */
  reset(plan: ResetPlan, reason: ResetReason = {}): Promise<StartedTurn> {
    return resetTurn(this.context, plan, reason);
  }

  /**
   * The id of the one turn whose id starts with `prefix`.
   *
   * @throws CountersignError `not_found`, `usage`.
   */
  find(prefix: string): Promise<string> {
    return findTurn(this.context, prefix);
  }

  /**
   * The agent of the turn with exactly this id, and the agents of the turns that led to a child turn, or to a fork of a
   * child turn.
   *
   * @throws CountersignError `not_found`.
   */
  agentsOf(turn: string): Promise<Pick<TurnSummary, 'agent' | 'callers'>> {
    return agentsOf(this.context, turn);
  }

  /**
   * For each id, the shortest beginning that no other turn has now. `find` accepts it. An id is missing if too many
   * ids begin like it.
   */
  shortIds(turns: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return shortIds(this.context, turns);
  }

  /**
   * Decides a request. A refusal is an answer, not an error.
   *
   * @throws CountersignError `not_found`, `server_failed`, `full`.
   */
  decide(turn: string, decision: Decision): Promise<Answer> {
    return decideCall(this.context, turn, decision);
  }

  /**
   * Like `decide`, but a refusal is an error with the code of the refusal. `data.verdict` has the whole refusal.
   *
   * @throws CountersignError `unknown_call`, `already_decided`, `stale_args`, `validation`, `expired`,
   * `malformed`, `cancelled`, and those of `decide`.
   */
  async decideOrThrow(turn: string, decision: Decision): Promise<TakenAnswer> {
    const answer = await this.decide(turn, decision);
    if (answer.status !== 'refused') return answer;
    const { verdict } = answer;
    throw new CountersignError(verdict.code, verdict.message, { data: { verdict } });
  }

  /** Resolves a call in doubt. In all other respects this is like `decide`. */
  resolve(turn: string, resolution: Resolution): Promise<Answer> {
    return resolveCall(this.context, turn, resolution);
  }

  /** Answers a question, or declines to. An answer lets nothing run. In all other respects this is like `decide`. */
  answer(turn: string, answer: QuestionAnswer): Promise<Answer> {
    return answerQuestion(this.context, turn, answer);
  }

  /**
   * Asks a turn to end. Its requests are closed. Its running calls are cancelled, and the turn waits until they have
   * ended.
   *
   * @throws CountersignError `not_found`.
   */
  cancel(turn: string, reason?: string): Promise<void> {
    return cancelTurn(this.context, turn, reason);
  }

  /** Cancels a turn and lets it end even if calls are in doubt. @throws CountersignError `not_found`. */
  abandon(turn: string, abandonment: Abandonment): Promise<void> {
    return abandonTurn(this.context, turn, abandonment);
  }

  /**
   * Every event of a turn from its start, then live until it ends. Survives a restart of the server.
   *
   * @throws CountersignError `not_found`.
   */
  follow(turn: string, options?: FollowOptions): AsyncIterable<TurnEvent> {
    return readTurn(this.context.source, turn, { ...options, live: true });
  }

  /**
   * Like `follow`, and also gives the text of the model while it writes it. Each attempt begins anew, with `at: 0`. The
   * event `step` has the finished reply, and may come before the last piece of its text.
   *
   * @throws CountersignError `not_found`.
   */
  followWithText(turn: string, options: FollowOptions = {}): AsyncIterable<TurnEvent | TextDelta> {
    return followWithText(this.context, turn, options);
  }

  /** Every event of a turn so far. @throws CountersignError `not_found`. */
  timeline(turn: string): Promise<TurnEvent[]> {
    return readTimeline(this.context.source, turn);
  }

  /** The turn as it is now. @throws CountersignError `not_found`. */
  async view(turn: string): Promise<TurnView> {
    return viewOf(await this.timeline(turn));
  }

  /** Where a turn belongs. A signed decision contains this. */
  placeOf(view: Pick<TurnView, 'turn'>): TurnPlace {
    return { namespace: this.namespace, workflowId: view.turn };
  }

  /**
   * The requests of a turn whose tool has changed since they were made. If such a request is approved, its call is
   * refused before it runs. The worker of the turn is asked. Undefined if no worker answers within 2 s.
   */
  changedTools(turn: string): Promise<readonly ChangedTool[] | undefined> {
    return changedTools(this.context, turn);
  }

  /** The activities of a turn that run right now. @throws CountersignError `not_found`. */
  pendingActivities(turn: string): Promise<Pending> {
    return pendingActivities(this.context, turn);
  }

  /**
   * Requests, questions and calls in doubt of all turns. Calls in doubt come first, then the earliest deadlines. Needs
   * no worker.
   */
  inbox(query: InboxQuery = {}): Promise<InboxItem[]> {
    return readInbox(this.context, query);
  }

  /**
   * The number of requests, questions and calls in doubt that wait in all turns. A filter counts only the items that
   * match.
   */
  countWaiting(filter: Omit<InboxQuery, 'limit'> = {}): Promise<number> {
    return countWaiting(this.context, filter);
  }

  /** A reader for a program that watches the inbox, or a part of it. Needs no worker. */
  inboxReader(filter: Omit<InboxQuery, 'limit'> = {}): InboxReader {
    this.context.limit.beStrict();
    return new WaitingReader(this.context, filter);
  }

  /** Turns, newest first. */
  list(query: ListQuery = {}): Promise<TurnSummary[]> {
    return listTurns(this.context, query);
  }

  /** Turns page by page. @throws CountersignError `usage` for an `older` that no page had. */
  turns(query: TurnsQuery = {}): Promise<TurnsPage> {
    return listTurnsPage(this.context, query);
  }

  /** Runs of turns, newest first. */
  runs(query: RunQuery = {}): AsyncIterable<RunSummary> {
    return listRuns(this.context, query);
  }

  /** Every event of one run so far, without the other runs of the turn. @throws CountersignError `not_found`. */
  runEvents(run: Pick<RunSummary, 'turn' | 'runId'>): Promise<TurnEvent[]> {
    return readRunEvents(this.context.source, run);
  }

  /** The history of one run, as the server keeps it. @throws CountersignError `not_found`. */
  history(run: Pick<RunSummary, 'turn' | 'runId'>): Promise<History> {
    return readHistory(this.context.source, run);
  }

  /**
   * The history of each run of a turn, as the server keeps it. The first run comes first.
   *
   * @throws CountersignError `not_found`.
   */
  histories(turn: string): Promise<History[]> {
    return readHistories(this.context.source, turn);
  }

  /** The builds of a deployment, and what is open on each. Undefined if the deployment has no builds. */
  builds(deployment?: string): Promise<Builds | undefined> {
    return readBuilds(this.context, deployment);
  }

  /**
   * Makes a build the current one, on which turns begin.
   *
   * @throws CountersignError `usage` for an empty name; `not_found`; `refused` if it lacks a queue of
   * the build before.
   */
  makeCurrent(build: BuildId): Promise<void> {
    return makeCurrent(this.context, build);
  }

  /**
   * Moves turns and sessions of a build to the current build. A turn moves while it only waits for people, and a
   * session between turns. Yields the outcome of each.
   *
   * @throws CountersignError `not_found`, `refused` for the current build, `still_waiting` if no worker
   * of the build answers.
   */
  drain(build: BuildId, options?: DrainOptions): AsyncIterable<Drained> {
    return drainBuild(this.context, build, options);
  }

  /**
   * A session by its id. No request is sent to the server. @throws CountersignError `usage` for what cannot be an id.
   */
  session(id: string, options?: SessionOptions): Session {
    return openSession(this.context, id, options);
  }

  /** Sessions page by page. Needs no worker. @throws CountersignError `usage` for an `older` that no page had. */
  sessions(query: SessionsQuery = {}): Promise<SessionsPage> {
    return listSessions(this.context, query);
  }

  /**
   * Pauses calls with an effect: the calls of an agent, the calls of a tool, or all. With `models`, model calls are
   * paused, too. Resolves once no worker starts such a call any more. Requests that wait for a person may be decided
   * during a pause. Needs a worker.
   *
   * @throws CountersignError `usage`, `full`, `still_waiting`.
   */
  pause(asked: PauseAsked): Promise<PauseTaken> {
    return pause(this.context, asked);
  }

  /**
   * Ends the pause of this agent and tool, or all pauses, and returns the pauses that ended. Held calls go on within
   * some 75 s. Needs a worker.
   *
   * @throws CountersignError `not_found`, `still_waiting`.
   */
  resume(asked: ResumeAsked): Promise<Pause[]> {
    return resume(this.context, asked);
  }

  /** The pauses that hold now. Needs no worker. */
  pauses(): Promise<Pauses> {
    return readControl(this.context);
  }

  /** Closes the connection, unless you gave your own. */
  close(): Promise<void> {
    return this.end();
  }
}
