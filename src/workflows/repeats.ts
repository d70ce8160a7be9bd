import type { PreparedCall } from '../contract/call';
import { afterStep, isLoop, isRepeated } from '../contract/repeats';
import type { StepHook, Turn } from './turn-state';

const LOOP = 'the model asked for the same calls again and again, although it read that this leads nowhere';

/** A model that asks for the same again and again: first its calls do not run, and then the turn ends. */
export const REPEATS: StepHook = {
  closes: (turn, calls) => (isRepeated(turn, calls) ? 'repeated' : undefined),
  after(turn, calls) {
    noteStep(turn, calls);
    return isLoop(turn) ? { status: 'loop', why: LOOP } : undefined;
  },
  carry: ({ repeated }) => ({ repeated }),
};

/** Notes a step with its results, to find steps that repeat it. */
export function noteStep(turn: Turn, calls: readonly PreparedCall[]): void {
  const digests = turn.results.map(({ digest }) => digest);
  turn.repeated = afterStep(turn, calls, digests);
}
