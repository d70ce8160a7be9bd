import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { WorkflowBundleOption } from '@temporalio/worker';
import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { race } from '../../system/race';
import type { History } from '../../history/decode/decode';
import { turnEventsOfRuns } from '../../history/exported';
import { fileDecode, readTurnRuns } from '../turn-or-file';
import { readCount } from '../flags';
import {
  type Done,
  judgeAll,
  type NamedRun,
  type Replaying,
  type ReplayOptions,
  type ReplayProgress,
  type Work,
} from './judge-runs';
import type { Countersign, RunQuery, RunSummary } from '../../client';
import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../../contract/names';
import { CountersignError, errorMessage } from '../../contract/errors';
import { detailsOf, STATUS, grpcStatusOf, unlessGone } from '../../history/server-errors';
import { turnIdOf } from '../../history/read';
import { mapOrdered } from '../../client/read-turns';
import type { ReplayedRun, RunToReplay } from '../../history/replay/replayer';
import { ROOT } from '../own-modules';
import { type ReplayAnswer, type Ask, type Setup, stuckAnswer } from './messages';
import { packHistory } from './sdk';

/** Judges every run of one turn. */
export async function judgeTurn(named: string, work: Work): Promise<Done> {
  const histories = await readTurnRuns(named, work.context);
  // Reading the turn first gives a clear error. The user's own workflows need not be turns.
  if (work.options.workflows === undefined) await turnEventsOfRuns(histories, await fileDecode(work.context));
  work.progress.runs = histories.length;
  return judgeAll(namedRuns(histories), work, await replayWithDeadline(work));
}

/** The most turns unless `--last` says otherwise: enough for a gate, and few enough to wait for. */
const MOST = 200;

/** Judges the runs of the newest turns of a server, or of the turns that a query finds. */
export function judgeBatch(work: Work): Promise<Done> {
  const { last, query } = work.options;
  const most = last === undefined ? MOST : readCount(last, '--last');
  return work.context.withClient(async (client) => {
    const runs = await runsToReplay(client, work.options, most).catch((error: unknown) => {
      throw asQueryMistake(error, query);
    });
    work.progress.runs = runs.length;
    return judgeAll(fetchRuns(client, runs, work.progress), work, await replayWithDeadline(work));
  });
}

/** The most runs of pauses and grants that are replayed. They are short. */
const MOST_CONTROL = 50;

/**
 * The runs to replay. Unless the user says otherwise, the newest runs of pauses and grants come first: they have no
 * build, so any new code has to take them.
 */
export async function runsToReplay(
  client: Pick<Countersign, 'runs'>,
  { query, workflows }: Pick<ReplayOptions, 'query' | 'workflows'>,
  mostTurns: number,
): Promise<RunSummary[]> {
  const runs: RunSummary[] = [];
  const held = `WorkflowType IN ('${WORKFLOWS.control}', '${WORKFLOWS.grant}')`;
  if (query === undefined && workflows === undefined)
    for await (const run of client.runs({ query: held })) if (runs.push(run) === MOST_CONTROL) break;
  // What the bundle can replay: turns with our bundle, and with `--workflows` the agents' other workflows.
  const turn = `WorkflowType = '${WORKFLOWS.turn}'`;
  const own = `${SEARCH_ATTRIBUTES.agent} IS NOT NULL AND WorkflowType != '${WORKFLOWS.turn}'`;
  const fitting = { query: query ?? (workflows === undefined ? turn : own) };
  return [...runs, ...(await newestRuns(client, fitting, mostTurns))];
}

/** The number of histories that are read at the same time, while earlier ones are replayed. */
const AT_ONCE = 8;

/**
 * The runs of the newest turns that a query finds, newest first. A turn that continued as new or was reset counts once.
 * Its runs are left out if they are older than all turns that count.
 */
export async function newestRuns(
  client: Pick<Countersign, 'runs'>,
  query: RunQuery,
  mostTurns: number,
): Promise<RunSummary[]> {
  const runs: RunSummary[] = [];
  const turns = new Set<string>();
  for await (const run of client.runs(query)) {
    if (!turns.has(run.turn) && turns.size === mostTurns) break;
    turns.add(run.turn);
    runs.push(run);
  }
  return runs;
}

/** A query that the server does not understand is the user's mistake. */
export function asQueryMistake(error: unknown, query: string | undefined): unknown {
  if (query === undefined || grpcStatusOf(error) !== STATUS.invalidArgument) return error;
  return new CountersignError('usage', `--query ${query}: ${detailsOf(error)}`, {
    hint: "Write one as Temporal's list filter takes it: CountersignAgent = 'clerk' AND ExecutionStatus = 'Running'.",
    cause: error,
  });
}

/** The histories of runs, in their order. A history that was deleted meanwhile is counted and left out. */
export async function* fetchRuns(
  client: Pick<Countersign, 'history'>,
  runs: readonly RunSummary[],
  progress: ReplayProgress,
): AsyncGenerator<NamedRun> {
  const fetch = async (run: RunSummary) => ({ run, history: await unlessGone(client.history(run)) });
  for await (const { run, history } of mapOrdered(runs, AT_ONCE, fetch)) {
    if (history === undefined) progress.gone += 1;
    else yield { turn: run.turn, runId: run.runId, history };
  }
}

/** The runs of one turn. The histories contain their ids. */
async function* namedRuns(histories: readonly History[]): AsyncGenerator<NamedRun> {
  for (const history of histories) yield { ...turnIdOf(history), history };
}

