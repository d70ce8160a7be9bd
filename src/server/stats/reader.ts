import type { Countersign, ListQuery } from '../../client/types';
import { readTurns } from '../../client/read-turns';
import { createStats } from '../../history/stats';
import { defined } from '../../history/defined';
import type { StatsAnswer } from '../api';
import type { RefusalLog } from '../refusals/log';

/** Which turns to count. */
export interface StatsQuery {
  /** Only turns that are open, or ended within so many milliseconds until now. */
  sinceMs?: number;
  agent?: string;
  tool?: string;
  /** At most so many turns, newest first. */
  limit: number;
}

/** Reads stats for everybody who looks. */
export interface StatsReader {
  /** The same question within a short while is answered from the first reading. Errors: as `Countersign.list` and `timeline`. */
  read(query: StatsQuery): Promise<StatsAnswer>;
}

/** What a reader reads from. */
export interface StatsReaderParts {
  desk: Pick<Countersign, 'list' | 'timeline' | 'namespace'>;
  refusals: Pick<RefusalLog, 'counts'>;
  /** Milliseconds since 1970. @default the machine's */
  now?(): number;
}

/** A person who reloads waits no second time; what a turn did a minute ago is soon enough in stats. */
const KEPT_MS = 30_000;
/** Answers that are remembered: as many filters as a few people try. */
const MOST_KEPT = 20;

/** A reader that reads one thing at a time, however many ask: each reading goes through hundreds of histories. */
export function createStatsReader({ desk, refusals, now = Date.now }: StatsReaderParts): StatsReader {
  const kept = new Map<string, { answer: Promise<StatsAnswer>; until: number }>();
  let last: Promise<unknown> = Promise.resolve();
  const begin = (query: StatsQuery): Promise<StatsAnswer> => {
    const answer = last.then(() => readStats({ desk, refusals }, query, now()));
    last = answer.catch(() => undefined);
    return answer;
  };
  return {
    read: (query) => {
      const key = JSON.stringify([query.sinceMs, query.agent, query.tool, query.limit]);
      const known = kept.get(key);
      if (known !== undefined && now() < known.until) return known.answer;
      const entry = { answer: begin(query), until: Infinity };
      keep(kept, key, entry);
      entry.answer.then(
        () => (entry.until = now() + KEPT_MS),
        // Whoever asks next tries again.
        () => (entry.until = 0),
      );
      return entry.answer;
    },
  };
}

/** The oldest answer makes room. */
function keep<T>(kept: Map<string, T>, key: string, entry: T): void {
  kept.delete(key);
  kept.set(key, entry);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
}

async function readStats(
  { desk, refusals }: Omit<StatsReaderParts, 'now'>,
  { sinceMs, agent, tool, limit }: StatsQuery,
  now: number,
): Promise<StatsAnswer> {
  const since = sinceMs === undefined ? undefined : new Date(now - sinceMs).toISOString();
  const query: ListQuery = defined({ agent, since, limit });
  const turns = await desk.list(query);
  const fold = createStats(defined({ tool }));
  for await (const events of readTurns(desk, turns)) fold.add(events);
  return {
    stats: fold.stats(),
    refusals: await refusals.counts({ namespace: desk.namespace, ...defined({ since }) }),
    isCut: turns.length === limit,
    at: new Date(now).toISOString(),
  };
}
