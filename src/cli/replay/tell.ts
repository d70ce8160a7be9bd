import { CountersignError } from '../../contract/errors';
import { findingLines, sumLine, type ReplaySum } from '../print/replay';
import type { Judged } from './judge';
import type { Done, Work } from './work';

/**
 * Tells what came of a replay, the runs that do not replay first.
 *
 * @throws CountersignError `replay_failed` where there are any.
 */
export function tell({ judged, ms }: Done, { progress, options, context: { screen } }: Work): void {
  const failed = judged.filter(({ finding }) => finding !== undefined);
  const events = judged.reduce((sum, one) => sum + one.events, 0);
  const counts = { replayed: judged.length - failed.length, failed: failed.length, gone: progress.gone };
  const sum: ReplaySum = { ...counts, events, ms: Math.round(ms) };
  if (options.json === true) screen.json({ ...sum, runs: judged });
  else screen.lines([...failed.flatMap((one) => findingLines(one, screen)), sumLine(sum, screen)]);
  if (failed.length > 0) throw replayFailed(failed);
}

function replayFailed(failed: readonly Judged[]): CountersignError {
  const turns = [...new Set(failed.map(({ turn }) => turn))];
  const which = turns.length === 1 ? 'a turn does' : `${turns.length} turns do`;
  return new CountersignError('replay_failed', `${which} not replay`, {
    hint: 'A worker with this code would get stuck on them: do not deploy it while they are open.',
    data: { failed: turns },
  });
}
