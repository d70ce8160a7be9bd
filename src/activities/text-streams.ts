import { Context } from '@temporalio/activity';
import type { Logger } from '@temporalio/common';
import { errorMessage } from '../contract/errors';
import {
  type SendText,
  STREAM,
  type StreamedText,
  type StreamGap,
  streamRetryMs,
} from '../contract/streamed-text';
import { wellFormed } from '../contract/text/bytes';
import type { HidingStream, Secrets } from '../tools/secrets';

/** Takes the text of one attempt to ask a model, for people who watch. Never throws and never waits. */
export interface TextWriter {
  /** Takes a further piece of the text that the model writes. */
  add(text: string): void;
  /** Takes the text of the finished reply, as history will have it. */
  finish(text: string): void;
  /** Ends the attempt. Later text is ignored. */
  end(): void;
}

/** The streams of all attempts of one worker. */
export interface TextStreams {
  /**
   * Opens the stream of the current attempt. `onHead` is called with the beginning of the text if the worker has no
   * receiver for the text. `from` is the first step of the burst that a later step belongs to.
   */
  open(step: number, onHead: (head: string) => void, from?: number): TextWriter;
}

/** The parts that the streams of a worker use. */
interface TextStreamsParts {
  /** Sends pieces to the receiver. Absent: heartbeats carry the beginning of the text. */
  send?: SendText;
  secrets: Secrets;
  log: Pick<Logger, 'warn'>;
}

/**
 * When a reply is cut, its head and its tail get half of the limit each. So the beginning up to this size is never cut.
 * Bytes of UTF-8.
 */
const HEAD_BYTES = STREAM.textBytes / 2 - 100;

export function createTextStreams({ send, secrets, log }: TextStreamsParts): TextStreams {
  const sender = send && createSender(send, log);
  return {
    open(step, onHead, from) {
      const stream: Stream = {
        about: aboutAttempt(step, from),
        revision: 0,
        text: '',
        sent: 0,
        done: false,
        over: false,
      };
      const news =
        sender === undefined
          ? () => onHead(stream.text.slice(0, STREAM.headCharacters))
          : () => sender.send(stream);
      return createWriter(stream, { hiding: secrets.hideStream(), news });
    },
  };
}

type About = Pick<StreamedText, 'namespace' | 'turn' | 'runId' | 'step' | 'from' | 'attempt' | 'scheduledAt'>;

function aboutAttempt(step: number, from: number | undefined): About {
  const { namespace, workflowExecution, attempt, currentAttemptScheduledTimestampMs } =
    Context.current().info;
  const { workflowId: turn = '', runId = '' } = workflowExecution ?? {};
  const scheduledAt = currentAttemptScheduledTimestampMs;
  return { namespace, turn, runId, step, from, attempt, scheduledAt };
}

/**
 * The text of one attempt. Each batch has the text that was added since the batch before it, so nothing waits in a
 * queue.
 */
interface Stream {
  readonly about: About;
  revision: number;
  text: string;
  /** The number of characters that the receiver has. */
  sent: number;
  /** The reply is finished. */
  done: boolean;
  /** Whether the writer is closed and adds no more text. */
  over: boolean;
}

/** The first half of a surrogate pair whose second half has not come yet. */
const HALF = /[\ud800-\udbff]$/;

function createWriter(
  stream: Stream,
  { hiding, news }: { hiding: HidingStream; news: () => void },
): TextWriter {
  let half = '';
  let room: number = HEAD_BYTES;
  const add = (added: string): void => {
    if (stream.over || room === 0) return;
    const piece = half + added;
    half = HALF.exec(piece)?.[0] ?? '';
    const text = hiding.add(wellFormed(half === '' ? piece : piece.slice(0, -1)));
    const bytes = Buffer.byteLength(text);
    // A longer text may be cut in its middle, so the text after this comes with the finished reply.
    if (bytes > room) return void (room = 0);
    if (text === '') return;
    room -= bytes;
    stream.text += text;
    news();
  };
  const finish = (reply: string) => {
    if (stream.over) return;
    stream.over = true;
    const text = wellFormed(reply);
    if (!text.startsWith(stream.text)) {
      stream.revision += 1;
      stream.sent = 0;
    }
    stream.text = text;
    stream.done = true;
    news();
  };
  return { add, finish, end: () => void (stream.over = true) };
}

/** Sends one batch at a time. A receiver that is slow or gone only misses text. */
function createSender(send: SendText, log: Pick<Logger, 'warn'>): { send(stream: Stream): void } {
  const open = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;
  let isSending = false;
  let failures = 0;
  let batchAt = -Infinity;
  const plan = () => {
    if (isSending || timer !== undefined || open.size === 0) return;
    const wait =
      failures > 0 ? streamRetryMs(failures) : Math.max(0, batchAt + STREAM.batchMs - performance.now());
    timer = setTimeout(() => {
      timer = undefined;
      void flush();
    }, wait).unref();
  };
  const flush = async () => {
    const batch = takeBatch(open);
    if (batch.length === 0) return;
    isSending = true;
    batchAt = performance.now();
    try {
      apply(open, batch, await send(batch.map(({ piece }) => piece)));
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures === 1)
        log.warn(`what models write cannot be streamed to the web inbox: ${errorMessage(error)}`);
      // History has these replies by now, or will have them soon.
      for (const stream of open) if (stream.over) open.delete(stream);
    } finally {
      isSending = false;
      plan();
    }
  };
  return {
    send(stream) {
      if (stream.over && failures > 0) return void open.delete(stream);
      open.add(stream);
      plan();
    },
  };
}

interface Sending {
  stream: Stream;
  piece: StreamedText;
}

/**
 * The text that was added since the last batch, up to the size of a batch. Streams that do not fit come first in the
 * next batch.
 */
function takeBatch(open: Set<Stream>): Sending[] {
  const batch: Sending[] = [];
  let left: number = STREAM.charactersAtOnce;
  for (const stream of [...open]) {
    if (left === 0 || batch.length === STREAM.piecesAtOnce) break;
    const { about, revision, sent } = stream;
    const end = wholeEnd(stream.text, sent + left);
    const isLast = stream.done && end === stream.text.length;
    const piece: StreamedText = { ...about, revision, at: sent, text: stream.text.slice(sent, end) };
    if (isLast) piece.done = true;
    left -= Math.min(left, piece.text.length);
    open.delete(stream);
    batch.push({ stream, piece });
    open.add(stream);
  }
  return batch;
}

/** The end of a piece. It is moved if it would be in the middle of a character. */
function wholeEnd(text: string, end: number) {
  return end < text.length && HALF.test(text.charAt(end - 1)) ? end - 1 : Math.min(end, text.length);
}

/** Notes how many characters the receiver has now. Streams with nothing more to send are closed until text is added. */
function apply(open: Set<Stream>, batch: readonly Sending[], gaps: readonly StreamGap[]) {
  for (const { stream, piece } of batch) {
    // A finished reply may have replaced the text that was sent meanwhile.
    if (stream.revision !== piece.revision) continue;
    const gap = gaps.find(
      ({ turn, scheduledAt, revision }) =>
        turn === piece.turn && scheduledAt === piece.scheduledAt && revision === piece.revision,
    );
    const isNew = gap === undefined || stream.sent !== gap.at;
    stream.sent = Math.min(gap?.at ?? piece.at + piece.text.length, stream.text.length);
    const isAll = stream.sent === stream.text.length && stream.done === (piece.done === true);
    if ((gap === undefined && isAll) || !isNew) open.delete(stream);
  }
}
