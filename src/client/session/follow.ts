import { readTurn } from '../../history/read';
import { readSession, type SessionEvent } from '../../history/session/events';
import type { ClientContext } from '../context';
import type { FollowOptions } from '../requests';
import type { SessionTurnEvent } from './types';

/** What a session and its running turn do, as it comes. */
export type FollowedEvent = SessionEvent | SessionTurnEvent;

/**
 * Every event of a session from its start, then live until it ends, with the events of each turn that runs meanwhile, from
 * its start. A turn that is over already comes with its beginning and its end alone.
 */
export async function* followSession(
  { source }: ClientContext,
  session: string,
  { signal = new AbortController().signal, onCaughtUp }: FollowOptions,
): AsyncGenerator<FollowedEvent> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const mailbox = new Mailbox();
  let running: string | undefined;
  let isLive = false;
  let turnOver: Promise<void> = Promise.resolve();
  const follow = (turn: string): void => {
    turnOver = pump(readTurn(source, turn, { live: true, signal: either }), (event) =>
      mailbox.put({ type: 'turn_event', turn, event }),
    );
    turnOver.catch((error: unknown) => mailbox.fail(error));
  };
  const caughtUp = (): void => {
    if (!isLive && running !== undefined) follow(running);
    isLive = true;
    mailbox.caughtUp(onCaughtUp);
  };
  const read = async (): Promise<void> => {
    for await (const event of readSession(source, session, {
      live: true,
      signal: either,
      onCaughtUp: caughtUp,
    })) {
      // The end of a turn comes after all its events.
      if (event.type === 'turn_ended' && isLive) await turnOver;
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

async function pump<T>(events: AsyncIterable<T>, put: (event: T) => void): Promise<void> {
  for await (const event of events) put(event);
}

/** Events of several readers, in the order in which they come. */
class Mailbox {
  private readonly held: (FollowedEvent | (() => void))[] = [];
  private over: { error?: unknown } | undefined;
  private wake: () => void = () => undefined;

  put(event: FollowedEvent): void {
    this.held.push(event);
    this.wake();
  }

  /** Calls back once all events so far were taken. */
  caughtUp(call: (() => void) | undefined): void {
    if (call === undefined) return;
    this.held.push(call);
    this.wake();
  }

  end(): void {
    this.over ??= {};
    this.wake();
  }

  fail(error: unknown): void {
    this.over ??= { error };
    this.wake();
  }

  async *take(): AsyncGenerator<FollowedEvent> {
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
