import type { Notice } from './notices';
import type { Receiver } from './receiver';
import type { Sent } from './sent';

/** What delivers notices, and what has been delivered. */
export interface OutboxParts {
  receiver: Receiver;
  sent: Sent;
  /** Called with one line for each delivery, and for each failure. */
  tell(text: string): void;
  signal: AbortSignal;
}

/** Delivers each notice at least once: it is on record only after the receiver took it. */
export interface Outbox {
  /** Sends what is due and was not delivered yet; what failed waits a while. How many are still to be delivered. */
  send(notices: readonly Notice[], now: number): Promise<number>;
}

const FIRST_MS = 1000;
const MOST_MS = 60_000;

/** An outbox that has nothing to wait for yet. */
export function createOutbox(parts: OutboxParts): Outbox {
  const failures = new Map<string, { count: number; nextAt: number }>();
  return {
    send: async (notices, now) => {
      const open = notices.filter(({ id }) => !parts.sent.has(id));
      for (const notice of open) {
        if (parts.signal.aborted || (failures.get(notice.id)?.nextAt ?? 0) > now) continue;
        const why = await deliver(notice, parts);
        if (why === undefined) failures.delete(notice.id);
        else
          failures.set(notice.id, postpone(failures.get(notice.id)?.count ?? 0, { why, notice, parts, now }));
      }
      return open.filter(({ id }) => !parts.sent.has(id)).length;
    },
  };
}

/** Undefined when it was delivered and that is on disk; otherwise why not. */
async function deliver(
  notice: Notice,
  { receiver, sent, tell, signal }: OutboxParts,
): Promise<string | undefined> {
  try {
    await receiver.deliver(notice, signal);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  await sent.add(notice.id, Date.now());
  tell(`told ${receiver.name}: ${describe(notice)}`);
  return undefined;
}

interface Failure {
  why: string;
  notice: Notice;
  parts: OutboxParts;
  now: number;
}

function postpone(count: number, { why, notice, parts, now }: Failure): { count: number; nextAt: number } {
  const wait = Math.min(MOST_MS, FIRST_MS * 2 ** count);
  if (!parts.signal.aborted) {
    parts.tell(
      `could not tell ${parts.receiver.name}: ${why}; again in ${wait / 1000} s: ${describe(notice)}`,
    );
  }
  return { count: count + 1, nextAt: now + wait };
}

function describe({ type, data: { turn, callId, tool } }: Notice): string {
  return `${type} ${turn}/${callId} ${tool}`;
}
