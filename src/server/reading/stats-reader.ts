import { LRUCache } from 'lru-cache';
import type { Countersign } from '../../client/countersign';
import type { ListQuery } from '../../client/types';
import { readTurns } from '../../client/read-turns';
import { createStats } from '../../history/stats';
import type { Permit } from '../../authority/rules/permits';
import { CountersignError } from '../../contract/errors';
import type { StatsAnswer } from '../api';
import type { RefusalLog } from '../refusal-log';
import { SharedRead } from './shared-read';

/** The turns to count. */
interface StatsQuery {
  /** Only turns that are open, or that ended at most this many milliseconds ago. */
  sinceMs?: number;
  agent?: string;
  tool?: string;
  /** The most turns that are counted. The newest turns are chosen. */
  limit: number;
}

/** The parts that a reader works with. */
interface StatsReaderParts {
  readerOf(permit: Pick<Permit, 'agents'>): Pick<Countersign, 'list' | 'timeline' | 'namespace'>;
  refusals: Pick<RefusalLog, 'counts'>;
}

/** The time for which an answer is kept, in milliseconds. A reload in that time does not read again. */
const FRESH_MS = 30_000;
/** The most answers that are kept. This is enough for the filters that a few people try. */
const MAX_ANSWERS = 20;
/** The most answers that are read or wait for that. Each takes seconds, even if nobody waits for it any more. */
const MOST_OPEN = 10;

/**
 * Reads stats. All people who send the same query and see the same turns share one answer. It answers one query at a
 * time, because each query reads hundreds of histories.
 */
export class StatsReader {
  private readonly reads = new LRUCache<string, SharedRead<StatsAnswer>>({ max: MAX_ANSWERS });
  private last: Promise<unknown> = Promise.resolve();
  private open = 0;

  constructor(private readonly parts: StatsReaderParts) {}

  /**
   * Stats of the turns that match. The same query within 30 seconds gets the same answer.
   *
   * @throws CountersignError as `Countersign.list` and `timeline`; `too_many_attempts` if many others wait.
   */
  async read(query: StatsQuery, { agents }: Pick<Permit, 'agents'>): Promise<StatsAnswer> {
    const { sinceMs, agent, tool, limit } = query;
    const key = JSON.stringify([sinceMs, agent, tool, limit, agents]);
    const known = this.reads.get(key);
    if (known?.isFresh === true) return known.answer;
    const read = new SharedRead(this.begin(query, agents), FRESH_MS);
    this.reads.set(key, read);
    return read.answer;
  }

  private begin(query: StatsQuery, agents: Permit['agents']) {
    if (this.open >= MOST_OPEN)
      throw new CountersignError(
        'too_many_attempts',
        `${MOST_OPEN} other stats are being read`,
        'ask again in a moment',
      );
    this.open += 1;
    const { readerOf, refusals } = this.parts;
    const client = readerOf({ agents });
    const answer = this.last.then(() => readStats({ client, refusals, agents }, query, Date.now()));
    this.last = answer.catch(() => undefined).then(() => (this.open -= 1));
    return answer;
  }
}

interface StatsSources extends Pick<StatsReaderParts, 'refusals'>, Pick<Permit, 'agents'> {
  client: ReturnType<StatsReaderParts['readerOf']>;
}

async function readStats(
  { client, refusals, agents }: StatsSources,
  { sinceMs, agent, tool, limit }: StatsQuery,
  now: number,
): Promise<StatsAnswer> {
  const since = sinceMs === undefined ? undefined : new Date(now - sinceMs).toISOString();
  const query: ListQuery = { agent, since, limit };
  const turns = await client.list(query);
  const fold = createStats({ tool });
  let unread = 0;
  for await (const events of readTurns(client, turns, () => (unread += 1))) fold.add(events);
  return {
    stats: fold.stats(),
    unread,
    refusals: await refusals.counts({ namespace: client.namespace, agents, since }),
    isCut: turns.length === limit,
    at: new Date(now).toISOString(),
  };
}
