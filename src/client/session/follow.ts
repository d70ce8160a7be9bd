import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from '../../contract/errors';
import { readTurn } from '../../history/read';
import type { SessionEvent } from '../../history/session/events';
import { readSession } from '../../history/session/read';
import type { TextDelta } from '../../contract/streamed-text';
import type { TurnEvent } from '../../history/events';
import type { ClientContext } from '../context';
import type { FollowOptions } from '../requests';
import { followWithText } from '../streamed-text';
import type { FollowSessionOptions, SessionText, SessionTurnEvent } from './types';

/** An event of a session or of its running turn, or a piece of text. They come in order. */
export type FollowedEvent = SessionEvent | SessionTurnEvent | SessionText;

/**
 * Every event of a session from its start, then live until it ends, with every event of each turn that runs meanwhile.
 * For a turn that is over already, only the events of its beginning and its end are given.
 */
export function followSession(
  context: ClientContext,
  session: string,
  options: FollowSessionOptions,
): AsyncGenerator<SessionEvent | SessionTurnEvent> {
  const readEvents: ReadTurn<TurnEvent> = (turn, signal, onCaughtUp) =>
    readTurn(context.source, turn, { live: true, signal, onCaughtUp });
  return followBoth(context, { ...options, session }, readEvents, (turn, event) => ({
    type: 'turn_event',
    turn,
    event,
  }));
}

/** Like `followSession`, and also gives the text of models while they write it. */
export function followSessionWithText(
  context: ClientContext,
  session: string,
  options: FollowOptions,
): AsyncGenerator<FollowedEvent> {
  const readAll: ReadTurn<TurnEvent | TextDelta> = (turn, signal) =>
    followWithText(context, turn, { signal });
  return followBoth<TurnEvent | TextDelta, FollowedEvent>(
    context,
    { ...options, session },
    readAll,
    (turn, event) =>
      event.type === 'text' ? { type: 'turn_text', turn, delta: event } : { type: 'turn_event', turn, event },
  );
}

/** Reads the events of a turn until it ends. */
type ReadTurn<T> = (turn: string, signal: AbortSignal, onCaughtUp: () => void) => AsyncIterable<T>;

async function* followBoth<T, E extends object>(
  { source }: ClientContext,
  {
    session,
    signal = new AbortController().signal,
    onCaughtUp,
    onTurnCaughtUp,
  }: FollowSessionOptions & { session: string },
  readRunning: ReadTurn<T>,
  ofTurn: (turn: string, event: T) => E,
): AsyncGenerator<SessionEvent | E> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const mailbox = new Mailbox<SessionEvent | E>();
  let running: string | undefined;
  let isLive = false;
  let turnOver: Promise<void> = Promise.resolve();
  const over = new Set<string>();
  const follow = (turn: string) => {
    const isOver = () => over.has(turn) || either.aborted;
    const onTurn = () => mailbox.caughtUp(() => onTurnCaughtUp?.(turn));
    const events = onceThere(() => readRunning(turn, either, onTurn), isOver);
    turnOver = pump(events, (event) => mailbox.put(ofTurn(turn, event)));
    turnOver.catch((error: unknown) => mailbox.fail(error));
  };
  const caughtUp = () => {
    if (!isLive && running !== undefined) follow(running);
    isLive = true;
    mailbox.caughtUp(onCaughtUp);
  };
  const read = async () => {
    const how = { live: true, signal: either, onCaughtUp: caughtUp };
    for await (const event of readSession(source, session, how)) {
      // The end of a turn comes after all its events.
      if (event.type === 'turn_ended') {
        over.add(event.turn);
        if (isLive) await turnOver;
      }
      mailbox.put(event);
      if (event.type === 'turn_started') {
        running = event.turn;
        if (isLive) follow(event.turn);
      } else if (event.type === 'turn_ended') running = undefined;
    }
  };
  read().then(
    () => mailbox.end(),
    (error: unknown) => mailbox.fail(error),
  );
  try {
    yield* mailbox.take();
  } finally {
    ended.abort();
  }
}

/** Milliseconds between two looks for a turn that is not there yet. */
const THERE_MS = 100;

/**
 * Reads a turn once the server has it. The history of a session names a turn a moment before the server has the turn.
 * Ends without an event if the session says meanwhile that the turn is over.
 */
export async function* onceThere<T>(read: () => AsyncIterable<T>, isOver: () => boolean): AsyncGenerator<T> {
  for (let isThere = false; ;) {
    try {
      for await (const event of read()) {
        isThere = true;
        yield event;
      }
      return;
    } catch (error) {
      const isMissing = error instanceof CountersignError && error.code === 'not_found';
      if (!isMissing || isThere) throw error;
      if (isOver()) return;
    }
    await delay(THERE_MS);
  }
}

async function pump<T>(events: AsyncIterable<T>, put: (event: T) => void) {
  for await (const event of events) put(event);
}

/** Events of several readers, in the order in which they come. */
class Mailbox<E extends object> {
  private readonly held: (E | (() => void))[] = [];
  private over: { error?: unknown } | undefined;
  private wake: () => void = () => undefined;

  put(event: E) {
    this.held.push(event);
    this.wake();
  }

  /** Calls back once all events so far were taken. */
  caughtUp(call: (() => void) | undefined) {
    if (call === undefined) return;
    this.held.push(call);
    this.wake();
  }

  end() {
    this.over ??= {};
    this.wake();
  }

  fail(error: unknown) {
    this.over ??= { error };
    this.wake();
  }

  async *take(): AsyncGenerator<E> {
    for (;;) {
      for (let one = this.held.shift(); one !== undefined; one = this.held.shift()) {
        if (typeof one === 'function') one();
        else yield one;
      }
      if (this.over !== undefined && 'error' in this.over) throw this.over.error;
      if (this.over !== undefined) return;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}
