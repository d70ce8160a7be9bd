import type { ReplayedRun, RunToReplay } from '../../../history/replay/replayer';
import { Keeper, type Apart } from './keeper';
import type { Ask } from './messages';
import { packHistory } from './passed-on';

/**
 * Replays runs one after the other in a process of its own, which is given up along with a run whose code does not come
 * to rest; the next run gets another one. Meanwhile this process is free, and sends the next run ahead.
 */
export async function* replayApart<T extends RunToReplay>(
  apart: Apart,
  runs: AsyncIterable<T>,
): AsyncGenerator<ReplayedRun<T>> {
  // It loads the SDK while the first run is read.
  let keeper = new Keeper(apart);
  const packed = pack(runs);
  const sendNext = async () => {
    const { value, done } = await packed.next();
    return done === true ? undefined : { ...value, answer: keeper.replay(value.ask) };
  };
  try {
    let sent = await sendNext();
    while (sent !== undefined) {
      const { run } = sent;
      const [answer, next] = await Promise.all([sent.answer, sendNext()]);
      if ('broken' in answer) throw new Error(answer.broken);
      const { isLast = false, ...replayed } = answer;
      if (isLast) keeper.end();
      if (isLast && next !== undefined) {
        keeper = new Keeper(apart);
        next.answer = keeper.replay(next.ask);
      }
      yield { run, ...replayed };
      sent = next;
    }
  } finally {
    keeper.end();
  }
}

async function* pack<T extends RunToReplay>(runs: AsyncIterable<T>): AsyncGenerator<{ run: T; ask: Ask }> {
  for await (const run of runs) yield { run, ask: { turn: run.turn, history: packHistory(run.history) } };
}
