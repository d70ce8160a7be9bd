import type { CancellationScope } from '@temporalio/workflow';
import { defined } from '../contract/defined';
import { LIMITS } from '../contract/limits';
import { type ForkOrigin, originOf } from '../contract/fork';
import type { Order } from '../contract/tool';
import type { ResultRef, ThinkOutput, Usage } from '../contract/think';
import type { TurnCounts, TurnInput } from '../contract/turn';
import { type ApprovalContext, makeApprovals } from './approvals/state';
import type { TurnOrigin } from '../contract/call';
import type { ChangeNotifier } from './changes';
import type { MessageQueue } from './message-queue';
import type { Publisher } from './publish';
import { StateHolders } from './state-holders';
import {
  cutContent,
  dropOutput,
  entryBytes,
  fairShare,
  jsonBytes,
  type TranscriptEntry,
  type TranscriptPage,
} from '../contract/transcript';

type ResultEntry = Extract<TranscriptEntry, { kind: 'result' }>;

/** The messages that the model sees. To stay within its limit it drops the oldest tool outputs, then cuts the largest new ones. */
export class Transcript {
  private readonly list: TranscriptEntry[];
  private bytes: number;

  constructor(
    entries: readonly TranscriptEntry[] = [],
    private dropped = 0,
  ) {
    this.list = [...entries];
    this.bytes = bytesOf(entries);
  }

  /** Index before which outputs are dropped; see `dropOutputs`. */
  get droppedBefore(): number {
    return this.dropped;
  }

  get entries(): readonly TranscriptEntry[] {
    return this.list;
  }

  /** Whether it is over its limit, even with old outputs dropped and new ones cut: then words and replies alone fill it. */
  get full(): boolean {
    return this.bytes > LIMITS.transcriptBytes;
  }

  /** Adds entries. Drops outputs of older entries as far as needed, never of these. */
  add(...entries: TranscriptEntry[]): void {
    const fixed = this.list.length;
    this.list.push(...entries);
    this.bytes += bytesOf(entries);
    while (this.full && this.dropped < fixed) this.dropNext();
  }

  /**
   * Adds the results of a step. Where dropping all older outputs is not enough, it cuts the largest of these.
   *
   * @returns the most bytes that each result kept; undefined where all are whole.
   */
  addResults(results: readonly ResultEntry[]): number | undefined {
    this.add(...results);
    if (!this.full) return undefined;
    const sizes = results.map(({ content }) => jsonBytes(content));
    const room = sizes.reduce((sum, size) => sum + size, 0) - (this.bytes - LIMITS.transcriptBytes);
    const cutTo = fairShare(sizes, room);
    const cut = results.map((entry) => ({ ...entry, content: cutContent(entry.content, cutTo) }));
    this.bytes += bytesOf(cut) - bytesOf(results);
    this.list.splice(-results.length, results.length, ...cut);
    return cutTo;
  }

  private dropNext(): void {
    const entry = this.list[this.dropped];
    const shorter = entry && dropOutput(entry);
    if (entry !== undefined && shorter !== undefined && shorter !== entry) {
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

function bytesOf(entries: readonly TranscriptEntry[]): number {
  return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
}

/** The state of one run of a turn. Message handlers and the main loop change it; `markChanged` wakes who waits. */
export interface Turn extends ApprovalContext {
  readonly agent: string;
  readonly prompt: string;
  readonly originalRunId: string;
  readonly origin?: TurnOrigin;
  /** Only in a fork. */
  readonly fork?: ForkOrigin;
  /** The step that a fork begins with, until it is applied. */
  given?: ThinkOutput;
  step: number;
  maxSteps: number;
  order: Order;
  transcript: Transcript;
  /** Results of the last step, for the next `think`. */
  results: ResultRef[];
  /** The most bytes of each of them in the transcript; undefined: they are whole. */
  cutTo: number | undefined;
  counts: TurnCounts;
  usage: Usage;
  /** Who holds the state that its calls share. */
  states: StateHolders;
}

/** A turn at its start, or as the run before left it. */
export function makeTurn(input: TurnInput, originalRunId: string): Turn {
  const { carried } = input;
  return {
    agent: input.agent,
    prompt: input.prompt,
    originalRunId,
    ...defined({ origin: input.origin }),
    ...forkOf(input),
    step: carried?.step ?? 0,
    maxSteps: LIMITS.stepsPerTurn,
    order: 'lane',
    stepKey: '',
    approvals: makeApprovals(carried?.spent),
    transcript: new Transcript(carried?.transcript, carried?.droppedBefore),
    results: carried?.results ?? [],
    cutTo: carried?.cutTo,
    counts: carried?.counts ?? noCounts(),
    usage: carried?.usage ?? {},
    states: new StateHolders(carried?.states),
    signalVerdicts: carried?.signalVerdicts ?? [],
    signalCount: 0,
    signalsWaiting: 0,
    revision: 0,
  };
}

function forkOf({ fork }: TurnInput): Pick<Turn, 'fork' | 'given'> {
  if (fork === undefined) return {};
  const { given } = fork;
  return { fork: originOf(fork), ...defined({ given }) };
}

/** Counts of a turn that has done nothing yet. */
function noCounts(): TurnCounts {
  return { calls: 0, failed: 0, requests: 0, denied: 0, modified: 0, expired: 0, inDoubt: 0 };
}

/** The parts of a turn that its steps use. The steps run in a scope that is cancelled with the turn. */
export interface TurnRuntime {
  /** The scope that stays when the turn is cancelled. */
  nonCancellable: CancellationScope;
  publisher: Publisher;
  changes: ChangeNotifier;
  queue: MessageQueue;
}
