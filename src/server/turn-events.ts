import { setTimeout as delay } from 'node:timers/promises';
import type { Countersign } from '../client/types';
import type { ServerEvent } from './events';

type TurnDesk = Pick<Countersign, 'follow' | 'pendingActivities'>;

/** Milliseconds between two looks at what runs right now: history tells that only afterwards. */
const LOOK_MS = 1_000;

/** Everything that happens in a turn from its start, and what runs right now, until it ends. Errors: as `Countersign.follow`. */
export async function* turnEvents(
  desk: TurnDesk,
  turn: string,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const ended = new AbortController();
  const own = AbortSignal.any([signal, ended.signal]);
  const told = eventsOf(desk, turn, own);
  const running = runningOf(desk, turn, own);
  try {
    yield* untilFirstEnds(told, running);
    if (!signal.aborted) yield { event: 'end', data: {} };
  } finally {
    ended.abort();
  }
}

async function* eventsOf(desk: TurnDesk, turn: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  let id = 0;
  for await (const data of desk.follow(turn, { signal })) yield { event: 'turn', id: id++, data };
}

async function* runningOf(desk: TurnDesk, turn: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  for (let last = ''; !signal.aborted;) {
    const data = await desk.pendingActivities(turn);
    const now = JSON.stringify(data);
    if (now !== last) yield { event: 'pending', data };
    last = now;
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** What either gives, as it comes, until the first one ends. */
async function* untilFirstEnds<T>(first: AsyncGenerator<T>, other: AsyncGenerator<T>): AsyncGenerator<T> {
  const ask = (source: AsyncGenerator<T>) => {
    const next = source.next().then((result) => ({ source, result }));
    // Failures are seen by the race; one that comes after the end is nobody's.
    next.catch(() => undefined);
    return next;
  };
  let [nextFirst, nextOther] = [ask(first), ask(other)];
  for (;;) {
    const { source, result } = await Promise.race([nextFirst, nextOther]);
    if (source === first) {
      if (result.done === true) return;
      nextFirst = ask(first);
    } else nextOther = result.done === true ? nextFirst : ask(other);
    if (result.done !== true) yield result.value;
  }
}
