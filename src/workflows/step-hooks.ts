import type { CarriedTurn } from '../contract/turn';
import { MOVES } from './move-turn';
import { REPEATS } from './repeats';
import { WORDS } from './session/words';
import { BUDGETS } from './spending';
import type { StepHook, Turn } from './turn-state';

/** The hooks, in their order. The first of them that says anything is heard. A feature adds its own here. */
export const STEP_HOOKS: readonly StepHook[] = [
  // It may wait for a person for days. So everything that is about the step itself comes after it.
  BUDGETS,
  // A step counts as repeated also where it is the last, so nothing that ends the turn may come before.
  REPEATS,
  WORDS,
  // It may leave this run, so this is last.
  MOVES,
];

/** The first answer of a hook. */
export function firstOf<T>(
  hooks: readonly StepHook[],
  ask: (hook: StepHook) => T | undefined,
): T | undefined {
  return hooks.map(ask).find((answer) => answer !== undefined);
}

/** What the features give the next run. */
export function carriedBy(hooks: readonly StepHook[], turn: Turn): Partial<CarriedTurn> {
  return Object.assign({}, ...hooks.map(({ carry }) => carry?.(turn)));
}
