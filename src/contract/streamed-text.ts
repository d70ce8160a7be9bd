/**
 * A piece of what a model writes, on its way from the worker to whoever watches. History never has it. Pieces of one
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
  /** How often the model was asked for this step; counts from 1. */
  attempt: number;
  /** When the attempt was scheduled, by the Temporal server's clock; milliseconds since 1970. It orders attempts. */
  scheduledAt: number;
  /** 0; 1 where the finished reply is not what was streamed, which then begins anew. */
  revision: number;
  /** How many characters (UTF-16 units) of the text come before this piece. */
  at: number;
  text: string;
  /** The reply is finished: nothing follows. */
  done?: true;
}

/** A stream that a receiver has less of than it was sent. */
export interface StreamGap extends Pick<StreamedText, 'turn' | 'scheduledAt' | 'revision'> {
  /** How many characters it has. */
  at: number;
}

/** Takes pieces to where people watch, and returns what that place lacks. Rejects where it did not take them. */
export type SendText = (pieces: readonly StreamedText[]) => Promise<readonly StreamGap[]>;

/**
 * What a model writes, while it writes. The text so far is `text` after the first `at` characters of what came before;
 * 0 begins anew, as each attempt does. The event `step` has the finished reply.
 */
export interface TextDelta extends Pick<StreamedText, 'runId' | 'step' | 'from' | 'attempt' | 'at' | 'text'> {
  type: 'text';
}

/** Limits of streamed text. Characters are UTF-16 units. */
export const STREAM = {
  /** The most characters of pieces that are sent at once: a body of 1 MiB holds them, whatever they are. */
  charactersAtOnce: 100_000,
  /** The most pieces that are sent at once. */
  piecesAtOnce: 200,
  /** The most bytes of a reply's text, as UTF-8; what is longer is cut. It has no more characters than bytes. */
  textBytes: 512 * 1024,
  /** The least time between two batches, in milliseconds. */
  batchMs: 50,
  /** Characters of the head that the heartbeat carries where nothing else does. */
  headCharacters: 4_000,
} as const;

/** Whether one stream is of a later attempt, or a later revision of it, than another. */
export function isLaterStream(
  one: Pick<StreamedText, 'scheduledAt' | 'revision'>,
  other: Pick<StreamedText, 'scheduledAt' | 'revision'>,
): boolean {
  return (
    one.scheduledAt > other.scheduledAt ||
    (one.scheduledAt === other.scheduledAt && one.revision > other.revision)
  );
}
