import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from '../contract/errors';
import { inWords } from './slack-errors';
import { SECOND } from '../contract/limits';
import { notifyFailure } from './notices';
import { untilStopped } from '../system/until-stopped';

const HELLO_MS = 30 * SECOND;
const FIRST_MS = SECOND;
const MOST_MS = 60 * SECOND;

/** The part of Slack's socket that is used. */
export interface Socket {
  start(): Promise<unknown>;
  disconnect(): Promise<void>;
  once(event: 'disconnected', act: () => void): unknown;
  on(event: 'interactive', take: (given: { ack: () => Promise<void>; body: unknown }) => void): unknown;
}

/** Everything that is needed to receive clicks. */
interface ClickReceiver {
  open(): Socket;
  /** Takes a payload that was acknowledged. */
  take(body: unknown): void;
  note(line: string): void;
  signal: AbortSignal;
}

/**
 * Passes on each payload after it is acknowledged, until the signal aborts. Slack closes each connection after some
 * hours. So a lost connection is reported only if no new connection can be made.
 */
export async function keepListening({ open, note, signal, ...rest }: ClickReceiver): Promise<void> {
  let failures = 0;
  const began = () => {
    if (failures > 0) note('Slack is listened to again');
    failures = 0;
  };
  while (!signal.aborted) {
    let wait = FIRST_MS;
    try {
      await listenOnce(open(), { ...rest, note, signal, began });
    } catch (error) {
      if (signal.aborted) return;
      const wish = inWordsOfSocket(error);
      wait = Math.max(Math.min(MOST_MS, FIRST_MS * 2 ** failures++), wish.retryInMs);
      note(`nobody listens to Slack: ${wish.message}; again in ${Math.ceil(wait / SECOND)} s`);
    }
    await delay(wait, undefined, { signal }).catch(() => undefined);
  }
}

function inWordsOfSocket(error: unknown): { message: string; retryInMs: number } {
  const why = error ?? new Error('it closed the connection');
  const { message, data } = why instanceof CountersignError ? why : inWords(why);
  const { retryInMs } = data;
  return { message, retryInMs: typeof retryInMs === 'number' ? retryInMs : 0 };
}

async function listenOnce(
  socket: Socket,
  { take, note, signal, began }: Omit<ClickReceiver, 'open'> & { began(): void },
) {
  const closed = new Promise<void>((resolve) => void socket.once('disconnected', resolve));
  socket.on('interactive', ({ ack, body }) => {
    // Slack shows a click as failed unless it gets an answer within three seconds. If the answer cannot be sent, the
    // click is ignored.
    ack().then(
      () => take(body),
      () => note('a click in Slack could not be acknowledged, so nothing was done'),
    );
  });
  const started = socket.start();
  // The promise may still reject after nobody awaits it any more.
  started.catch(() => undefined);
  const late = new AbortController();
  try {
    const tooLate = delay(HELLO_MS, undefined, { signal: late.signal }).then(() => {
      throw notifyFailure('it does not say hello');
    });
    tooLate.catch(() => undefined);
    await untilStopped(signal, Promise.race([started, tooLate]));
    began();
    await untilStopped(signal, closed);
  } finally {
    late.abort();
    // The second `disconnect` below does not wait for the other side.
    const left = socket.disconnect();
    await Promise.race([left, delay(SECOND, undefined, { ref: false })]);
    socket.disconnect().catch(() => undefined);
  }
}
