import type { ReplayWorkerOptions } from '@temporalio/worker';
import type { Command } from 'commander';
import type { RunQuery } from '../../client';
import { CountersignError } from '../../contract/errors';
import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../../contract/names';
import { turnEventsOfRuns } from '../../history/from-json';
import { defined } from '../../history/defined';
import { parsePoint } from '../../history/point';
import type { History } from '../../history/read-histories';
import type { Probe } from '../../history/replay/replayer';
import type { Context } from '../context';
import { fileDecode, encryptionOf, readTurnRuns } from '../open-turn';
import { findingLines, replayProgressLine, sumLine, type ReplaySum } from '../print/replay';
import { withProgress } from '../progress';
import { readCount } from '../read-value';
import type { Judged, NamedRun } from '../replay/judge';
import type { ReplayProgress } from '../replay/runs';

interface ReplayOptions {
  last?: string;
  query?: string;
  workflows?: string;
  inspect?: boolean;
  at?: string;
  port: string;
  json?: boolean;
}

/** `replay [turn|file]`. */
export function addReplay(program: Command, context: Context): void {
  program
    .command('replay [turn|file.json]')
    .description(
      'run recorded turns through this code, and tell what it would do otherwise; a gate before a deploy',
    )
    .option('--last <count>', 'the newest turns, at most so many (200 unless given)')
    .option('--query <query>', 'the turns that a visibility query of Temporal finds')
    .option(
      '--workflows <path>',
      'workflows of your own instead of the turn: what your worker has as workflowsPath',
    )
    .option('--inspect', 'wait for a debugger, and stop in the workflow code')
    .option(
      '--at <point>',
      'with --inspect: stop at a step (2), a call (2.1) or an event (#57), not at the first workflow task',
    )
    .option('--port <port>', 'with --inspect: where the debugger attaches; 0 is any free port', '9229')
    .option('--json', 'print JSON')
    .action((named: string | undefined, options: ReplayOptions) => replay(named, options, context));
}

async function replay(named: string | undefined, options: ReplayOptions, context: Context): Promise<void> {
  const batch = options.last !== undefined || options.query !== undefined;
  if (batch === (named !== undefined))
    throw new CountersignError(
      'usage',
      batch ? 'a turn goes without --last and --query' : 'nothing is named to replay',
      {
        hint: 'name a turn or an exported file, or say --last 200.',
      },
    );
  refuseHalfInspect(options);
  const progress: ReplayProgress = { runs: 0, done: 0, gone: 0 };
  const work: Work = { options, context, progress };
  const judged = await withProgress(
    context.screen,
    () => replayProgressLine(progress),
    () => (named === undefined ? judgeBatch(work) : judgeTurn(named, work)),
  );
  tell(judged, { progress, json: options.json === true }, context);
}

function refuseHalfInspect({ inspect, at, last, query }: ReplayOptions): void {
  if (inspect === true && (last !== undefined || query !== undefined))
    throw new CountersignError('usage', '--inspect takes one turn', {
      hint: 'name a turn or an exported file.',
    });
  if (inspect !== true && at !== undefined)
    throw new CountersignError('usage', '--at goes with --inspect', {
      hint: '`countersign timeline --at` shows a turn as it was.',
    });
}

/** The SDK's native worker comes with the code, and keeps the process alive until it has replayed: the code is loaded last. */
async function loadCode({ options, context }: Work): Promise<ReplayWorkerOptions> {
  const { codeToReplay } = await import('../replay/code.js');
  return codeToReplay(options.workflows, (await encryptionOf(context)).replay());
}

interface Work {
  options: ReplayOptions;
  context: Context;
  progress: ReplayProgress;
}

