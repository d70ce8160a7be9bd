/**
 * A piece of what a model writes, on its way from the worker to people who watch. History never has it. Pieces of one
 * attempt and revision are put one after the other, and a later attempt or revision takes the place of an earlier one.
 */
export interface StreamedText {
  namespace: string;
  turn: string;
  runId: string;
  /** Counts from 1. */
  step: number;
  /** Of a later step of a burst: the first step of that, which is the one that history knows of. */
  from?: number;
  /** Which attempt to ask the model for this step this is; the first one is 1. */
  attempt: number;
  /** When the attempt was scheduled, by the Temporal server's clock; milliseconds since 1970. It orders attempts. */
  scheduledAt: number;
  /** 0, or 1 where the finished reply differs from what was streamed. The text then begins anew. */
  revision: number;
  /** How many characters (UTF-16 units) of the text come before this piece. */
  at: number;
  text: string;
  /** The reply is finished: nothing follows. */
  done?: true;
}

/** A stream of which a receiver has less than was sent. */
export interface StreamGap extends Pick<StreamedText, 'turn' | 'scheduledAt' | 'revision'> {
  /** How many characters the receiver has. */
  at: number;
}

/** Sends pieces to where people watch, and returns what is missing there. Rejects where the pieces do not arrive. */
export type SendText = (pieces: readonly StreamedText[]) => Promise<readonly StreamGap[]>;

/**
 * The turns in which something began or ceased to wait for a person, by the word of a worker. The news names turns and
 * says nothing of them: whoever hears it reads them. Without turns it only says that the worker is there.
 */
export interface TurnNews {
  namespace: string;
  turns: readonly string[];
  /** There were more turns than the worker could keep. */
  isPart?: true;
}

/** Sends news to a web inbox. Rejects where it does not arrive. */
export type SendNews = (news: TurnNews) => Promise<void>;

/** A web inbox that gets what models write from the workers, and sends it to everyone who follows the turn. */
export interface StreamPlace {
  /** Its address, such as `http://inbox.example.com:7243`. */
  url: string;
  /** The secret that the web inbox was started with: 16 to 200 characters. */
  token: string;
}

/** What a worker sends to a web inbox: what models write, and which turns have changed. */
export interface StreamSender {
  text: SendText;
  news?: SendNews;
}

/** Limits of the news. Times are in milliseconds. */
export const NEWS = {
  /** The most characters of a name, which is Temporal's own limit. One longer name would have its whole batch refused. */
  characters: 1_000,
  /** The most turns that are named at once. */
  turnsAtOnce: 200,
  /** The most turns that a worker keeps for a web inbox that does not answer. */
  turnsKept: 1_000,
  /**
   * How long a worker waits before it names a turn. A workflow reports before the server has its change, and several
   * turns go together.
   */
  batchMs: 20,
  /** A worker without news says that it is there after so long. */
  beatMs: 5_000,
} as const;

/**
 * What a model writes, while it writes. The text so far is the first `at` characters of the text before, and then
 * `text`. With 0 the text begins anew, as in each attempt. The event `step` has the finished reply.
 */
export interface TextDelta extends Pick<StreamedText, 'runId' | 'step' | 'from' | 'attempt' | 'at' | 'text'> {
  type: 'text';
}

/** Limits of streamed text. Characters are UTF-16 units. */
export const STREAM = {
  /** The most characters of pieces that are sent at once: any such text fits a body of 1 MiB. */
  charactersAtOnce: 100_000,
  /** The most pieces that are sent at once. */
  piecesAtOnce: 200,
  /** The most bytes of a reply's text, as UTF-8. A longer text is cut. A text has no more characters than bytes. */
  textBytes: 512 * 1024,
  /** The least time between two batches, in milliseconds. */
  batchMs: 50,
  /** Characters of the head that the heartbeat has where the text is not streamed. */
  headCharacters: 4_000,
} as const;

/** Whether one stream is of a later attempt than another, or of a later revision of the same attempt. */
export function isLaterStream(
  one: Pick<StreamedText, 'scheduledAt' | 'revision'>,
  other: Pick<StreamedText, 'scheduledAt' | 'revision'>,
): boolean {
  return (
    one.scheduledAt > other.scheduledAt ||
    (one.scheduledAt === other.scheduledAt && one.revision > other.revision)
  );
}
