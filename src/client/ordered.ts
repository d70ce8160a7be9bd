/** Does something with each item, `most` at a time, and gives the results in the order of the items. */
export async function* mapOrdered<T, R>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for (const item of items) {
    const started = work(item);
    // Whatever fails is told when its turn comes; until then it is not unhandled.
    started.catch(() => undefined);
    running.push(started);
    if (running.length >= most) yield* next(running);
  }
  while (running.length > 0) yield* next(running);
}

async function* next<R>(running: Promise<R>[]): AsyncGenerator<R> {
  const first = running.shift();
  if (first !== undefined) yield await first;
}
