import type { CountersignError } from '../contract/errors';
import { MEMO } from '../contract/names';
import { toCountersignError } from '../history/server-errors';
import type { ClientContext } from './context';
import { LIST_PAGE, listPages, quoted, SMALL_PAGE } from './list';
import { AT_ONCE, mapOrdered } from './read-turns';
import type { InboxItem, InboxReader, Waiting } from './types';
import {
  filterOf,
  isCut,
  isWanted,
  itemsOf,
  type ListedTurn,
  listedTurn,
  mostUrgentFirst,
  type WaitingFilter,
} from './waiting';

/** How long a turn that was named is looked for: visibility lags a little. */
const NAMED_MS = 5_000;
/** The most turns that one query names. */
const MOST_NAMED = 50;
/** How often the history of a turn is read again that has more open than its memo names, if the memo stays the same. */
const REREAD_MS = 5_000;

/** A turn that waits, as it was last read. */
interface Kept {
  startedAt: number;
  /** How visibility describes it. */
  text: string;
  items: InboxItem[];
  readAt: number;
}

/** One pass over everything that is listed. */
interface Pass {
  pages: AsyncGenerator<ListedTurn[]>;
  read: number;
  seen: Set<string>;
}

/**
 * Keeps everything that waits in memory. Visibility cannot say what changed, so everything is listed again and again: a
 * page of up to 1,000 turns a step. Where there are more, every second step looks at the turns that started last, which
 * have most new requests, or at the turns that were named.
 */
export class WaitingReader implements InboxReader {
  private readonly kept = new Map<string, Kept>();
  /** The turns that were named, and until when each is looked for. */
  private readonly named = new Map<string, number>();
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

  look(turn: string): void {
    if (this.isLong) this.named.set(turn, Date.now() + NAMED_MS);
  }

  async next(): Promise<Waiting> {
    try {
      await this.step();
    } catch (thrown) {
      this.pass = undefined;
      const error = toCountersignError(thrown, 'reading the inbox');
      if (!this.canReadLess(error)) throw error;
      this.pageSize = SMALL_PAGE;
      return this.next();
    }
    return { items: this.items(), isComplete: this.isComplete, version: this.version };
  }

  /** Whether a smaller page can be read: a user's own connection may take only small answers. */
  private canReadLess({ code }: CountersignError): boolean {
    return code === 'answer_too_large' && this.pageSize > SMALL_PAGE;
  }

  private async step(): Promise<void> {
    this.steps += 1;
    for (const [turn, until] of this.named) if (until < Date.now()) this.named.delete(turn);
    if (!this.isComplete || !this.isLong || this.steps % 2 === 1) await this.readOn();
    else if (this.steps % 4 === 2 && this.named.size > 0) await this.readNamed();
    else await this.readNewest();
  }

  /** The next page of everything. */
  private async readOn(): Promise<void> {
    const pass = (this.pass ??= { pages: this.pagesOf(filterOf(this.filter)), read: 0, seen: new Set() });
    const { value: turns = [] } = await pass.pages.next();
    pass.read += 1;
    await this.keep(turns);
    if (turns.length === this.pageSize) return;
    for (const id of [...this.kept.keys()]) if (!pass.seen.has(id)) this.drop(id);
    if (!this.isComplete) this.version += 1;
    this.isComplete = true;
    this.isLong = pass.read > 1;
    this.pass = undefined;
  }

  /** Reads the first page. Visibility lists the newest turns first, so a newer turn that is missing waits no longer. */
  private async readNewest(): Promise<void> {
    const turns = await this.readPage(filterOf(this.filter));
    await this.keep(turns);
    const oldest = turns.at(-1)?.startedAt ?? 0;
    const isSorted = turns.every((turn, at) => turn.startedAt <= (turns[at - 1]?.startedAt ?? Infinity));
    if (isSorted) this.dropMissing(turns, ([, { startedAt }]) => startedAt > oldest);
  }

  private async readNamed(): Promise<void> {
    const ids = [...this.named.keys()].slice(0, MOST_NAMED);
    const isOne = ids.map((id) => `WorkflowId = ${quoted(id)}`).join(' OR ');
    const turns = await this.readPage(`${filterOf(this.filter)} AND (${isOne})`);
    await this.keep(turns);
    this.dropMissing(turns, ([id]) => ids.includes(id));
  }

  private async readPage(query: string): Promise<ListedTurn[]> {
    const { value } = await this.pagesOf(query).next();
    return value ?? [];
  }

  private async *pagesOf(query: string): AsyncGenerator<ListedTurn[]> {
    for await (const page of listPages(this.context.reader, query, this.pageSize)) yield page.map(listedTurn);
  }

  private async keep(turns: readonly ListedTurn[]): Promise<void> {
    for (const { id } of turns) this.pass?.seen.add(id);
    const changed = turns.filter((turn) => this.isNews(turn));
    const read = async (turn: ListedTurn) => ({ turn, items: await itemsOf(this.context, turn) });
    for await (const { turn, items } of mapOrdered(changed, AT_ONCE, read)) {
      const before = this.kept.get(turn.id)?.items;
      const { startedAt } = turn;
      this.kept.set(turn.id, { startedAt, text: textOf(turn), items, readAt: Date.now() });
      if (JSON.stringify(before) === JSON.stringify(items)) continue;
      this.named.delete(turn.id);
      this.version += 1;
    }
  }

  private isNews(turn: ListedTurn): boolean {
    const known = this.kept.get(turn.id);
    if (known === undefined || known.text !== textOf(turn)) return true;
    return isCut(turn) && Date.now() - known.readAt > REREAD_MS;
  }

  private dropMissing(turns: readonly ListedTurn[], isAmong: (entry: [string, Kept]) => boolean): void {
    const listed = new Set(turns.map(({ id }) => id));
    for (const entry of [...this.kept]) if (isAmong(entry) && !listed.has(entry[0])) this.drop(entry[0]);
  }

  private drop(id: string): void {
    this.named.delete(id);
    if (this.kept.delete(id)) this.version += 1;
  }

  private items(): readonly InboxItem[] {
    // Which items are old enough changes with time, and who may decide changes with the file.
    const isTimed = this.filter.olderThanMs !== undefined || this.filter.whom !== undefined;
    if (this.sorted?.version !== this.version || isTimed) {
      const all = [...this.kept.values()].flatMap(({ items }) => items);
      const items = mostUrgentFirst(all.filter((item) => isWanted(item, this.filter)));
      this.sorted = { version: this.version, items };
    }
    return this.sorted.items;
  }
}

function textOf({ agent, memo }: ListedTurn): string {
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
