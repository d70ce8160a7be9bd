/**
 * The most reactions that one promise got while `act` ran. `Promise.race` adds one to each promise that it is given, so
 * a promise that is raced again and again shows here.
 */
export async function mostReactions(act: () => Promise<void>): Promise<number> {
  const then = jest.spyOn(Promise.prototype, 'then');
  try {
    await act();
    const counts = new Map<unknown, number>();
    for (const promise of then.mock.contexts) counts.set(promise, (counts.get(promise) ?? 0) + 1);
    return Math.max(0, ...counts.values());
  } finally {
    then.mockRestore();
  }
}
