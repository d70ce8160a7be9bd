import type { TurnNews } from '../contract/streamed-text';
import type { InboxPage, InboxPageQuery, ApiError, InboxPulse } from './api';
import type { FormatError } from './failure';
import { InboxShares, heldBy } from './inbox-filter';
import { NamedTurns } from './reading/named-turns';
import { Pace } from './reading/pace';
import type { ServerEvent } from './sse';
import type { Whom } from '../authority/votes/waits-for';
import { type Permit, EVERYTHING } from '../authority/rules/permits';
import type { Countersign } from '../client/countersign';
import type { InboxReader, Waiting } from '../client/types';
import type { Pauses } from '../authority/pauses/pause';
import { LIST_PAGE } from '../client/list';
import { CountersignError } from '../contract/errors';
import { SERVER_HINTS } from '../contract/text/server-hints';

/** The parts that a feed works with. */
interface FeedParts {
  /** Makes a reader that has read nothing yet, and reads the pauses. */
  client: Pick<Countersign, 'inboxReader' | 'pauses'>;
  formatError: FormatError;
  /** Milliseconds between two reads of visibility. @default PACE */
  pace?: ConstructorParameters<typeof Pace>[0];
  /** Milliseconds after which a read that has not ended is reported as trouble. @default 2500 */
  slowMs?: number;
  /**
   * The time for which the feed continues to read after the last listener left, in milliseconds, so that a reloaded
   * page finds everything read. @default 30000
   */
  lingerMs?: number;
  /** Aborts to end the reading. */
  closing: AbortSignal;
}

/**
 * When a read counts as slow. The client retries for ten seconds if the server does not answer, and people should see
 * the trouble long before that.
 */
const SLOW_MS = 2_500;
const LINGER_MS = 30_000;
/** Milliseconds between two reads of the pauses. */
const PAUSES_MS = 2_000;

/**
 * The inbox, which is read once for everybody, only while there are listeners and a little longer. Each person sees what
 * their permit allows.
 */
export class InboxFeed {
  private readonly news = createAsyncEvent();
  private readonly wake = createAsyncEvent();
  private shares = new InboxShares();
  private listeners = 0;
  private leftAt = -Infinity;
  private isReading = false;
  private reader: InboxReader | undefined;
  private read: Read | undefined;
  private newest: Update | undefined;
  private paused: { at: number; now: Pauses } | undefined;
  /** Why the last read failed. A slow read has not failed. */
  private failure: unknown;
  private readonly pace: Pace;
  private readonly named = new NamedTurns({
    read: (turn) => this.readNamed(turn),
    onLost: (turn) => {
      this.pace.doubt();
      this.reader?.forget(turn);
    },
    onLate: () => this.pace.doubt(),
  });

  constructor(private readonly parts: FeedParts) {
    this.pace = new Pace(parts.pace);
    parts.closing.addEventListener('abort', this.wake.fire, { once: true });
  }

  /** Reads this turn now, because a decision on it was sent from here. Without a turn, reads everything. */
  refresh(turn?: string): void {
    if (turn !== undefined) return this.name([turn]);
    this.pace.hurry();
    this.wake.fire();
  }

  /** Reads the turns that a worker reports as changed. */
  hear(news: TurnNews): void {
    this.pace.hear(news);
    this.name(news.turns);
  }

  /** Reads these turns. Without listeners nothing is read, and the next listener gets a fresh read of everything. */
  private name(turns: readonly string[]): void {
    if (this.isReading) for (const turn of turns) this.named.add(turn);
  }

  /**
   * A part of the inbox as it was last read. Before the first read, this waits for it. Undefined if the sender already
   * has exactly this part. `whom`: only items that wait for this person.
   *
   * @throws CountersignError as `InboxReader.next`, if nothing has been read yet.
   */
  async page(
    { seen, ...query }: InboxPageQuery,
    permit: Permit,
    whom?: Whom,
  ): Promise<InboxPage | undefined> {
    this.join();
    try {
      const { waiting, at } = await this.firstRead();
      const page = this.shares.of(permit).choose(waiting, query, whom);
      return page.key === seen ? undefined : { ...page, at };
    } finally {
      this.leave();
    }
  }

