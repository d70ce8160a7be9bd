import type { Command } from 'commander';
import type { Context } from '../context';
import { withProgress } from '../progress';
import type { Done, JudgedRun, ReplayOptions, ReplayProgress, Work } from '../replay/judge-runs';
import type { ReplayFinding } from '../../history/replay/explain';
import type { ScreenFormat } from '../print/screen';
import { type TableFact, factLines, indented, inner } from '../print/table';
import { span } from '../../contract/text/times';
import { escapeText } from '../../contract/text/escape';
import { CountersignError, usageError } from '../../contract/errors';
import { readTime } from '../flags';

/** `replay [turn|file]`. */
export function addReplay(program: Command, context: Context): void {
  program
    .command('replay [turn|file.json]')
    .description(
      'replay recorded turns with this code, and show where it would do something else; a gate before a deploy',
    )
    .option('--last <count>', 'replay this many of the newest turns (200 unless given)')
    .option('--query <query>', 'replay the turns that a Temporal list filter finds')
    .option(
      '--workflows <path>',
      'replay your own workflows instead of the turn: the workflowsPath of your worker, or a bundle with its plugins',
    )
    .option('--task-timeout <time>', 'how long the code may work on one workflow task (default: 20s)')
    .action((named: string | undefined, options: ReplayOptions) => replay(named, options, context));
}

async function replay(named: string | undefined, options: ReplayOptions, context: Context) {
  refuseMistakes(named, options);
  const progress = { runs: 0, done: 0, gone: 0 };
  const work: Work = { options, context, progress, taskTimeoutMs: taskTimeoutOf(options) };
  const done = await withProgress(
    context.screen,
    () => replayProgressLine(work.progress),
    () => judge(named, work),
  );
  report(done, work);
}

/** Loaded only here, so that `--help` does not wait for it. */
async function judge(named: string | undefined, work: Work): Promise<Done> {
  const { judgeBatch, judgeTurn } = await import('../replay/replay.js');
  return named === undefined ? judgeBatch(work) : judgeTurn(named, work);
}

/** The progress of a batch, in one line. */
export function replayProgressLine({ runs, done, gone }: ReplayProgress): string {
  return runs === 0 ? 'listing turns' : `replayed ${done + gone} of ${runs}`;
}

/** The reason why a run does not replay: first in terms of the agent, then in Temporal's own words. */
export function replayFindingLines({ turn, runId, finding }: JudgedRun, screen: ScreenFormat): string[] {
  if (finding === undefined) return [];
  const { message } = finding;
  const facts: TableFact[] = [
    ['run', runId === undefined || runId === '' ? undefined : escapeText(runId)],
    ['where', whereOf(finding)],
    ...sides(finding),
    [
      'Temporal says',
      message === undefined ? undefined : { text: escapeText(message), paint: screen.style.quiet },
    ],
  ];
  return [
    screen.style.bad(`${escapeText(turn)} does not replay: ${SUMS[finding.kind]}`),
    ...indented(factLines(facts, inner(screen))),
    '',
  ];
}

const SUMS: Readonly<Record<ReplayFinding['kind'], string>> = {
  other: 'the code does something else now',
  missing: 'the code does not do what history has',
  extra: 'the code does something that history does not have',
  threw: 'the code fails',
  stuck: 'the code does not come to rest',
  no_workflow: 'the code has no workflow of this type',
  unreadable: 'its history cannot be read here',
  unknown: 'Temporal cannot match it with the code',
};

function whereOf({ step, callId, eventId }: ReplayFinding) {
  const call = callId === undefined ? [] : [`call ${escapeText(callId)}`];
  return [...(step === undefined ? [] : [`step ${step}`]), ...call, `event #${eventId}`].join(', ');
}

/** The kinds of findings after which the remaining history was not compared, because the code was ended. */
const GOES_ON: readonly ReplayFinding['kind'][] = ['threw', 'stuck'];

function sides({ kind, history, code, why }: ReplayFinding): TableFact[] {
  if (why !== undefined) return [['why', escapeText(why)]];
  if (kind === 'no_workflow' || kind === 'unknown') return [];
  return [
    ['history', escapeText(history ?? (GOES_ON.includes(kind) ? 'goes on' : 'has nothing there'))],
    ['the code', escapeText(code ?? 'does nothing there: it waits, or has ended')],
  ];
}

/** The counts of all runs. */
interface ReplaySum {
  replayed: number;
  failed: number;
  gone: number;
  events: number;
  ms: number;
}

/** The last line, which says how many runs replay. */
export function sumLine({ replayed, failed, gone, events, ms }: ReplaySum, { style }: ScreenFormat): string {
  const lost = gone === 0 ? '' : `; ${gone} were deleted meanwhile`;
  const facts = `${events.toLocaleString('en-US')} events in ${span(ms)}${lost}`;
  if (replayed + failed === 0) return `Nothing to replay${lost}.`;
  if (failed > 0) return style.bad(`${failed} of ${replayed + failed} runs do not replay (${facts})`);
  return style.good(`${replayed === 1 ? '1 run replays' : `all ${replayed} runs replay`} (${facts})`);
}

/**
 * Prints the result of a replay. The runs that do not replay come first.
 *
 * @throws CountersignError `failed` if any run does not replay.
 */
function report({ judged, ms }: Done, { progress, context: { screen, print } }: Work) {
  const failed = judged.filter(({ finding }) => finding !== undefined);
  const events = judged.reduce((sum, one) => sum + one.events, 0);
  const counts = { replayed: judged.length - failed.length, failed: failed.length, gone: progress.gone };
  const sum: ReplaySum = { ...counts, events, ms: Math.round(ms) };
  print({ ...sum, runs: judged }, () => [
    ...failed.flatMap((one) => replayFindingLines(one, screen)),
    sumLine(sum, screen),
  ]);
  if (failed.length > 0) throw replayFailed(failed);
}

function replayFailed(failed: readonly JudgedRun[]): CountersignError {
  const turns = [...new Set(failed.map(({ turn }) => turn))];
  const which = turns.length === 1 ? 'a turn does' : `${turns.length} turns do`;
  return new CountersignError('failed', `${which} not replay`, {
    hint: 'A worker with this code would get stuck on them: do not deploy it while they are open.',
    data: { failed: turns },
  });
}

/** @throws CountersignError `usage` for options that do not go together. */
export function refuseMistakes(named: string | undefined, { last, query }: ReplayOptions): void {
  const isBatch = last !== undefined || query !== undefined;
  if (isBatch === (named !== undefined)) {
    const message = isBatch ? 'a turn goes without --last and --query' : 'nothing is named to replay';
    throw usageError(message, 'name a turn or an exported file, or say --last 200.');
  }
}

/**
 * A live worker ends code that takes longer than 5 s. Here the limit is four times as long, because a busy machine may
 * be slow.
 */
const TASK_TIMEOUT_MS = 20_000;

/** The most time that the code may work on one workflow task, in milliseconds. */
export function taskTimeoutOf({ taskTimeout }: Pick<ReplayOptions, 'taskTimeout'>): number {
  if (taskTimeout === undefined) return TASK_TIMEOUT_MS;
  const ms = readTime(taskTimeout, '--task-timeout');
  if (ms > 0) return ms;
  throw usageError(`--task-timeout ${taskTimeout}: the code needs some time`);
}
