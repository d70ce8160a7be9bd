import { setTimeout as delay } from 'node:timers/promises';
import { EVERYTHING } from '../../authority/rules/permits';
import { CountersignError } from '../../contract/errors';
import { sessionNotFound } from '../../client/session/reader';
import type { TurnEvent } from '../../history/events';
import type { SessionEvent } from '../../history/session/events';
import { sessionViewOf } from '../../history/session/view';
import { createView, viewOf } from '../../history/view';
import type { LiveView, TurnView } from '../../history/view-types';
import type { AppDeps } from '../deps';
import type { Thread } from './thread';

/** The longest time that the record takes to have what was sent, in milliseconds. */
const EXPECTED_MS = 5_000;
/** A conversation that nobody looked at for this time is no longer read, in milliseconds. Every look looks more often. */
const UNUSED_MS = 60_000;

type Sources = Pick<AppDeps, 'readerOf' | 'texts' | 'closing'>;

/** Waits for this time in milliseconds, or until one of the signals aborts. */
export async function waitOrChange(ms: number, ...signals: AbortSignal[]): Promise<void> {
  await delay(ms, undefined, { signal: AbortSignal.any(signals) }).catch(() => undefined);
}

/** Opens conversations. All watchers of a conversation share one reader. */
export function createThreads(sources: Sources): (session: string) => SharedThread {
  const open = new Map<string, SharedThread>();
  return (session) => {
    const known = open.get(session);
    if (known !== undefined) return known;
    const made = new SharedThread(sources, session, () => {
      if (open.get(session) === made) open.delete(session);
    });
    open.set(session, made);
    return made;
  };
}

/** A conversation that is read once for all who watch it. It sees every agent: a watcher leaves out what is not theirs. */
export class SharedThread {
  private readonly reader;
  private readonly stop = new AbortController();
  private readonly events: SessionEvent[] = [];
  private readonly live = new Map<string, LiveView>();
  private readonly ended = new Map<string, TurnView | undefined>();
  /** What has events that did not all come yet: turns, and the conversation itself as ''. */
  private readonly behind = new Set(['']);
  private words: Thread['words'];
  private changing = new AbortController();
  private expected: ((thread: Thread) => boolean)[] = [];
  private failure: { error: unknown } | undefined;
  private usedAt = performance.now();
  private readonly watchdog = setInterval(() => this.endIfUnused(), UNUSED_MS).unref();

  constructor(
    private readonly sources: Sources,
    private readonly session: string,
    private readonly onEnd: () => void,
  ) {
    this.reader = sources.readerOf(EVERYTHING);
    const closing = AbortSignal.any([sources.closing, this.stop.signal]);
    this.follow(closing).then(() => this.fail(undefined), this.fail);
  }

  /** Aborts at the next change. */
  get change(): AbortSignal {
    return this.changing.signal;
  }

  /**
   * The conversation, once all events so far came, and all that `expect` named. Undefined if the signal aborts before.
   *
   * @throws CountersignError as `Session.follow`.
   */
  async read(signal: AbortSignal): Promise<Thread | undefined> {
    while (!signal.aborted) {
      this.usedAt = performance.now();
      const { change, failure } = this;
      if (failure !== undefined) return this.now();
      if (this.behind.size === 0) {
        const thread = this.now();
        this.expected = this.expected.filter((isThere) => !isThere(thread));
        if (this.expected.length === 0) return thread;
      }
      await waitOrChange(EXPECTED_MS, signal, change);
    }
    return undefined;
  }

  /** Holds every read until the record has what was just sent to it. */
  expect(isThere: (thread: Thread) => boolean): void {
    const until = performance.now() + EXPECTED_MS;
    this.expected.push((thread) => isThere(thread) || performance.now() >= until);
  }

  /** Reads turns that ended before anybody watched. A turn whose history is gone is left out. */
  async readEnded(turns: readonly string[]): Promise<void> {
    const missing = turns.filter((turn) => !this.live.has(turn) && !this.ended.has(turn));
    const views = await Promise.all(
      missing.map((turn) => this.reader.timeline(turn).then(viewOf, unlessUnreadable)),
    );
    missing.forEach((turn, at) => this.ended.set(turn, views[at]));
  }

  private now(): Thread {
    if (this.failure?.error !== undefined) throw this.failure.error;
    const session = sessionViewOf(this.events);
    if (session === undefined) throw sessionNotFound(this.session);
    const turns = new Map<string, TurnView>();
    for (const [turn, view] of this.ended) if (view !== undefined) turns.set(turn, view);
    for (const [turn, view] of this.live) turns.set(turn, view.current());
    return { session, turns, words: this.words };
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const { reader, session } = this;
    const onCaughtUp = (turn = ''): void => this.caughtUp(turn);
    const how = { signal, onCaughtUp, onTurnCaughtUp: onCaughtUp };
    for await (const event of reader.session(session).follow(how)) {
      if (event.type === 'turn_event') {
        if (!this.live.has(event.turn)) this.hear(event.turn, signal).catch(this.fail);
        this.takeOfTurn(event.turn, event.event, signal);
        continue;
      }
      this.events.push(event);
      this.behind.add('');
      if (event.type === 'turn_started') this.behind.add(event.turn);
      if (event.type === 'turn_ended') this.caughtUp(event.turn);
    }
  }

  private takeOfTurn(turn: string, event: TurnEvent, signal: AbortSignal): void {
    const view = this.live.get(turn) ?? createView();
    this.live.set(turn, view);
    this.behind.add(turn);
    view.push(event);
    this.sources.texts.note(turn, event);
    if (event.type !== 'child_started' || this.live.has(event.child)) return;
    this.live.set(event.child, createView());
    this.behind.add(event.child);
    this.followChild(event.child, signal).catch(this.fail);
  }

  private async followChild(turn: string, signal: AbortSignal): Promise<void> {
    const how = { signal, onCaughtUp: () => this.caughtUp(turn) };
    for await (const event of this.reader.follow(turn, how)) this.takeOfTurn(turn, event, signal);
    this.caughtUp(turn);
  }

  /** Takes what the model of a turn writes, until the turn has ended. */
  private async hear(turn: string, signal: AbortSignal): Promise<void> {
    for await (const { step, at, text } of this.sources.texts.watch(turn, signal)) {
      const before = this.words?.turn === turn && this.words.step === step ? this.words.text : '';
      this.words = { turn, step, text: before.slice(0, at) + text };
      this.wake();
      if (this.live.get(turn)?.current().endedAt !== null) return;
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

  private readonly fail = (error: unknown): void => {
    this.failure ??= { error };
    clearInterval(this.watchdog);
    this.onEnd();
    this.wake();
  };

  private endIfUnused(): void {
    if (performance.now() - this.usedAt > UNUSED_MS) this.stop.abort();
  }
}

function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof CountersignError)) throw error;
}
