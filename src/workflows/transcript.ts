import { LIMITS } from '../contract/limits';
import {
  DROPPED_OUTPUT,
  entryBytes,
  type TranscriptEntry,
  type TranscriptPage,
} from '../contract/transcript';

/** The messages the model sees, kept within their limit by dropping the oldest tool outputs. */
export class Transcript {
  private readonly list: TranscriptEntry[];
  private bytes: number;

  constructor(
    entries: readonly TranscriptEntry[] = [],
    private dropped = 0,
  ) {
    this.list = [...entries];
    this.bytes = entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
  }

  /** Index before which outputs are dropped; see `dropOutputs`. */
  get droppedBefore(): number {
    return this.dropped;
  }

  get entries(): readonly TranscriptEntry[] {
    return this.list;
  }

  /** Whether even without old outputs it is over its limit: the turn cannot go on. */
  get full(): boolean {
    return this.bytes > LIMITS.transcriptBytes;
  }

  /** Adds entries. Outputs of older ones are dropped as far as needed, never those just added. */
  add(...entries: TranscriptEntry[]): void {
    const fixed = this.list.length;
    this.list.push(...entries);
    this.bytes += entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
    while (this.full && this.dropped < fixed) this.dropNext();
  }

  private dropNext(): void {
    const entry = this.list[this.dropped];
    if (entry?.kind === 'result' && entry.content !== DROPPED_OUTPUT) {
      const shorter = { ...entry, content: DROPPED_OUTPUT };
      this.bytes -= entryBytes(entry) - entryBytes(shorter);
      this.list[this.dropped] = shorter;
    }
    this.dropped += 1;
  }

  /** Entries from an index on, up to the page limit and at least one. */
  page(first: number): TranscriptPage {
    const from = Math.max(0, first);
    let end = from;
    for (let bytes = 0; end < this.list.length; end++) {
      const entry = this.list[end];
      bytes += entry === undefined ? 0 : entryBytes(entry);
      if (bytes > LIMITS.transcriptPageBytes && end > from) break;
    }
    return { from, entries: this.list.slice(from, end), next: end < this.list.length ? end : null };
  }
}