  /**
   * The whole inbox as it was last read, as soon as all of it was read. After `ms` milliseconds, the part that was read
   * so far, or undefined.
   *
   * @throws CountersignError as `page`.
   */
  async whole(ms: number): Promise<Read | undefined> {
    const until = performance.now() + ms;
    this.join();
    try {
      for (;;) {
        if (this.failure !== undefined) throw this.failure;
        const left = until - performance.now();
        if (this.read?.waiting.isComplete === true || left <= 0) return this.read;
        await this.news.wait(left);
      }
    } finally {
      this.leave();
    }
  }

  /**
   * An event at the start and after each change of the inbox, until the signal aborts. A slow listener gets only the
   * newest event.
   */
  async *listen(signal: AbortSignal, permit: Permit): AsyncGenerator<ServerEvent> {
    this.join();
    signal.addEventListener('abort', this.news.fire);
    try {
      for (let [last, lastKey]: [Update?, string?] = []; !signal.aborted;) {
        const { newest } = this;
        if (newest === undefined || newest === last) {
          await this.news.wait();
          continue;
        }
        const { key, event } = newest.seenBy(permit);
        // A change in the part of the inbox that the listener does not see sends no event.
        if (key !== lastKey) yield event;
        [last, lastKey] = [newest, key];
      }
    } finally {
      signal.removeEventListener('abort', this.news.fire);
      this.leave();
    }
  }

  private join(): void {
    this.listeners += 1;
    if (this.isReading) return;
    this.isReading = true;
    void this.poll();
  }

  private leave(): void {
    this.listeners -= 1;
    this.leftAt = performance.now();
    if (this.isWanted() || this.listeners > 0) return;
    this.read = this.newest = this.failure = undefined;
    this.wake.fire();
  }

  private isWanted(): boolean {
    const { closing, lingerMs = LINGER_MS } = this.parts;
    return !closing.aborted && (this.listeners > 0 || performance.now() - this.leftAt < lingerMs);
  }

  private async poll(): Promise<void> {
    while (this.isWanted()) {
      const began = performance.now();
      const isDue = this.failure !== undefined || this.pace.dueInMs() === 0;
      if (isDue) this.pace.begin();
      const reading = this.readOnce(isDue);
      const update = await (this.newest?.error === undefined ? this.reportSlow(reading) : reading);
      if (isDue || this.failure !== undefined)
        this.pace.end({ ...update, tookMs: performance.now() - began });
      if (this.isWanted()) await this.wake.wait(this.waitMs());
    }
    // The data is too old for a later listener.
    this.isReading = false;
    this.reader = this.read = this.newest = this.failure = this.paused = undefined;
    this.pace.hurry();
    this.named.clear();
    // The next reader counts its versions from the start.
    this.shares = new InboxShares();
  }

  /** Pauses are not in visibility, so they are also read when visibility is read seldom. */
  private waitMs(): number {
    const dueInMs = this.pace.dueInMs();
    return this.failure !== undefined ? dueInMs : Math.min(dueInMs, PAUSES_MS);
  }

  /** Reads visibility if that is due, and the pauses. Then publishes everything that is known. */
  private async readOnce(isDue: boolean): Promise<Update> {
    try {
      const reader = (this.reader ??= this.parts.client.inboxReader());
      const isMissing = isDue || this.read === undefined;
      const [read] = await Promise.all([isMissing ? this.readOn(reader) : undefined, this.readPauses()]);
      // A read of named turns may have set `this.read` meanwhile. If the listeners left meanwhile, `this.read` is
      // undefined again.
      this.read ??= read ?? (await this.readOn(reader));
      this.failure = undefined;
      return this.publish(pulse(this.known(this.read)));
    } catch (error) {
      this.failure = error;
      return this.report(error);
    }
  }

  private async readOn(reader: InboxReader): Promise<Read> {
    const waiting = await reader.next();
    this.pace.found(waiting.found);
    if (this.isReading) for (const turn of waiting.doubted) this.named.doubt(turn);
    return (this.read = { waiting, at: new Date().toISOString() });
  }

  private async readNamed(turn: string): Promise<boolean> {
    const { reader } = this;
    if (reader === undefined) return false;
    const { waiting, isChanged } = await reader.read(turn);
    if (!isChanged || reader !== this.reader) return isChanged;
    const read = (this.read = { waiting, at: this.read?.at ?? new Date().toISOString() });
    const error = this.newest?.error;
    const known = this.known(read);
    this.publish(error === undefined ? pulse(known) : stillTroubled(error, this.parts.formatError, known));
    return true;
  }