type Replay = Replaying['replay'];

/** Replays in a separate process, with a deadline. */
async function replayWithDeadline({ options, context, taskTimeoutMs }: Work): Promise<Replay> {
  const workflowBundle = await bundleToReplay(options.workflows);
  const { encryptionKeyFile: keyFile } = context.options();
  const setup = { workflowBundle, taskTimeoutMs, keyFile };
  return (runs) => replayIsolated({ setup, env: context.env }, runs);
}

/** The workflow code of this installation. */
const BUNDLE = join(ROOT, 'lib', 'workflow-bundle.js');

/**
 * The code to replay with: the turn of this installation, the user's own bundle, or their workflows, which are bundled
 * now.
 *
 * @throws CountersignError `file_failed` for a path that is not there, `config_invalid` for workflows that cannot be
 * bundled.
 */
async function bundleToReplay(workflows: string | undefined): Promise<WorkflowBundleOption> {
  if (workflows === undefined) return { codePath: BUNDLE };
  const workflowsPath = resolve(workflows);
  if (!existsSync(workflowsPath))
    throw new CountersignError('file_failed', `--workflows ${workflows}: there is no such file`);
  try {
    // The code that `bundleWorkflowCode` returned. Plugins of a worker are in no other form.
    const isFile = (await stat(workflowsPath)).isFile();
    if (isFile && (await readFile(workflowsPath, 'utf8')).startsWith('var __TEMPORAL__;'))
      return { codePath: workflowsPath };
    const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
    // Nothing is logged, because the error says what is wrong.
    const logger = new DefaultLogger('ERROR', () => undefined);
    return await bundleWorkflowCode({ workflowsPath, logger });
  } catch (cause) {
    const hint = 'name the file that your worker has as workflowsPath';
    const message = `the workflows in ${workflows} cannot be bundled: ${errorMessage(cause)}`;
    throw new CountersignError('config_invalid', message, { hint, cause });
  }
}

/** The setup and the environment of the process that replays. */
interface ProcessOptions {
  setup: Setup;
  env: NodeJS.ProcessEnv;
}

const PROGRAM = join(ROOT, 'lib', 'cli', 'replay', 'process.js');

/** The process that replays. It ends when the process that started it ends. */
class ReplayProcess {
  private readonly child: ChildProcess;
  private readonly answers: AsyncIterator<ReplayAnswer[]>;
  private readonly ended: Promise<ReplayAnswer>;

  constructor({ setup, env }: ProcessOptions) {
    // The child gets no flags of this process. The messages that Node prints when memory runs out are discarded.
    const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const;
    this.child = fork(PROGRAM, { env, execArgv: [], serialization: 'advanced', stdio: [...stdio] });
    this.answers = on(this.child, 'message');
    this.ended = endOf(this.child);
    this.send(setup);
  }

  /**
   * Replays a run after the runs that were sent before. If the process ends, all runs that still wait get the same
   * answer.
   */
  replay(ask: Ask): Promise<ReplayAnswer> {
    this.send(ask);
    return race([this.answer(), this.ended]);
  }

  private async answer(): Promise<ReplayAnswer> {
    const { value } = await this.answers.next();
    return value[0];
  }

  end(): void {
    this.child.kill('SIGKILL');
  }

  private send(message: Setup | Ask): void {
    // A failed send needs no report: the `exit` event reports that the process is gone.
    this.child.send(message, () => undefined);
  }
}

/**
 * The answer for a process that has ended. When memory runs out suddenly, the process ends before it can report where
 * the code was.
 */
async function endOf(child: ChildProcess): Promise<ReplayAnswer> {
  try {
    const [code, signal] = await once(child, 'exit');
    // Node ends with this code if a program of ours fails.
    if (code === 1) return { broken: 'the process that replays has failed' };
    const how = `ends the process that runs it (${signal ?? code}), as it does where memory runs out`;
    return stuckAnswer({ startedId: FIRST, how });
  } catch (error) {
    return { broken: `the process that replays cannot be started: ${String(error)}` };
  }
}

const FIRST = 1;

/**
 * Replays runs one after the other in another process. If the code of a run does not stop, that process is ended and
 * the next run gets a new process. Meanwhile this process sends the next run ahead.
 */
export async function* replayIsolated<T extends RunToReplay>(
  options: ProcessOptions,
  runs: AsyncIterable<T>,
): AsyncGenerator<ReplayedRun<T>> {
  // The new process loads the SDK while the first run is read.
  let child = new ReplayProcess(options);
  const packed = pack(runs);
  const sendNext = async () => {
    const { value, done } = await packed.next();
    return done === true ? undefined : { ...value, answer: child.replay(value.ask) };
  };
  try {
    let sent = await sendNext();
    while (sent) {
      const { run } = sent;
      const [answer, next] = await Promise.all([sent.answer, sendNext()]);
      if ('broken' in answer) throw new Error(answer.broken);
      const { isLast = false, ...replayed } = answer;
      if (isLast) child.end();
      if (isLast && next) {
        child = new ReplayProcess(options);
        next.answer = child.replay(next.ask);
      }
      yield { run, ...replayed };
      sent = next;
    }
  } finally {
    child.end();
  }
}

async function* pack<T extends RunToReplay>(runs: AsyncIterable<T>): AsyncGenerator<{ run: T; ask: Ask }> {
  for await (const run of runs) yield { run, ask: { turn: run.turn, history: packHistory(run.history) } };
}
