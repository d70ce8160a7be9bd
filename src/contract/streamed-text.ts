/**
 * A piece of the text that a model writes, on its way from the worker to people who watch. History never has it. The
 * pieces of one attempt and revision are joined in order, and a later attempt or revision replaces an earlier one.
 */
export interface StreamedText {
  namespace: string;
  turn: string;
  runId: string;
  /** Counts from 1. */
  step: number;
  /** Only for a later step of a burst: the first step of that burst, which is the step that history knows. */
  from?: number;
  /** The number of the attempt to ask the model for this step. The first attempt is 1. */
  attempt: number;
  /**
   * When the attempt was scheduled, by the Temporal server's clock, in milliseconds since 1970. This time orders the
   * attempts.
   */
  scheduledAt: number;
  /** 0, or 1 if the finished reply differs from what was streamed. The text then begins anew. */
  revision: number;
  /** The number of characters (UTF-16 units) of the text before this piece. */
  at: number;
  text: string;
  /** The reply is finished, and no piece follows. */
  done?: true;
}

/** A stream whose receiver has less than was sent. */
export interface StreamGap extends Pick<StreamedText, 'turn' | 'scheduledAt' | 'revision'> {
  /** The number of characters that the receiver has. */
  at: number;
}

/** Sends pieces to a web inbox, and returns what is missing there. Rejects if the pieces do not arrive. */
export type SendText = (pieces: readonly StreamedText[]) => Promise<readonly StreamGap[]>;

/**
 * Names the turns in which something began or ceased to wait for a person, as a worker says. The news contains nothing
 * else about them: whoever receives it reads the turns. Without turns it only says that the worker is there.
 */
export interface TurnNews {
  namespace: string;
  turns: readonly string[];
  /** More turns had changed than the worker could keep. */
  isPart?: true;
}

/** Sends news to a web inbox. Rejects if it does not arrive. */
export type SendNews = (news: TurnNews) => Promise<void>;

/** A web inbox that workers send models' texts to. It passes them to everyone who follows the turn. */
export interface StreamPlace {
  /** The address of the web inbox, such as `http://inbox.example.com:7243`. */
  url: string;
  /** The secret that the web inbox was started with: 16 to 200 characters. */
  token: string;
}

/** Sends to a web inbox: the texts that models write, and the turns that have changed. */
export interface StreamSender {
  text: SendText;
  news?: SendNews;
}

/** Limits of the news about turns. Times are in milliseconds. */
export const NEWS = {
  /** The most characters of a turn's name: Temporal's own limit. A longer name would have its whole batch refused. */
  characters: 1_000,
  /** The most turns that are named in one request. */
  turnsAtOnce: 200,
  /** The most turns that a worker keeps for a web inbox that does not answer. */
  turnsKept: 1_000,
  /**
   * The time that a worker waits before it names a turn. A workflow reports before the server has its change, and so
   * several turns go in one request.
   */
  batchMs: 20,
  /** A worker without news says that it is there after this time. */
  beatMs: 5_000,
} as const;

/**
 * The text that a model writes, while it writes. The text so far is the first `at` characters of the earlier text, and
 * then `text`. With `at` 0 the text begins anew, as in each attempt. The event `step` has the finished reply.
 */
export interface TextDelta extends Pick<StreamedText, 'runId' | 'step' | 'from' | 'attempt' | 'at' | 'text'> {
  type: 'text';
}

/** Limits of streamed text. Characters are UTF-16 units. */
export const STREAM = {
  /** The most characters of pieces in one request: any such text fits a body of 1 MiB. */
  charactersAtOnce: 100_000,
  /** The most pieces in one request. */
  piecesAtOnce: 200,
  /** The most bytes of a reply's text, as UTF-8. A longer text is cut. A text has no more characters than bytes. */
  textBytes: 512 * 1024,
  /** The least time between two batches, in milliseconds. */
  batchMs: 50,
  /** The number of characters from the beginning of the text that the heartbeat has if the text is not streamed. */
  headCharacters: 4_000,
} as const;

/** The milliseconds between two beats of a stream of events from the web inbox. */
export const BEAT_MS = 5_000;

/** A stream counts as lost after this many milliseconds of silence. */
export const SILENT_MS = BEAT_MS * 3.6;

/** Whether the first stream is of a later attempt than the second, or of a later revision of the same attempt. */
export function isLaterStream(
  one: Pick<StreamedText, 'scheduledAt' | 'revision'>,
  other: Pick<StreamedText, 'scheduledAt' | 'revision'>,
): boolean {
  return (
    one.scheduledAt > other.scheduledAt ||
    (one.scheduledAt === other.scheduledAt && one.revision > other.revision)
  );
}

/** The waits before a web inbox is asked again, in milliseconds. Each wait is twice the wait before. */
const RETRY_MS = { first: 500, most: 15_000 } as const;

/**
 * The time that a process or a page waits after so many failures in a row before it asks a web inbox again, in
 * milliseconds.
 */
export function streamRetryMs(failures: number): number {
  return Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** Math.min(failures - 1, 10));
}