  private async readPauses(): Promise<void> {
    if (this.paused && performance.now() - this.paused.at < PAUSES_MS) return;
    const now = await this.parts.client.pauses();
    this.paused = { at: performance.now(), now };
  }

  /** The result of a read. If the read takes long, trouble is published before its end. */
  private async reportSlow(reading: Promise<Update>): Promise<Update> {
    const report = (): void => void this.report(noAnswerYet());
    const timer = setTimeout(report, this.parts.slowMs ?? SLOW_MS);
    try {
      return await reading;
    } finally {
      clearTimeout(timer);
    }
  }

  private report(error: unknown): Update {
    return this.publish(troubled(error, this.parts.formatError, this.known(this.read)));
  }

  private publish(update: Update): Update {
    if (update.key === this.newest?.key) return update;
    this.newest = update;
    this.news.fire();
    return update;
  }

  private known<R extends Read | undefined>(read: R) {
    return { read, paused: this.paused?.now, shares: this.shares };
  }

  private async firstRead(): Promise<Read> {
    for (;;) {
      if (this.read) return this.read;
      if (this.failure !== undefined) throw this.failure;
      await this.news.wait();
    }
  }
}

/** An event that wakes all of its waiters. */
interface AsyncEvent {
  fire(): void;
  /** Resolves when the event fires, or after this many milliseconds. */
  wait(ms?: number): Promise<void>;
}

/** An event without waiters yet. */
function createAsyncEvent(): AsyncEvent {
  const waiting = new Set<() => void>();
  return {
    fire: () => [...waiting].forEach((wake) => wake()),
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(() => wake(), ms);
        const wake = () => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      }),
  };
}

/** The inbox as it was read, and the time of the last read of visibility. */
interface Read {
  waiting: Waiting;
  at: string;
}

/** Everything that was read so far. */
interface Known {
  read: Read | undefined;
  paused: Pauses | undefined;
  shares: InboxShares;
}

/** The event that a person gets for a read, and a key that changes with its content. */
interface Pulse {
  key: string;
  event: ServerEvent;
}

/** The result of a read, and a key that changes with its content. */
interface Update {
  key: string;
  seenBy(permit: Permit): Pulse;
  /** Set if visibility could not be read. */
  error?: unknown;
  /** Whether there is more to read. */
  isPart?: boolean;
  /** Whether more items wait than one read returns. */
  isLong?: boolean;
}

/** The update after a read. `trouble`: only named turns were read, because visibility could not be read. */
function pulse(known: Known & { read: Read }, trouble?: ApiError): Update {
  const { waiting, at } = known.read;
  const seenBy = (permit: Permit): Pulse => {
    const share = known.shares.of(permit);
    const { waiting: count, doubts } = share.totalsOf(waiting);
    const version = share.versionOf(waiting);
    const held = known.paused ? heldBy(known.paused, permit) : [];
    const data: InboxPulse = {
      version,
      waiting: count,
      doubts,
      complete: waiting.isComplete,
      at,
      paused: held.length > 0 ? held : undefined,
      trouble,
    };
    return { key: version + JSON.stringify([held, trouble]), event: { event: 'waiting', data } };
  };
  const { items, isComplete } = waiting;
  return { key: seenBy(EVERYTHING).key, seenBy, isPart: !isComplete, isLong: items.length > LIST_PAGE };
}

/** The update after a read that failed. */
function troubled(error: unknown, formatError: FormatError, known: Known): Update {
  const { body } = formatError(error);
  const event: ServerEvent = { event: 'trouble', data: body };
  const { read } = known;
  if (read === undefined)
    return { key: JSON.stringify(body), seenBy: () => ({ key: JSON.stringify(body), event }), error };
  // A person who already saw the trouble gets no event for a turn that they do not see.
  const { key, seenBy } = pulse({ ...known, read }, body);
  return { key, seenBy: (permit) => ({ key: seenBy(permit).key, event }), error };
}

/** The update after named turns were read while visibility could not be read. */
function stillTroubled(error: unknown, formatError: FormatError, known: Known & { read: Read }): Update {
  return { ...pulse(known, formatError(error).body), error };
}

function noAnswerYet() {
  return new CountersignError(
    'no_server',
    'the Temporal server has not answered yet',
    SERVER_HINTS.unanswered,
  );
}
