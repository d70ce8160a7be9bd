import { turnEventsOfRuns } from '../../history/from-json';
import { parsePoint } from '../../history/point';
import type { History } from '../../history/read-histories';
import { fileDecode, readTurnRuns } from '../open-turn';
import { readCount } from '../read-value';
import { awaitDebugger, closeInspectorAtEnd, openInspector } from './inspect';
import { replayHere, replayWithDeadline } from './replayers';
import { namedRuns } from './runs';
import { Stop } from './stop';
import { stopPlace } from './stop-place';
import { judgeAll, type Done, type Work } from './work';

/** Judges every run of one turn, or the one that a debugger stops in. */
export async function judgeTurn(named: string, work: Work): Promise<Done> {
  const histories = await readTurnRuns(named, work.context);
  // What cannot be read, or is no turn, is told as such; workflows of somebody's own need not be any business of ours.
  if (work.options.workflows === undefined) await turnEventsOfRuns(histories, await fileDecode(work.context));
  if (work.options.inspect === true) return inspect(histories, work);
  work.progress.runs = histories.length;
  return judgeAll(namedRuns(histories), work, await replayWithDeadline(work));
}

async function inspect(histories: readonly History[], work: Work): Promise<Done> {
  const { options, context, progress } = work;
  const point = options.at === undefined ? undefined : parsePoint(options.at);
  const { history, startedId } = await stopPlace(histories, point, await fileDecode(context));
  progress.runs = 1;
  openInspector(readCount(options.port, '--port', 0));
  const stop = new Stop(startedId, () => awaitDebugger(context.screen));
  const done = await judgeAll(namedRuns([history]), work, await replayHere(work, stop));
  closeInspectorAtEnd();
  if (!stop.wasHit) context.screen.note(`no workflow code ran at event #${startedId} or after it`);
  return done;
}
