import { LRUCache } from 'lru-cache';
import { LIMITS } from '../contract/limits';
import { entryBytes, type TranscriptEntry } from '../contract/transcript';

/** A conversation as this worker last saw it: everything up to and including one reply. */
export interface Remembered {
  replyId: string;
  entries: readonly TranscriptEntry[];
  bytes: number;
}

/**
 * Texts this worker has seen, so that they need not be sent again. Forgetting is always safe: what is missing is read
 * from the turn. Least recently used out first, by bytes; entries are never changed.
 */
export interface Memory {
  /** The conversation of a run, if it ends with this reply. */
  transcript(run: string, replyId: string): Remembered | undefined;
  remember(run: string, remembered: Remembered): void;
  /** Content of a result by its digest. */
  content(digest: string): string | undefined;
  keepContent(digest: string, content: string): void;
}

/** Makes a memory of at most `maxBytes`. */
export function createMemory(maxBytes: number = LIMITS.workerMemoryBytes): Memory {
  const transcripts = new LRUCache<string, Remembered>({
    maxSize: maxBytes,
    sizeCalculation: (value) => Math.max(1, value.bytes),
  });
  const contents = new LRUCache<string, string>({
    maxSize: maxBytes,
    sizeCalculation: (text) => text.length * 2 + 1,
  });
  return {
    transcript(run, replyId) {
      const found = transcripts.get(run);
      return found?.replyId === replyId ? found : undefined;
    },
    remember: (run, remembered) => void transcripts.set(run, remembered),
    content: (digest) => contents.get(digest),
    keepContent: (digest, content) => void contents.set(digest, content),
  };
}

/** Bytes of entries, as the memory counts them. */
export function bytesOf(entries: readonly TranscriptEntry[]): number {
  return entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
}

/** Every step has the entries of those before it: counting them anew would cost more the longer a turn is. */
const sizes = new WeakMap<TranscriptEntry, number>();

function sizeOf(entry: TranscriptEntry): number {
  const known = sizes.get(entry);
  if (known !== undefined) return known;
  const size = entryBytes(entry);
  sizes.set(entry, size);
  return size;
}
