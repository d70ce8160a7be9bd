import { createHash, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  CONTROL_STATES,
  controlTrouble,
  type Pause,
  type Pauses,
  pauseText,
} from '../authority/pauses/pause';
import { isSeenBy, type Permit } from '../authority/rules/permits';
import { LIMITS } from '../contract/limits';
import { isTurnIn } from '../contract/session';
import { isInDoubt, newestFirst } from '../client/inbox/order';
import type { InboxItem, Waiting } from '../client/types';
import type { HeldPause, InboxPage, InboxPageQuery, NamedCount } from './api';
import { waitsFor, type Whom } from '../authority/votes/waits-for';

/** The most filters that are kept until the inbox changes. */
const MOST_PAGES = 50;

/** A part of the inbox as a page shows it, without the time of the read. */
type PageContent = Omit<InboxPage, 'at'>;

/** The most permits that are remembered. */
const MOST_SHARES = 200;

/** The parts of the inbox, by permit. People who see the same turns share a part. */
export class InboxShares {
  private readonly shares = new LRUCache<string, InboxShare>({ max: MOST_SHARES });

  of({ agents }: Pick<Permit, 'agents'>): InboxShare {
    const name = JSON.stringify(agents);
    const share = this.shares.get(name) ?? new InboxShare({ agents });
    this.shares.set(name, share);
    return share;
  }
}

/** The pauses that hold calls of agents that the person sees. */
export function heldBy(found: Pauses, permit: Permit): HeldPause[] {
  const trouble = controlTrouble(found);
  if (trouble !== undefined) return [{ text: CONTROL_STATES[trouble] }];
  const isSeen = ({ agent }: Pause) => agent === undefined || isSeenBy(permit, { agent });
  return found.pauses.filter(isSeen).map((pause) => {
    const { agent, tool } = pause;
    return { text: pauseText(pause), of: { agent, tool } };
  });
}

/** The inbox as some people see it. It does not change with items that these people do not see. */
class InboxShare {
  // A share that is made again gets another name, because its versions count from the start.
  private readonly name = randomUUID();
  private readonly pages = new InboxPages();
  private of: Waiting | undefined;
  private seen: Waiting = { items: [], isComplete: false, version: 0 };

  constructor(private readonly permit: Pick<Permit, 'agents'>) {}

  /** A value that changes whenever the visible part changes. */
  versionOf(waiting: Waiting): string {
    return `${this.name}.${this.part(waiting).version}`;
  }

  totalsOf(waiting: Waiting): Totals {
    return this.pages.totalsOf(this.part(waiting));
  }

  choose(waiting: Waiting, query: Omit<InboxPageQuery, 'seen'>, whom?: Whom): PageContent {
    return this.pages.choose(this.part(waiting), query, whom);
  }

  private part(waiting: Waiting): Waiting {
    if (this.of?.version === waiting.version && this.of.isComplete === waiting.isComplete) return this.seen;
    this.of = waiting;
    const { isComplete } = waiting;
    const items = waiting.items.filter((item) => isSeenBy(this.permit, item));
    const { items: before, version, isComplete: wasComplete } = this.seen;
    const isSame =
      isComplete === wasComplete &&
      items.length === before.length &&
      items.every((one, at) => one === before[at]);
    if (!isSame) this.seen = { items, isComplete, version: version + 1 };
    return this.seen;
  }
}

type Totals = Pick<InboxPage, 'waiting' | 'doubts' | 'tools' | 'agents'>;

/** Chooses parts of the inbox as it was read. A part that was requested is kept until the inbox changes. */
class InboxPages {
  private version: number | undefined;
  private totals: Totals = NOTHING;
  private newest: readonly InboxItem[] | undefined;
  private readonly kept = new LRUCache<string, PageContent>({ max: MOST_PAGES });

  /** The counts of everything that waits. */
  totalsOf(waiting: Waiting): Totals {
    this.take(waiting);
    return this.totals;
  }

  /** The part that a query chooses. */
  choose(waiting: Waiting, query: Omit<InboxPageQuery, 'seen'>, whom?: Whom): PageContent {
    this.take(waiting);
    // The result of these filters changes with time, or with the approvers file.
    const isTimed = query.olderThan !== undefined || whom !== undefined;
    const name = JSON.stringify(Object.entries(query).sort());
    const known = isTimed ? undefined : this.kept.get(name);
    const page = known ?? this.make(waiting, query, whom);
    if (!isTimed) this.kept.set(name, page);
    return page;
  }

  private take({ items, version }: Waiting): void {
    if (this.version === version) return;
    this.version = version;
    this.newest = undefined;
    this.kept.clear();
    this.totals = {
      waiting: items.length,
      doubts: items.filter(isInDoubt).length,
      tools: countsOf(items, 'tool'),
      agents: countsOf(items, 'agent'),
    };
  }

  private make(waiting: Waiting, query: Omit<InboxPageQuery, 'seen'>, whom?: Whom): PageContent {
    const { sort = 'deadline', offset = 0, limit = LIMITS.inboxRows } = query;
    const items = sort === 'newest' ? (this.newest ??= newestFirst(waiting.items)) : waiting.items;
    const [matches, now] = [matcherOf(query), Date.now()];
    const found = items.filter((item) => matches(item) && (whom === undefined || waitsFor(whom, item, now)));
    const rows = found.slice(offset, offset + limit);
    const page = { rows, matching: found.length, ...this.totals, complete: waiting.isComplete };
    return { ...page, key: createHash('sha256').update(JSON.stringify(page)).digest('base64url') };
  }
}

const NOTHING = { waiting: 0, doubts: 0, tools: [], agents: [] };

function countsOf(items: readonly InboxItem[], field: 'tool' | 'agent'): NamedCount[] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item[field], (counts.get(item[field]) ?? 0) + 1);
  const named = [...counts].map(([name, count]) => ({ name, count }));
  return named.sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

function matcherOf(query: Omit<InboxPageQuery, 'seen'>): (item: InboxItem) => boolean {
  const { tool, agent, session, doubt, olderThan, text = '' } = query;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const old = olderThan === undefined ? undefined : new Date(Date.now() - olderThan).toISOString();
  return (item) =>
    (tool === undefined || item.tool === tool) &&
    (agent === undefined || item.agent === agent) &&
    (session === undefined || isOf(session, item)) &&
    (doubt === undefined || isInDoubt(item)) &&
    (old === undefined || item.since < old) &&
    (words.length === 0 || words.every((word) => textOf(item).includes(word)));
}

/**
 * Whether an item belongs to a session. A child turn knows the turn that it was started for, but not the session of
 * that turn.
 */
function isOf(session: string, { session: own, lineage = [] }: InboxItem) {
  return own === session || lineage.slice(0, 1).some(({ turn }) => isTurnIn(session, turn));
}

/** The search text of each item, which is made only once: making it takes longer than searching it. */
const texts = new WeakMap<InboxItem, string>();

function textOf(item: InboxItem) {
  const known = texts.get(item);
  if (known !== undefined) return known;
  const { turn, callId, agent, tool, summary, note = '', prompt } = item;
  const text = [`${turn}/${callId}`, agent, tool, summary, note, prompt].join('\n').toLowerCase();
  texts.set(item, text);
  return text;
}