async function judgeTurn(named: string, work: Work): Promise<Done> {
  const { namedRuns } = await import('../replay/runs.js');
  const histories = await readTurnRuns(named, work.context);
  // What cannot be read, or is no turn, is told as such; workflows of somebody's own need not be any business of ours.
  if (work.options.workflows === undefined) await turnEventsOfRuns(histories, await fileDecode(work.context));
  if (work.options.inspect === true) return inspect(histories, work);
  work.progress.runs = histories.length;
  return judgeAll(namedRuns(histories), work);
}

async function inspect(histories: History[], work: Work): Promise<Done> {
  const { options, context, progress } = work;
  const [{ openInspector, awaitDebugger }, { stopPlace }, { Stop }, { namedRuns }] = await Promise.all([
    import('../replay/inspect.js'),
    import('../replay/stop-place.js'),
    import('../replay/stop.js'),
    import('../replay/runs.js'),
  ]);
  const point = options.at === undefined ? undefined : parsePoint(options.at);
  const { history, startedId } = await stopPlace(histories, point, await fileDecode(context));
  progress.runs = 1;
  openInspector(readCount(options.port, '--port', 0));
  const stop = new Stop(startedId, () => awaitDebugger(context.screen));
  const done = await judgeAll(namedRuns([history]), work, stop);
  if (!stop.wasHit) context.screen.note(`no workflow code ran at event #${startedId} or after it`);
  return done;
}

/** Unless `--last` says so; enough for a gate, few enough to wait for. */
const MOST = 200;

function judgeBatch(work: Work): Promise<Done> {
  const { last, query, workflows } = work.options;
  const most = last === undefined ? MOST : readCount(last, '--last');
  return work.context.withDesk(async (desk) => {
    const { asQueryMistake, fetchRuns, newestRuns } = await import('../replay/runs.js');
    const runs = await newestRuns(desk, queryFor(query, workflows), most).catch((error: unknown) => {
      throw asQueryMistake(error, query);
    });
    work.progress.runs = runs.length;
    return judgeAll(fetchRuns(desk, runs, work.progress), work);
  });
}

/** Code of one's own has no turn, and ours has nothing else. */
function queryFor(query: string | undefined, workflows: string | undefined): RunQuery {
  const turn = `WorkflowType = '${WORKFLOWS.turn}'`;
  const own = `${SEARCH_ATTRIBUTES.agent} IS NOT NULL AND WorkflowType != '${WORKFLOWS.turn}'`;
  return { query: query ?? (workflows === undefined ? turn : own) };
}

interface Done {
  judged: Judged[];
  ms: number;
}

async function judgeAll(runs: AsyncIterable<NamedRun>, work: Work, probe?: Probe): Promise<Done> {
  const { judgeRuns } = await import('../replay/judge.js');
  const replaying = {
    options: await loadCode(work),
    decode: await fileDecode(work.context),
    ...defined({ probe }),
  };
  const judged: Judged[] = [];
  const started = performance.now();
  for await (const one of judgeRuns(replaying, runs)) {
    judged.push(one);
    work.progress.done += 1;
  }
  return { judged, ms: performance.now() - started };
}

function tell(
  { judged, ms }: Done,
  { progress, json }: { progress: ReplayProgress; json: boolean },
  { screen }: Context,
): void {
  const failed = judged.filter(({ finding }) => finding !== undefined);
  const events = judged.reduce((sum, one) => sum + one.events, 0);
  const counts = { replayed: judged.length - failed.length, failed: failed.length, gone: progress.gone };
  const sum: ReplaySum = { ...counts, events, ms: Math.round(ms) };
  if (json) screen.json({ ...sum, runs: judged });
  else screen.lines([...failed.flatMap((one) => findingLines(one, screen)), sumLine(sum, screen)]);
  if (failed.length === 0) return;
  const hint = 'A worker with this code would get stuck on them: do not deploy it while they are open.';
  const turns = [...new Set(failed.map(({ turn }) => turn))];
  throw new CountersignError(
    'replay_failed',
    `${turns.length === 1 ? 'a turn does' : `${turns.length} turns do`} not replay`,
    {
      hint,
      data: { failed: turns },
    },
  );
}
