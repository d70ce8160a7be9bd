import { timed } from '../../figure';
import { approve, DECISIONS, effectOf, percentile, take, type Scale } from '../context';
import { BURST } from '../growth';
import type { Values } from '../rows';
import { startWaiting } from './start';

/** From a decision sent to its effect, one at a time. */
export async function decideEach(scale: Scale): Promise<Values> {
  const samples: number[] = [];
  for (const turn of take(scale, DECISIONS))
    samples.push(await timed(() => Promise.all([approve(scale, turn), effectOf(scale, turn)])));
  return { decide: percentile(samples, 0.5), decideLate: percentile(samples, 0.95) };
}

/** Many decisions at once, until the last effect: on turns that are started for it, beside all that wait. */
export async function decideMany(scale: Scale): Promise<Values> {
  const turns = await startWaiting(scale, Math.min(scale.size, BURST));
  const ms = await timed(() =>
    Promise.all(turns.flatMap((turn) => [approve(scale, turn), effectOf(scale, turn)])),
  );
  return { burst: (turns.length / ms) * 1000 };
}
