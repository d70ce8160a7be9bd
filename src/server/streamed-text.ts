import { Hono } from 'hono';
import { z } from 'zod';
import { STREAM_TOKEN } from '../client/streamed-text';
import type { Countersign } from '../client/countersign';
import { CountersignError } from '../contract/errors';
import {
  isLaterStream,
  NEWS,
  type SendText,
  STREAM,
  type StreamedText,
  type StreamGap,
  type TextDelta,
} from '../contract/streamed-text';
import type { TurnEvent } from '../history/events';
import { digestSecret, sameDigest } from './auth/secrets';
import type { FormatError } from './failure';
import type { InboxFeed } from './inbox-feed';
import { newsFor } from './reading/named-turns';
import { checkInput, readBody } from './request-body';
import { eventStream, type ServerEvent } from './sse';

/** The time for which a finished reply is kept for watchers, in milliseconds. By then history has the reply. */
const DONE_MS = 30_000;

/** The most that is kept. The text that has not grown for the longest time is removed first. */
interface StoreLimits {
  turns: number;
  /** UTF-16 units. */
  characters: number;
}

const LIMITS: StoreLimits = { turns: 2_000, characters: 32 * 1024 * 1024 };

type Stream = Omit<StreamedText, 'at' | 'done'> & {
  /** Whether history has the reply, so that its text was removed here. */
  closed: boolean;
};

/**
 * The text that models are writing now, for all turns of a namespace. The text is only in memory, because history has
 * every finished reply.
 */
export class TextStore {
  /** The latest stream of each turn. The stream that has not grown for the longest time comes first. */
  private readonly streams = new Map<string, Stream>();
  private readonly watchers = new Map<string, Set<() => void>>();
  private characters = 0;

  constructor(
    private readonly namespace: string,
    private readonly limits: StoreLimits = LIMITS,
  ) {}

  readonly take: SendText = async (pieces) => pieces.flatMap((piece) => this.takeOne(piece));

  /** The whole text that a turn's model has written so far, then each addition, until the signal aborts. */
  watch(turn: string, signal: AbortSignal): AsyncGenerator<TextDelta> {
    const { streams, watchers } = this;
    return watchStream({ turn, signal, streams, watchers });
  }

  /** Removes the text that history now has. */
  note(turn: string, event: TurnEvent): void {
    const stream = this.streams.get(turn);
    if (stream !== undefined && isSettledBy(stream, event)) this.close(stream);
  }

  /** The number of turns and characters in the store. */
  size(): { turns: number; characters: number } {
    return { turns: this.streams.size, characters: this.characters };
  }

  private takeOne(piece: StreamedText) {
    if (piece.namespace !== this.namespace) return [];
    const stream = extended(this.streams.get(piece.turn), piece);
    if (stream === 'past') return [];
    if ('gap' in stream) return [stream.gap];
    this.put(stream);
    if (piece.done === true) setTimeout(() => this.close(stream), DONE_MS).unref();
    for (const wake of this.watchers.get(piece.turn) ?? []) wake();
    return [];
  }

  private put(stream: Stream) {
    const { streams, limits } = this;
    this.characters += stream.text.length - (streams.get(stream.turn)?.text.length ?? 0);
    streams.delete(stream.turn);
    streams.set(stream.turn, stream);
    while (streams.size > limits.turns || this.characters > limits.characters) {
      const [oldest] = streams.values();
      if (oldest === undefined) return;
      this.characters -= oldest.text.length;
      streams.delete(oldest.turn);
    }
  }

  private close({ turn, scheduledAt }: Stream) {
    const stream = this.streams.get(turn);
    if (stream?.scheduledAt === scheduledAt && !stream.closed)
      this.put({ ...stream, text: '', closed: true });
  }
}

/**
 * The stream with one more piece. `past`: the piece belongs to a stream that is over. A gap: the text before the piece
 * is missing.
 */
function extended(last: Stream | undefined, piece: StreamedText): Stream | { gap: StreamGap } | 'past' {
  const { at, done: _done, ...about } = piece;
  const { turn, scheduledAt, revision } = piece;
  const isNew = last === undefined || isLaterStream(piece, last);
  const isClosed = last?.closed === true && scheduledAt <= last.scheduledAt;
  if (isClosed || (!isNew && isLaterStream(last, piece))) return 'past';
  const before = isNew ? '' : last.text;
  if (at > before.length) return { gap: { turn, scheduledAt, revision, at: before.length } };
  const text = before + piece.text.slice(before.length - at);
  return { ...about, text: text.slice(0, STREAM.textBytes), closed: false };
}

/**
 * Whether an event shows that history has the reply of a stream, or never will have it. Both times are the server's.
 */
