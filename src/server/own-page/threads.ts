import { setTimeout as delay } from 'node:timers/promises';
import { EVERYTHING } from '../../authority/rules/permits';
import { sessionNotFound } from '../../client/session/reader';
import { CountersignError } from '../../contract/errors';
import type { TurnEvent } from '../../history/events';
import type { SessionEvent } from '../../history/session/events';
import { sessionViewOf } from '../../history/session/view';
import { createView } from '../../history/view';
import type { LiveView } from '../../history/view-types';
import type { AppDeps } from '../deps';
import type { Thread } from './thread';

/** The longest time that a look waits for the record to have what was just sent to it, in milliseconds. */
const EXPECTED_MS = 5_000;
/** A conversation that nobody watched for this time is no longer read, in milliseconds. */
const UNUSED_MS = 60_000;
/** The most conversations that one person watches at once, and the most that are read though nobody watches them. */
const MOST_THREADS = 200;
/** The most turns of the past that are written step by step. Of older ones only words and answer are. */
const WHOLE_TURNS = 10;

type Sources = Pick<AppDeps, 'readerOf' | 'texts' | 'closing'>;

/** Waits for this time in milliseconds, or until one of the signals aborts. */
export async function waitOrChange(ms: number, ...signals: AbortSignal[]): Promise<void> {
  await delay(ms, undefined, { signal: AbortSignal.any(signals) }).catch(() => undefined);
}

/**
 * Opens a conversation for a person.
 *
 * @throws CountersignError `too_many_attempts` if the person watches as many as one may, and nobody this one.
 */
export type OpenThread = (session: string, user: string) => SharedThread;

/** Opens conversations. All watchers of a conversation share one reader, which stays while there is one. */
export function createThreads(sources: Sources): OpenThread {
  const open = new Map<string, SharedThread>();
  const those = (which: (watchers: readonly string[]) => boolean) =>
    [...open.values()].filter(({ watchers }) => which(watchers));
  return (session, user) => {
    const known = open.get(session);
    if (known?.hasFailed === false) return known;
    if (those((watchers) => watchers.includes(user)).length >= MOST_THREADS)
      throw new CountersignError(
        'too_many_attempts',
        `you watch ${MOST_THREADS} conversations already, and no more can be`,
        'leave one of them first',
      );
    known?.stop.abort();
    const [first, ...others] = those(({ length }) => length === 0);
    if (others.length + 1 >= MOST_THREADS) first?.stop.abort();
    const made = new SharedThread(sources, session);
    open.set(session, made);
    made.stop.signal.addEventListener('abort', () => open.get(session) === made && open.delete(session));
    return made;
  };
}

/** A conversation that is read once for all who watch it. It sees every agent: a watcher leaves out what is not theirs. */
export class SharedThread {
  readonly stop = new AbortController();
  /** Who watches it: once for each time. */
  readonly watchers: string[] = [];
  private unused: NodeJS.Timeout | undefined;
  /** Aborts when it is no longer read. */
  private readonly gone: AbortSignal;
  private readonly reader;
  private readonly events: SessionEvent[] = [];
  private readonly views = new Map<string, LiveView>();
  /** What has events that did not all come yet: turns, and the conversation itself as ''. */
  private readonly behind = new Set(['']);
  private words: Thread['words'];
  private changing = new AbortController();
  private end: { error?: unknown } | undefined;

  constructor(
    private readonly sources: Sources,
    private readonly session: string,
  ) {
    this.reader = sources.readerOf(EVERYTHING);
    this.gone = AbortSignal.any([sources.closing, this.stop.signal]);
    this.follow(this.gone).then(() => this.finish({}), this.fail);
  }

  /** Has it read until the watcher leaves, by calling what this returns. A request that only reads it names nobody. */
  watch(user = ''): () => void {
    clearTimeout(this.unused);
    this.watchers.push(user);
    return () => {
      this.watchers.splice(this.watchers.indexOf(user), 1);
      if (this.watchers.length === 0) this.unused = setTimeout(() => this.stop.abort(), UNUSED_MS).unref();
    };
  }

  get hasFailed(): boolean {
    return this.end?.error !== undefined;
  }

  /** Aborts at the next change. */
  get change(): AbortSignal {
    return this.changing.signal;
  }

