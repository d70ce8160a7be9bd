/** Wakes the races that wait for a promise. A promise that settled is not in this map. */
const waiting = new WeakMap<Promise<unknown>, Set<() => void>>();

/**
 * Like `Promise.race`, but leaves nothing on the promises that did not win. `Promise.race` leaves a reaction on each of
 * them, which keeps the result of the race for as long as that promise is pending. So use this function if a promise
 * outlives many races.
 *
 * @example
 * while (!signal.aborted) await race([stopped, readInbox()]);
 */
export function race<T>(promises: readonly Promise<T>[]): Promise<T> {
  const leave: (() => void)[] = [];
  const first = new Promise<T>((resolve) => {
    for (const promise of promises) {
      const wake = () => resolve(promise);
      const races = racesOf(promise);
      races.add(wake);
      leave.push(() => races.delete(wake));
    }
  });
  return first.finally(() => leave.forEach((one) => one()));
}

function racesOf(promise: Promise<unknown>): Set<() => void> {
  const known = waiting.get(promise);
  if (known) return known;
  const races = new Set<() => void>();
  waiting.set(promise, races);
  const settled = () => {
    waiting.delete(promise);
    for (const wake of races) wake();
  };
  promise.then(settled, settled);
  return races;
}
