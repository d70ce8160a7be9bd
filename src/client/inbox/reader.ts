import type { CountersignError } from '../../contract/errors';
import { MEMO } from '../../contract/names';
import { toCountersignError } from '../../history/server-errors';
import type { ClientContext } from '../context';
import { LIST_PAGE, listPages, SMALL_PAGE } from '../list';
import { AT_ONCE, mapOrdered } from '../read-turns';
import type { InboxItem, InboxReader, Waiting, WaitingStep } from '../types';
import { mostUrgentFirst } from './order';
import {
  waitingQueryOf,
  isCut,
  isWanted,
  itemsOf,
  type ListedTurn,
  listedTurn,
  type WaitingFilter,
  waitingTurn,
} from './waiting';

/** The time for which a read of one turn counts more than visibility, in milliseconds. */
const AHEAD_MS = 30_000;
/**
 * The time, in milliseconds, after which the history of a turn is read again although its memo stays the same. This
 * counts only for a turn that has more open items than its memo names.
 */
const REREAD_MS = 5_000;

/** A turn that waits, as it was last read. */
interface Kept {
  startedAt: number;
  /** The turn as visibility describes it, as one text that can be compared. */
  text: string;
  items: InboxItem[];
  /** The time of the read, by `performance.now`: setting the time of day does not change this clock. */
  readAt: number;
}

/** How the items of a turn changed when it was read. */
type Change = 'same' | 'changed' | 'more';

/** One pass over everything that is listed. */
interface Pass {
  pages: AsyncGenerator<ListedTurn[]>;
  read: number;
  seen: Set<string>;
}

/**
 * Keeps everything that waits in memory. Visibility cannot say what changed, so everything is listed again and again: a
 * page of up to 1,000 turns in each step. If there are more turns, every second step reads the turns that started
 * last, which have most of the new requests. A turn that somebody names is read separately.
 */
export class WaitingReader implements InboxReader {
  private readonly kept = new Map<string, Kept>();
  /** The last separate read of each turn. Visibility may be behind it. */
  private readonly ahead = new Map<string, { readAt: number }>();
  private found = new Set<string>();
  private doubted = new Set<string>();
  private pass: Pass | undefined;
  private pageSize = LIST_PAGE;
  private isComplete = false;
  private isLong = false;
  private steps = 0;
  private version = 0;
  private sorted: { version: number; items: readonly InboxItem[] } | undefined;

  constructor(
    private readonly context: ClientContext,
    private readonly filter: WaitingFilter = {},
  ) {}

  async read(turn: string): Promise<{ waiting: Waiting; isChanged: boolean }> {
    const listed = await waitingTurn(this.context, turn);
    this.ahead.set(turn, { readAt: performance.now() });
    this.doubted.delete(turn);
    const isChanged = listed === undefined ? this.drop(turn) : await this.keepRead(listed);
    return { waiting: this.waiting(), isChanged };
  }

  forget(turn: string): void {
    this.ahead.delete(turn);
    this.doubted.delete(turn);
  }

  async next(): Promise<WaitingStep> {
    try {
      await this.step();
    } catch (thrown) {
      this.pass = undefined;
      const error = toCountersignError(thrown, 'reading the inbox');
      if (!this.canReadLess(error)) throw error;
      this.pageSize = SMALL_PAGE;
      return this.next();
    }
    const [found, doubted] = [[...this.found], [...this.doubted]];
    this.found = new Set();
    this.doubted = new Set();
    return { ...this.waiting(), found, doubted };
  }

  private waiting(): Waiting {
    const { isComplete, version } = this;
    return { items: this.items(), isComplete, version };
  }

  /** Whether a smaller page can be read: a user's own connection may take only small answers. */
  private canReadLess({ code }: CountersignError) {
    return code === 'too_large' && this.pageSize > SMALL_PAGE;
  }

  private async step() {
    this.steps += 1;
    const oldest = performance.now() - AHEAD_MS;
    for (const [turn, { readAt }] of this.ahead) if (readAt < oldest) this.ahead.delete(turn);
    if (!this.isComplete || !this.isLong || this.steps % 2 === 1) await this.readOn();
    else await this.readNewest();
  }

  /** Reads the next page of everything. */
  private async readOn() {
    const pass = (this.pass ??= {
      pages: this.pagesOf(waitingQueryOf(this.filter)),
      read: 0,
      seen: new Set(),
    });
    const { value: turns = [] } = await pass.pages.next();
    pass.read += 1;
    await this.keep(turns);
    if (turns.length === this.pageSize) return;
    this.dropMissing(pass.seen, () => true);
    if (!this.isComplete) this.version += 1;
    this.isComplete = true;
    this.isLong = pass.read > 1;
    this.pass = undefined;
  }

