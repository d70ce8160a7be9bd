import type { ReplayWorkerOptions } from '@temporalio/worker';
import { defined } from '../../history/defined';
import type { Probe } from '../../history/replay/replayer';
import type { Context } from '../context';
import { encryptionOf, fileDecode } from '../open-turn';
import type { Judged, NamedRun } from './judge';
import type { ReplayOptions } from './options';
import type { ReplayProgress } from './runs';

/** One `replay`: what was asked, and how far it is. */
export interface Work {
  options: ReplayOptions;
  context: Context;
  progress: ReplayProgress;
}

/** What came of it. */
export interface Done {
  judged: Judged[];
  /** How long the runs took, in milliseconds. */
  ms: number;
}

/** Replays runs in order, judges each, and counts them. */
export async function judgeAll(runs: AsyncIterable<NamedRun>, work: Work, probe?: Probe): Promise<Done> {
  const { judgeRuns } = await import('./judge.js');
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

/** The SDK's native worker comes with the code, and keeps the process alive until it has replayed: the code is loaded last. */
async function loadCode({ options, context }: Work): Promise<ReplayWorkerOptions> {
  const { codeToReplay } = await import('./code.js');
  return codeToReplay(options.workflows, (await encryptionOf(context)).replay());
}
