import { type Env, Hono } from 'hono';
import type { InboxItem } from '../client/types';
import type { InboxFeed } from './inbox-feed';
import {
  createReach,
  openProbePort,
  type ProbeAnswer,
  type ProbePort,
  readiness,
  type Reachable,
} from './probes';

/**
 * The most series. Their names come from waiting items, and anybody may start such items. So the least urgent items
 * share one series.
 */
const MOST_SERIES = 500;
const OTHER = 'other';

/** The most characters of one name. */
const MOST_CHARACTERS = 100;

/** The longest time that a scrape waits. It is less than the ten seconds that Prometheus allows by default. */
const WAIT_MS = 8_000;

const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Opens the port of the metrics. @throws CountersignError `config_invalid`. */
export async function openMetrics(
  address: string | undefined,
  feed: Pick<InboxFeed, 'whole'>,
): Promise<ProbePort | undefined> {
  if (address === undefined) return undefined;
  return openProbePort(address, 'metrics', { '/metrics': () => inboxMetrics(feed) });
}

/** The metrics of a web inbox for Prometheus: the items that wait for a person, as last read. Never rejects. */
export async function inboxMetrics(feed: Pick<InboxFeed, 'whole'>): Promise<ProbeAnswer> {
  try {
    const read = await feed.whole(WAIT_MS);
    const isWhole = read?.waiting.isComplete === true;
    // Counts of only a part would look as if somebody had decided the other items.
    const lines = isWhole ? waitingLines(read.waiting.items) : [];
    return { status: 200, type: TYPE, text: [...upLines(isWhole), ...lines, ''].join('\n') };
  } catch {
    return { status: 200, type: TYPE, text: [...upLines(false), ''].join('\n') };
  }
}

function upLines(isUp: boolean) {
  return [
    ...head('countersign_inbox_up', 'Whether the whole inbox could be read.'),
    `countersign_inbox_up ${isUp ? 1 : 0}`,
  ];
}

/** The waiting items of one agent, tool and kind. */
interface Series {
  labels: string;
  count: number;
  /** When the oldest item began to wait, in ms since 1970. */
  oldest: number;
}

function waitingLines(items: readonly InboxItem[]): string[] {
  const now = Date.now();
  const series = seriesOf(items);
  return [
    ...head('countersign_waiting', 'What waits for a person, by agent, tool and kind.'),
    ...series.map(({ labels, count }) => `countersign_waiting{${labels}} ${count}`),
    ...head('countersign_waiting_oldest_seconds', 'For how long the oldest of them waits.'),
    ...series.map(({ labels, oldest }) => {
      return `countersign_waiting_oldest_seconds{${labels}} ${Math.max(0, now - oldest) / 1000}`;
    }),
  ];
}

function seriesOf(items: readonly InboxItem[]): Series[] {
  const all = new Map<string, Series>();
  for (const { agent, tool, kind, since } of items) {
    const own = labelsOf(agent, tool, kind);
    const labels = all.has(own) || all.size < MOST_SERIES ? own : labelsOf(OTHER, OTHER, kind);
    const at = Date.parse(since);
    const known = all.get(labels) ?? { labels, count: 0, oldest: at };
    all.set(labels, { labels, count: known.count + 1, oldest: Math.min(known.oldest, at) });
  }
  return [...all.values()];
}

function labelsOf(agent: string, tool: string, kind: string) {
  return `agent="${escaped(agent)}",tool="${escaped(tool)}",kind="${escaped(kind)}"`;
}

/** A label in the text format of Prometheus. Control characters are replaced. */
function escaped(text: string) {
  return text
    .slice(0, MOST_CHARACTERS)
    .replace(/[\u0000-\u001f\u007f\p{Surrogate}]/gu, '?')
    .replace(/[\\"]/g, '\\$&');
}

function head(name: string, help: string) {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`];
}

/** The routes for probes of web inboxes: whether the process is up, and whether it can reach Temporal's server. */
export function probeRoutes<E extends Env>(connectionOf: () => Reachable): Hono<E> {
  const reach = createReach(connectionOf);
  return new Hono<E>()
    .get('/health', (c) => c.text('ok\n'))
    .get('/ready', async (c) => {
      const { status, text } = readiness((await reach()) ? undefined : "Temporal's server does not answer");
      return c.text(text, status, { 'Cache-Control': 'no-store' });
    });
}