  /**
   * Reads the first page. Visibility lists the newest turns first. So a turn that is missing there, and newer than the
   * page's last turn, no longer waits.
   */
  private async readNewest() {
    const turns = await this.readPage(waitingQueryOf(this.filter));
    await this.keep(turns);
    const oldest = turns.at(-1)?.startedAt ?? 0;
    const isSorted = turns.every((turn, at) => turn.startedAt <= (turns[at - 1]?.startedAt ?? Infinity));
    const listed = new Set(turns.map(({ id }) => id));
    if (isSorted) this.dropMissing(listed, ({ startedAt }) => startedAt > oldest);
  }

  private async readPage(query: string): Promise<ListedTurn[]> {
    const { value } = await this.pagesOf(query).next();
    return value ?? [];
  }

  private async *pagesOf(query: string): AsyncGenerator<ListedTurn[]> {
    for await (const page of listPages(this.context.reader, query, this.pageSize)) yield page.map(listedTurn);
  }

  /** Keeps a turn that was read separately. True if something else waits in it now. */
  private async keepRead(turn: ListedTurn) {
    // The turn may have begun to wait after its page of this pass was read.
    this.pass?.seen.add(turn.id);
    return this.isNews(turn) && (await this.put(turn)) !== 'same';
  }

  /** Keeps what visibility lists. */
  private async keep(turns: readonly ListedTurn[]) {
    for (const { id } of turns) this.pass?.seen.add(id);
    const changed = turns.filter((turn) => this.isNews(turn) && !this.isAhead(turn.id));
    const put = async (turn: ListedTurn) => ({ id: turn.id, change: await this.put(turn) });
    for await (const { id, change } of mapOrdered(changed, AT_ONCE, put))
      if (change === 'more' && this.isComplete) this.found.add(id);
  }

  /** Keeps what waits in a turn. */
  private async put(turn: ListedTurn): Promise<Change> {
    const ahead = this.ahead.get(turn.id);
    const items = await itemsOf(this.context, turn);
    // The turn was read separately meanwhile.
    if (this.ahead.get(turn.id) !== ahead) return 'same';
    const { items: before = [] } = this.kept.get(turn.id) ?? {};
    const readAt = performance.now();
    this.kept.set(turn.id, { startedAt: turn.startedAt, text: textOf(turn), items, readAt });
    if (JSON.stringify(before) === JSON.stringify(items)) return 'same';
    this.version += 1;
    const isNew = ({ callId, kind }: InboxItem) =>
      !before.some((one) => one.callId === callId && one.kind === kind);
    return items.some(isNew) ? 'more' : 'changed';
  }

  /** Whether a separate read of a turn counts more than what visibility says. */
  private isAhead(turn: string) {
    const { readAt = -Infinity } = this.ahead.get(turn) ?? {};
    if (readAt < performance.now() - AHEAD_MS) return false;
    this.doubted.add(turn);
    return true;
  }

  private isNews(turn: ListedTurn) {
    const known = this.kept.get(turn.id);
    if (known === undefined || known.text !== textOf(turn)) return true;
    return isCut(turn) && performance.now() - known.readAt > REREAD_MS;
  }

  private dropMissing(listed: ReadonlySet<string>, isAmong: (kept: Kept) => boolean) {
    for (const [id, kept] of [...this.kept])
      if (isAmong(kept) && !listed.has(id) && !this.isAhead(id)) this.drop(id);
  }

  /** Drops a turn. True if something waited in it. */
  private drop(id: string) {
    const { items = [] } = this.kept.get(id) ?? {};
    if (this.kept.delete(id)) this.version += 1;
    return items.length > 0;
  }

  private items(): readonly InboxItem[] {
    // Which items are old enough changes with time. Who may decide changes with the file.
    const isTimed = this.filter.olderThanMs !== undefined || this.filter.whom !== undefined;
    if (this.sorted?.version !== this.version || isTimed) {
      const all = [...this.kept.values()].flatMap(({ items }) => items);
      const items = mostUrgentFirst(all.filter((item) => isWanted(item, this.filter)));
      this.sorted = { version: this.version, items };
    }
    return this.sorted.items;
  }
}

function textOf({ agent, memo }: ListedTurn) {
  return JSON.stringify([agent, memo[MEMO.prompt], memo[MEMO.open]]);
}

/**
 * Everything that waits now, the most urgent first. Costs one query for every 1,000 turns.
 *
 * @throws CountersignError `no_server`, `server_busy`, `key_missing`, `server_failed`.
 */
export async function readAllWaiting(
  context: ClientContext,
  filter: WaitingFilter,
): Promise<readonly InboxItem[]> {
  const reader = new WaitingReader({ ...context, reader: context.lister }, filter);
  for (;;) {
    const { items, isComplete } = await reader.next();
    if (isComplete) return items;
  }
}