function isSettledBy({ step, scheduledAt }: Stream, event: TurnEvent) {
  const isEnd =
    event.type === 'turn_ended' ||
    ((event.type === 'step' || event.type === 'think_failed') && event.step >= step);
  return isEnd && Date.parse(event.at) >= scheduledAt;
}

interface Watching {
  turn: string;
  signal: AbortSignal;
  streams: ReadonlyMap<string, Stream>;
  watchers: Map<string, Set<() => void>>;
}

/**
 * Streams a text to one watcher. The watcher keeps only its position, so a slow reader costs no memory and gets longer
 * pieces.
 */
async function* watchStream({ turn, signal, streams, watchers }: Watching): AsyncGenerator<TextDelta> {
  let seen: Stream | undefined;
  let at = 0;
  while (!signal.aborted) {
    const stream = streams.get(turn);
    if (stream !== undefined && !stream.closed) {
      const isLater = seen !== undefined && isLaterStream(stream, seen);
      // A text that was dropped to save memory is sent again from its start.
      if (isLater || stream.text.length < at) at = 0;
      const { runId, step, from, attempt } = stream;
      const text = stream.text.slice(at);
      seen = stream;
      if (text !== '' || isLater) {
        yield { type: 'text', runId, step, from, attempt, at, text };
        at += text.length;
        continue;
      }
    }
    await nextChange(turn, signal, watchers);
  }
}

/** Resolves when the turn's text was extended, or the signal aborts. */
function nextChange(turn: string, signal: AbortSignal, watchers: Watching['watchers']): Promise<void> {
  return new Promise((resolve) => {
    const set = watchers.get(turn) ?? new Set();
    watchers.set(turn, set);
    const wake = () => {
      set.delete(wake);
      if (set.size === 0 && watchers.get(turn) === set) watchers.delete(turn);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    set.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    if (signal.aborted) wake();
  });
}

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const name = z.string().min(1).max(NEWS.characters);

const piecesSchema = z
  .array(
    z.strictObject({
      namespace: name,
      turn: name,
      runId: name,
      step: count,
      attempt: count,
      scheduledAt: count,
      revision: count,
      at: count,
      from: count.optional(),
      text: z.string().max(STREAM.charactersAtOnce),
      done: z.literal(true).optional(),
    }),
  )
  .max(STREAM.piecesAtOnce);

const newsSchema = z.strictObject({
  namespace: name,
  turns: z.array(name).max(NEWS.turnsAtOnce),
  isPart: z.literal(true).optional(),
});

const watchSchema = z.strictObject({ namespace: name, turn: name });

/** The parts that the routes of the stream work with. See AppDeps. */
interface StreamDeps {
  client: Pick<Countersign, 'namespace'>;
  texts: TextStore;
  feed: Pick<InboxFeed, 'hear'>;
  streamToken: string | undefined;
  closing: AbortSignal;
  formatError: FormatError;
}

const BEARER = new RegExp(`^Bearer (${STREAM_TOKEN})$`, 'i');

/**
 * The routes that take text and news from workers, and stream text to programs that follow a turn. All of them need the
 * token.
 */
export function streamRoutes(deps: StreamDeps): Hono {
  const { streamToken, texts, client, feed, closing, formatError } = deps;
  const takeNews = newsFor(client, feed);
  const digest = streamToken === undefined ? undefined : digestSecret(streamToken);
  return new Hono()
    .use(async (c, next) => {
      const [, given = ''] = BEARER.exec(c.req.header('authorization') ?? '') ?? [];
      if (digest === undefined || !sameDigest(digestSecret(given), digest)) throw noToken(digest);
      await next();
    })
    .post('/', async (c) => c.json(await texts.take(await readBody(c, piecesSchema))))
    .post('/news', async (c) => {
      await takeNews(await readBody(c, newsSchema));
      return c.body(null, 204);
    })
    .get('/', (c) => {
      const { turn, namespace } = checkInput(watchSchema, c.req.query());
      if (namespace !== client.namespace)
        throw new CountersignError('not_found', `this web inbox is of the namespace ${client.namespace}`);
      const isAllowed = async () => true;
      return eventStream({
        isAllowed,
        closing,
        formatError,
        events: (signal) => textEvents(texts, turn, signal),
      });
    });
}

function noToken(digest: string | undefined): CountersignError {
  const hint =
    digest === undefined
      ? 'start the web inbox with COUNTERSIGN_STREAM_TOKEN'
      : 'give the COUNTERSIGN_STREAM_TOKEN that the web inbox was started with';
  return new CountersignError('signed_out', 'this is not the token of the stream', hint);
}

/** The text that a turn's model writes, as events for a page or a program. */
export async function* textEvents(
  texts: Pick<TextStore, 'watch'>,
  turn: string,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  for await (const data of texts.watch(turn, signal)) yield { event: 'text', data };
}
