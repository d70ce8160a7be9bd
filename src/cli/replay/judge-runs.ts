import { CountersignError } from '../../contract/errors';
import type { Decode } from '../../history/decode/decode';
import { refuseNewer, turnEventsOfRuns } from '../../history/exported';
import { explain, type ReplayFinding } from '../../history/replay/explain';
import type { ReplayedRun, RunToReplay } from '../../history/replay/replayer';
import type { Context } from '../context';
import { fileDecode } from '../turn-or-file';

/** A run of a turn, by its ids if they are known. */
export interface NamedRun extends RunToReplay {
  runId?: string;
}

/** The result of one run. A run without a finding replays. */
export interface JudgedRun {
  turn: string;
  runId?: string;
  events: number;
  finding?: ReplayFinding;
}

/** The functions that replay runs in their order and that decode them. */
export interface Replaying {
  replay(runs: AsyncIterable<NamedRun>): AsyncIterable<ReplayedRun<NamedRun>>;
  decode: Decode;
}

/** Replays runs in order and judges each. */
export async function* judgeRuns(
  { replay, decode }: Replaying,
  runs: AsyncIterable<NamedRun>,
): AsyncGenerator<JudgedRun> {
  const refused: JudgedRun[] = [];
  for await (const replayed of replay(withoutNewer(runs, refused))) {
    yield judgedOf(replayed.run, await findingOf(replayed, decode));
    yield* refused.splice(0);
  }
  yield* refused;
}

/** Leaves out runs of a newer version: this code cannot know what the newer code meant. */
async function* withoutNewer(runs: AsyncIterable<NamedRun>, refused: JudgedRun[]): AsyncGenerator<NamedRun> {
  for await (const run of runs) {
    const why = await refusal(() => refuseNewer(run.history));
    if (why === undefined) yield run;
    else refused.push(judgedOf(run, { kind: 'unreadable', eventId: 1, why }));
  }
}

function judgedOf({ turn, runId, history }: NamedRun, finding: ReplayFinding | undefined): JudgedRun {
  return { turn, events: history.events?.length ?? 0, runId, finding };
}

async function findingOf(
  { run, observed, error }: ReplayedRun<NamedRun>,
  decode: Decode,
): Promise<ReplayFinding | undefined> {
  if (error === undefined && observed.stuck === undefined) return undefined;
  const message = error?.message;
  const why = await refusal(() => turnEventsOfRuns([run.history], decode));
  if (why !== undefined) return { kind: 'unreadable', eventId: 1, why, message };
  return explain(run.history, observed, message ?? '');
}

/** The reason why a history cannot be read here at all. Such a history says nothing about the code. */
async function refusal(read: () => unknown): Promise<string | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return 'workflowType' in error.data ? undefined : error.message;
  }
}

/** The options of `replay` on the command line. */
export interface ReplayOptions {
  last?: string;
  query?: string;
  workflows?: string;
  taskTimeout?: string;
}

/** The progress of a batch. */
export interface ReplayProgress {
  runs: number;
  done: number;
  /** Runs that the server deleted between listing and reading: their retention was over. */
  gone: number;
}

/** One `replay`: its options and its progress. */
export interface Work {
  options: ReplayOptions;
  context: Context;
  progress: ReplayProgress;
  /** The most time that the code may work on one workflow task, in milliseconds. */
  taskTimeoutMs: number;
}

/** The results of all runs. */
export interface Done {
  judged: JudgedRun[];
  /** The time that the runs took, in milliseconds. */
  ms: number;
}

/** Replays runs in order, judges each, and counts them. */
export async function judgeAll(
  runs: AsyncIterable<NamedRun>,
  work: Work,
  replay: Replaying['replay'],
): Promise<Done> {
  const replaying = { replay, decode: await fileDecode(work.context) };
  const judged: JudgedRun[] = [];
  const started = performance.now();
  for await (const one of judgeRuns(replaying, runs)) {
    judged.push(one);
    work.progress.done += 1;
  }
  return { judged, ms: performance.now() - started };
}
