import { digestText } from '../contract/digest';
import { CountersignError, errorMessage } from '../contract/errors';
import type { Notice, Receiver } from './notices';
import type { openSent } from './sent';

/** The receiver of notices, and the record of deliveries. */
interface OutboxParts {
  receiver: Receiver;
  /**
   * The name of the channel. It is a part of the keys of deliveries. @default none, where there is only one receiver
   */
  channel?: string;
  sent: Awaited<ReturnType<typeof openSent>>;
  /** Called with one line for each delivery, and for each failure. */
  note(text: string): void;
  signal: AbortSignal;
  /** The most notices that one call of `send` tries. The next call tries the others. @default no limit */
  limit?: number;
}

/** Delivers each notice at least once. A delivery is on record only after the receiver took it. */
export interface NoticeOutbox {
  /**
   * Sends the notices that were not delivered yet. A notice whose delivery failed waits a while. Resolves to the number
   * of notices that are still to be delivered.
   */
  send(notices: readonly Notice[], now: number): Promise<number>;
  /** Takes the answers of people, until the signal aborts. Never rejects. Absent: the channel takes no answers. */
  listen?(): Promise<void>;
}

const FIRST_MS = 1000;
const MOST_MS = 60_000;
/** A failure that is not tried again for this long is forgotten, in milliseconds. */
const FORGET_MS = 60 * 60_000;

/** Makes an outbox. At first no delivery has failed, so nothing waits. */
export function createOutbox(parts: OutboxParts): NoticeOutbox {
  const tries = createTries(parts);
  const { sent, channel = '', receiver, signal, note } = parts;
  const correct = async (notices: readonly Notice[], now: number) => {
    for (const { key, about, act } of (await receiver.outdated?.(notices, now)) ?? [])
      await tries.attempt({ key, about, now, act: () => act(signal) });
  };
  return {
    listen: receiver.listen === undefined ? undefined : () => listenTo(receiver, { note, signal }),
    send: async (notices, now) => {
      const open = notices.filter((notice) => !sent.has(keyOf(notice, channel)));
      await sendSome(open, { parts, tries, now });
      await correct(notices, now);
      tries.forget(now);
      return open.filter((notice) => !sent.has(keyOf(notice, channel))).length;
    },
  };
}

/** Listens for answers. If this fails, notices are still sent. */
async function listenTo(receiver: Receiver, { note, signal }: Pick<OutboxParts, 'note' | 'signal'>) {
  try {
    await receiver.listen?.(signal);
  } catch (error) {
    note(`nobody listens to ${receiver.name}: ${errorMessage(error)}`);
  }
}

/** The key of a notice or, with a target, of its delivery to one of several targets. */
function keyOf({ id }: Notice, channel: string, target?: string) {
  // A target is an address, so only its digest is kept.
  const of = target === undefined ? [] : [digestText(target).slice(0, 16)];
  return [...(channel === '' ? [] : [channel]), id, ...of].join(' ');
}

interface Sending {
  parts: OutboxParts;
  tries: Tries;
  now: number;
}

/**
 * Sends notices until the limit is reached. A notice that waits after a failure does not count, so notices that always
 * fail do not keep the others back.
 */
async function sendSome(open: readonly Notice[], sending: Sending) {
  const { parts, tries } = sending;
  const { limit = Infinity, receiver, note } = parts;
  let tried = 0;
  for (const [at, notice] of open.entries()) {
    if (tried === limit) {
      note(
        `--limit ${limit} is reached for ${receiver.name}; ${open.length - at} more wait for the next look`,
      );
      return;
    }
    const before = tries.made();
    await sendTo(notice, sending);
    if (tries.made() > before) tried += 1;
  }
}

/** Sends a notice to each target that has not got it yet. */
async function sendTo(notice: Notice, { parts, tries, now }: Sending): Promise<void> {
  const { receiver, sent, channel = '', note, signal } = parts;
  const about = describe(notice);
  const deliver = async (key: string, target?: string) => {
    if (sent.has(key)) return true;
    const act = () => receiver.deliver(notice, signal, target);
    if (!(await tries.attempt({ key, about, now, act }))) return false;
    await sent.add(key, now);
    note(`sent to ${receiver.name}: ${about}`);
    return true;
  };
  const whole = keyOf(notice, channel);
  if (receiver.targetsOf === undefined) return void (await deliver(whole));
  let targets: readonly string[] = [];
  const act = async () => {
    targets = (await receiver.targetsOf?.(notice)) ?? [];
  };
  if (!(await tries.attempt({ key: `targets of ${whole}`, about, now, act }))) return;
  let isLeft = false;
  for (const target of targets) if (!(await deliver(keyOf(notice, channel, target), target))) isLeft = true;
  if (!isLeft) await sent.add(whole, now);
}

/** One action that is tried. */
interface Attempt {
  key: string;
  about: string;
  now: number;
  act(): Promise<void>;
}

interface Tries {
  /** True if it was tried and went well. */
  attempt(attempt: Attempt): Promise<boolean>;
  /** How many attempts were made so far. */
  made(): number;
  /** Forgets failures that nobody tried again for a long time, because their notice no longer waits. */
  forget(now: number): void;
}

/** Tries again after longer and longer waits. A wait is never shorter than the receiver asks for. */
function createTries({ receiver, note, signal }: OutboxParts): Tries {
  const failures = new Map<string, { count: number; nextAt: number }>();
  let heldUntil = 0;
  let made = 0;
  const waits = (key: string, now: number) =>
    signal.aborted || heldUntil > now || (failures.get(key)?.nextAt ?? 0) > now;
  return {
    made: () => made,
    forget: (now) => {
      for (const [key, { nextAt }] of failures) if (nextAt < now - FORGET_MS) failures.delete(key);
    },
    attempt: async ({ key, about, now, act }) => {
      if (waits(key, now)) return false;
      made += 1;
      try {
        await act();
        failures.delete(key);
        return true;
      } catch (error) {
        const count = (failures.get(key)?.count ?? 0) + 1;
        const { retryInMs, holdsAll } = wishOf(error);
        const wait = Math.max(Math.min(MOST_MS, FIRST_MS * 2 ** (count - 1)), retryInMs);
        failures.set(key, { count, nextAt: now + wait });
        if (holdsAll) heldUntil = now + wait;
        const again = `again in ${Math.ceil(wait / 1000)} s`;
        if (!signal.aborted)
          note(`could not send to ${receiver.name}: ${errorMessage(error)}; ${again}: ${about}`);
        return false;
      }
    },
  };
}

function wishOf(error: unknown): { retryInMs: number; holdsAll: boolean } {
  const { retryInMs, holdsAll } = error instanceof CountersignError ? error.data : {};
  return { retryInMs: typeof retryInMs === 'number' ? retryInMs : 0, holdsAll: holdsAll === true };
}

function describe({ type, data: { turn, callId, tool } }: Notice) {
  return `${type} ${turn}/${callId} ${tool}`;
}
