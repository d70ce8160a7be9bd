import type { Context } from '../context';
import { fileDecode } from '../open-turn';
import { judgeRuns, type Judged, type NamedRun, type Replaying } from './judge';
import type { ReplayOptions } from './options';
import type { ReplayProgress } from './runs';

/** One `replay`: what was asked, and how far it is. */
export interface Work {
  options: ReplayOptions;
  context: Context;
  progress: ReplayProgress;
  /** How long the code may work on one workflow task, in milliseconds. */
  taskTimeoutMs: number;
}

/** What came of it. */
export interface Done {
  judged: Judged[];
  /** How long the runs took, in milliseconds. */
  ms: number;
}

/** Replays runs in order, judges each, and counts them. */
export async function judgeAll(
  runs: AsyncIterable<NamedRun>,
  work: Work,
  replay: Replaying['replay'],
): Promise<Done> {
  const replaying = { replay, decode: await fileDecode(work.context) };
  const judged: Judged[] = [];
  const started = performance.now();
  for await (const one of judgeRuns(replaying, runs)) {
    judged.push(one);
    work.progress.done += 1;
  }
  return { judged, ms: performance.now() - started };
}
