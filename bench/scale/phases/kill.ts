import { approve, effectOf, take, WHILE_DOWN, type Scale } from '../context';
import type { Values } from '../rows';

/** Both workers are killed, decisions are sent, new workers start: from the kill to the first effect. */
export async function killBoth(scale: Scale): Promise<Values> {
  const { crew } = scale;
  const turns = take(scale, WHILE_DOWN);
  const effects: number[] = [];
  const effect = async (turn: string): Promise<void> => {
    await effectOf(scale, turn);
    effects.push(performance.now());
  };
  const killed = performance.now();
  await crew.kill();
  await Promise.all([crew.start(), ...turns.flatMap((turn) => [approve(scale, turn), effect(turn)])]);
  return { kill: (Math.min(...effects) - killed) / 1000 };
}
