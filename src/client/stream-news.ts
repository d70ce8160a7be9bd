import type { Logger } from '@temporalio/common';
import { errorMessage } from '../contract/errors';
import {
  NEWS,
  type SendNews,
  type StreamPlace,
  streamRetryMs,
  type TurnNews,
} from '../contract/streamed-text';
import { outgoingFetch } from '../system/proxies';

/**
 * Sends a web inbox the names of turns in which a request began or ceased to wait for a person, one batch at a time.
 * While the web inbox does not answer, it keeps the names of turns, up to a limit. If there are more turns, it says so,
 * and the web inbox finds the other turns by itself. Never throws, and nobody waits for it.
 */
export class InboxNews {
  private readonly turns = new Set<string>();
  private namespace: string | undefined;
  private isPart = false;
  private isSending = false;
  private failures = 0;
  private sentAt = -Infinity;
  private planned: { at: number; timer: NodeJS.Timeout } | undefined;

  constructor(
    private readonly send: SendNews,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  /** Sends the name of a turn soon. */
  note(turn: string): void {
    const isKept = this.turns.size < NEWS.turnsKept && turn.length <= NEWS.characters;
    if (isKept) this.turns.add(turn);
    else if (!this.turns.has(turn)) this.isPart = true;
    this.plan();
  }

  /** Begins to send news about the turns of this namespace, and the news that this worker is there. */
  begin(namespace: string): void {
    this.namespace = namespace;
    this.plan();
  }

  /** Sends the names that are left, and ends. */
  close(): void {
    if (this.failures === 0 && !this.isSending && this.turns.size > 0) void this.flush();
    clearTimeout(this.planned?.timer);
    this.namespace = undefined;
  }

  /** Plans the next batch. It may come earlier than the batch that was planned before. */
  private plan() {
    if (this.isSending || this.namespace === undefined) return;
    const now = performance.now();
    const at = this.failures > 0 ? this.sentAt + streamRetryMs(this.failures) : now + this.usualMs(now);
    if (this.planned !== undefined && this.planned.at <= at) return;
    clearTimeout(this.planned?.timer);
    const timer = setTimeout(() => void this.flush(), Math.max(0, at - now)).unref();
    this.planned = { at, timer };
  }

  private usualMs(now: number) {
    return this.turns.size > 0 ? NEWS.batchMs : Math.max(0, this.sentAt + NEWS.beatMs - now);
  }

  private async flush() {
    this.planned = undefined;
    if (this.namespace === undefined) return;
    const turns = [...this.turns].slice(0, NEWS.turnsAtOnce);
    const news: TurnNews = { namespace: this.namespace, turns, isPart: this.isPart ? true : undefined };
    // A turn that changes again while the batch is sent is named again.
    for (const turn of turns) this.turns.delete(turn);
    this.isPart = false;
    this.isSending = true;
    try {
      await this.send(news);
      this.failures = 0;
    } catch (error) {
      this.keep(news);
      this.failures += 1;
      if (this.failures === 1)
        this.log.warn(`the web inbox does not hear of new requests from here: ${errorMessage(error)}`);
    } finally {
      this.isSending = false;
      this.sentAt = performance.now();
      this.plan();
    }
  }

  /** Keeps the news that did not arrive for the next batch. */
  private keep({ turns, isPart }: TurnNews) {
    if (isPart === true) this.isPart = true;
    for (const turn of turns) {
      if (this.turns.size < NEWS.turnsKept) this.turns.add(turn);
      else this.isPart = true;
    }
  }
}

/** The longest time for a batch, in milliseconds. */
const SEND_MS = 5_000;

/** Sends news to the process of a web inbox. Throws the errors of `post`. */
export function sendNewsTo(place: StreamPlace): SendNews {
  return async (news) => {
    await (await postToInbox(place, '/api/stream/news', news)).body?.cancel();
  };
}

/** Sends a request to the process of a web inbox. An error says why it failed, without the token. */
export async function postToInbox(
  { url, token }: StreamPlace,
  path: string,
  body: unknown,
): Promise<Response> {
  const response = await outgoingFetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    // A redirect would take the token to a place that is not configured.
    redirect: 'error',
    signal: AbortSignal.timeout(SEND_MS),
  }).catch((error: unknown) => {
    throw new Error(`${url} does not answer: ${causeOf(error)}`);
  });
  if (response.ok) return response;
  await response.body?.cancel();
  throw new Error(`${url} answered with status ${response.status}`);
}

/** Why a `fetch` failed: the message of the cause, if there is one. */
export function causeOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined
    ? errorMessage(error.cause)
    : errorMessage(error);
}