  /**
   * The conversation, once all events so far came. If they lack something that was just sent, it waits longer for them.
   * Undefined if the signal aborts before, or it is no longer read.
   *
   * @throws CountersignError as `Session.follow`.
   */
  async read(
    signal: AbortSignal,
    isThere: (thread: Thread) => boolean = () => true,
  ): Promise<Thread | undefined> {
    const leave = this.watch();
    try {
      for (const until = performance.now() + EXPECTED_MS; !signal.aborted;) {
        const { change } = this;
        if (this.end) return this.now();
        // What came so far is not the whole.
        if (this.gone.aborted) return undefined;
        const thread = this.behind.size === 0 ? this.now() : undefined;
        if (thread && (isThere(thread) || performance.now() >= until)) return thread;
        await waitOrChange(EXPECTED_MS, signal, change);
      }
      return undefined;
    } finally {
      leave();
    }
  }

  private now(): Thread {
    if (this.end?.error !== undefined) throw this.end.error;
    const session = sessionViewOf(this.events);
    if (session === undefined) throw sessionNotFound(this.session);
    const turns = new Map([...this.views].map(([turn, view]) => [turn, view.current()]));
    return { session, turns, words: this.words };
  }

  private async follow(signal: AbortSignal): Promise<void> {
    let past: Promise<void> | undefined;
    const readPast = () => (past ??= this.readPast());
    const onCaughtUp = (): void => void readPast().then(() => this.caughtUp(''), this.fail);
    const how = { signal, onCaughtUp, onTurnCaughtUp: (turn: string) => this.caughtUp(turn) };
    for await (const event of this.reader.session(this.session).follow(how)) {
      if (event.type === 'turn_event') {
        if (!this.views.has(event.turn)) this.hear(event.turn, signal).catch(this.fail);
        this.take(event.turn, event.event, signal);
        continue;
      }
      this.events.push(event);
      this.behind.add('');
      if (event.type === 'turn_started') this.behind.add(event.turn);
      if (event.type === 'turn_ended') this.caughtUp(event.turn);
    }
    if (!signal.aborted) await readPast();
  }

  /** Reads turns that ended before anybody watched. A turn whose history is gone is left out. */
  private async readPast(): Promise<void> {
    const { turns } = this.now().session;
    const ended = turns.slice(-WHOLE_TURNS).filter(({ status }) => status !== 'running');
    const read = async ({ turn }: { turn: string }) => {
      const events = (await this.reader.timeline(turn).catch(unlessUnreadable)) ?? [];
      for (const event of events) this.viewOf(turn).push(event);
    };
    await Promise.all(ended.map(read));
  }

  private viewOf(turn: string): LiveView {
    const view = this.views.get(turn) ?? createView();
    this.views.set(turn, view);
    return view;
  }

  private take(turn: string, event: TurnEvent, signal: AbortSignal): void {
    this.behind.add(turn);
    this.viewOf(turn).push(event);
    this.sources.texts.note(turn, event);
    if (event.type === 'child_started' && !this.views.has(event.child))
      this.followChild(event.child, signal).catch(this.fail);
  }

  private async followChild(turn: string, signal: AbortSignal): Promise<void> {
    this.viewOf(turn);
    this.behind.add(turn);
    const how = { signal, onCaughtUp: () => this.caughtUp(turn) };
    for await (const event of this.reader.follow(turn, how)) this.take(turn, event, signal);
    this.caughtUp(turn);
  }

  /** Takes what the model of a turn writes. */
  private async hear(turn: string, signal: AbortSignal): Promise<void> {
    for await (const { step, at, text } of this.sources.texts.watch(turn, signal)) {
      const before = this.words?.turn === turn && this.words.step === step ? this.words.text : '';
      this.words = { turn, step, text: before.slice(0, at) + text };
      this.wake();
    }
  }

  private caughtUp(turn: string): void {
    this.behind.delete(turn);
    this.wake();
  }

  private wake(): void {
    const before = this.changing;
    this.changing = new AbortController();
    before.abort();
  }

  private finish(end: { error?: unknown }): void {
    if (!this.gone.aborted) this.end ??= end;
    this.wake();
  }

  private readonly fail = (error: unknown): void => this.finish({ error });
}

function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof CountersignError)) throw error;
}
