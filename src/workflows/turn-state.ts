import type { CancellationScope } from '@temporalio/workflow';
import { LIMITS } from '../contract/limits';
import { type ForkOrigin, originOf } from '../contract/fork';
import type { Order } from '../contract/tool';
import type { Usage } from '../contract/spending/usage';
import type { GateMode, MovedStep, ResultRef, SessionRef, ThinkOutput } from '../contract/think';
import type { TurnWords } from '../contract/session';
import { type CarriedSpending, NOTHING_REPEATED, type Repeated } from '../contract/spending/carried';
import {
  type CarriedTurn,
  type GivenCall,
  noCounts,
  type TurnCounts,
  type TurnInput,
  type TurnResult,
} from '../contract/turn';
import type { ResultStatus } from '../contract/turn-states';
import type { ENDINGS } from '../contract/call-texts';
import { type Amounts, type Budget, noSpending, smallerOf } from '../contract/spending/budget';
import { makeApprovals } from '../lifecycle/state';
import type { ApprovalContext } from './call-life';
import type { TurnOrigin, Ancestor, PreparedCall } from '../contract/call';
import type { ChangeNotifier } from './changes';
import type { MessageQueue } from './message-queue';
import type { StepObserver } from './observe';
import type { Publisher } from './publish';
import { StateHolders } from './state-holders';
import {
  bytesOfEntries,
  cutContent,
  dropOutput,
  entryBytes,
  fairShare,
  pageOf,
  type TranscriptEntry,
  type TranscriptPage,
  wordsEntry,
} from '../contract/transcript';
import type { JsonObject } from '../contract/json';
import { jsonBytes } from '../contract/text/bytes';

/**
 * The messages that the model sees. When the transcript is over its limit, it drops the oldest tool outputs, then cuts
 * the largest new ones.
 */
export class Transcript {
  private readonly list: TranscriptEntry[];
  private bytes: number;

  constructor(
    entries: readonly TranscriptEntry[] = [],
    private dropped = 0,
  ) {
    this.list = [...entries];
    this.bytes = bytesOfEntries(entries);
  }

  /** The index before which outputs are dropped. See `dropOutputs`. */
  get droppedBefore(): number {
    return this.dropped;
  }

  get entries(): readonly TranscriptEntry[] {
    return this.list;
  }

  /** Bytes of all messages. */
  get size(): number {
    return this.bytes;
  }

  /**
   * Whether the transcript is over its limit although old outputs are dropped and new ones are cut. Words and replies
   * alone then fill it.
   */
  get full(): boolean {
    return this.bytes > LIMITS.transcriptBytes;
  }

  /** Whether there is room for these words, with some room left for replies. */
  hasRoomFor(text: string): boolean {
    return this.bytes + jsonBytes(text) <= LIMITS.transcriptBytes / 2;
  }

  /** Adds entries. To make room it drops outputs of older entries, never of the new entries. */
  add(...entries: TranscriptEntry[]): void {
    const fixed = this.list.length;
    this.list.push(...entries);
    this.bytes += bytesOfEntries(entries);
    while (this.full && this.dropped < fixed) this.dropNext();
  }

  /**
   * Adds the results of a step. If dropping all older outputs is not enough, the largest new results are cut.
   *
   * @returns the most bytes that each result kept. Undefined if all are whole.
   */
  addResults(results: readonly Extract<TranscriptEntry, { kind: 'result' }>[]): number | undefined {
    this.add(...results);
    if (!this.full) return undefined;
    const sizes = results.map(({ content }) => jsonBytes(content));
    const room = sizes.reduce((sum, size) => sum + size, 0) - (this.bytes - LIMITS.transcriptBytes);
    const cutTo = fairShare(sizes, room);
    const cut = results.map((entry) => ({ ...entry, content: cutContent(entry.content, cutTo) }));
    this.bytes += bytesOfEntries(cut) - bytesOfEntries(results);
    this.list.splice(-results.length, results.length, ...cut);
    return cutTo;
  }

  /** Drops the outputs of the entries before an index. */
  dropBefore(index: number): void {
    while (this.dropped < Math.min(index, this.list.length)) this.dropNext();
  }

  private dropNext() {
    const entry = this.list[this.dropped];
    const shorter = entry && dropOutput(entry);
    if (entry !== undefined && shorter !== undefined && shorter !== entry) {
      this.bytes -= entryBytes(entry) - entryBytes(shorter);
      this.list[this.dropped] = shorter;
    }
    this.dropped += 1;
  }

  /** The entries from an index on, up to the page limit. At least one entry. */
  page(first: number): TranscriptPage {
    return pageOf(this.list, first);
  }
}

/**
 * The state of one run of a turn. Message handlers and the main loop change it. `markChanged` wakes the step or the
 * publisher.
 */
export interface Turn extends ApprovalContext {
  readonly agent: string;
  readonly originalRunId: string;
  /** The origin of the turn, with everybody whose words the turn has taken up. */
  origin?: TurnOrigin;
  /** The calls that led to this turn, from the first turn on. Empty if no call started this turn. */
  readonly lineage: readonly Ancestor[];
  /** The part of its parent's budget that the turn may use. */
  readonly cap: Budget;
  /** The turn's own budget, and what the turn has spent. */
  spending: CarriedSpending;
  /** The budget of the session, and what the session's earlier turns have spent. Only in a turn of a session. */
  ofSession: CarriedSpending | undefined;
  /** The number of child turns that the turn has started. */
  children: number;
  /** The budget that is put aside for each child turn of the step, and the number of child turns before it, by call. */
  readonly reserved: Map<string, { given: Amounts; before: number }>;
  /** The last steps that were alike. */
  repeated: Repeated;
  /**
   * After this many equal steps, the calls of the next equal step do not run. Undefined: any number of steps may be
   * equal.
   */
  repeats: number | undefined;
  /** Set if the last reply says that the next steps are taken in bursts. Undefined: each step is an activity. */
  gate: GateMode | undefined;
  /** See `TurnRecord`. */
  window: NonNullable<CarriedTurn['window']>;
  /** Only in a fork. */
  readonly fork?: ForkOrigin;
  /** The call that the turn was started with. Undefined: a model asks for calls. */
  readonly call: GivenCall | undefined;
  /** The step that a fork begins with, until it is applied. */
  given?: ThinkOutput;
  /** The record of the requests to models for the next step so far. Set if asking failed at the end of a burst. */
  tried?: JsonObject;
  /** The step that was taken along from another build, until the turn takes it up. */
  moved?: MovedStep;
  /** Whether somebody asked the turn to move to the current build. */
  isMoving: boolean;
  /** The step in which the turn had too much to carry to another build. */
  tooLargeIn?: number;
  step: number;
  /** The length of history in the workflow task that brought the reply of the step. 0: it came with the input. */
  stepTask: number;
  maxSteps: number;
  order: Order;
  transcript: Transcript;
  /** Results of the last step, for the next `think`. */
  results: ResultRef[];
  /** The most bytes of each of these results in the transcript. Undefined: the results are whole. */
  cutTo: number | undefined;
  counts: TurnCounts;
  usage: Usage;
  /** Which worker holds the state that the turn's calls share. */
  states: StateHolders;
  /** Only in a turn of a session. */
  readonly session?: SessionRef;
  /**
   * A person's new words: the words that wait for the next `think`, and the message ids of the words that were taken
   * up.
   */
  words: { waiting: TurnWords[]; took: string[] };
}

/** A turn at its start, or as the previous run left it. */
export function makeTurn(input: TurnInput, originalRunId: string): Turn {
  const { carried } = input;
  return {
    agent: input.agent,
    originalRunId,
    origin: input.origin,
    ...forkOf(input),
    call: input.call,
    lineage: input.lineage ?? [],
    cap: input.cap ?? {},
    spending: carried?.spending ?? unspent(input.budget),
    // A fork does not belong to a session. The spending of the turn counts nowhere else.
    ofSession:
      input.session === undefined || input.fork !== undefined
        ? undefined
        : { ...(input.sessionSpending ?? unspent()) },
    children: carried?.children ?? 0,
    reserved: new Map(),
    repeated: carried?.repeated ?? NOTHING_REPEATED,
    repeats: undefined,
    gate: undefined,
    window: carried?.window ?? {},
    isMoving: false,
    session: input.session,
    moved: carried?.moved,
    step: carried?.step ?? 0,
    maxSteps: LIMITS.stepsPerTurn,
    order: 'lane',
    stepKey: '',
    stepTask: 0,
    approvals: makeApprovals(carried?.spent),
    transcript: new Transcript(beginningOf(input), carried?.droppedBefore),
    results: carried?.results ?? [],
    cutTo: carried?.cutTo,
    counts: carried?.counts ?? noCounts(),
    usage: carried?.usage ?? {},
    states: new StateHolders(carried === undefined ? input.sessionStates : carried.states),
    words: { waiting: [...(carried?.words?.waiting ?? [])], took: [...(carried?.words?.took ?? [])] },
    signalVerdicts: carried?.signalVerdicts ?? [],
    signalCount: 0,
    signalsWaiting: 0,
    revision: 0,
  };
}

/** The transcript of the previous run, or the prompt. */
function beginningOf({ prompt, files, carried }: TurnInput): readonly TranscriptEntry[] {
  const before = carried?.transcript ?? [];
  return before.length > 0 ? before : [wordsEntry({ text: prompt, files })];
}

/** Whether the turn begins with a step whose calls wait already: the step comes from another build. */
export function beginsOpen({ moved }: Turn): boolean {
  return moved !== undefined;
}

function unspent(budget?: Budget): CarriedSpending {
  return { budget: smallerOf(undefined, budget), isSet: false, spent: noSpending() };
}

function forkOf({ fork }: TurnInput): Pick<Turn, 'fork' | 'given'> {
  if (fork === undefined) return {};
  const { given } = fork;
  return { fork: originOf(fork), given };
}

/** The parts that the steps of a turn use. The steps run in a scope that is cancelled with the turn. */
export interface TurnRuntime {
  /** The scope that is not cancelled with the turn. */
  nonCancellable: CancellationScope;
  publisher: Publisher;
  observer: StepObserver;
  changes: ChangeNotifier;
  queue: MessageQueue;
}

/** Why a turn ends although its model has not answered. */
export interface TurnEnding {
  status: ResultStatus;
  why?: string;
}

/** A step whose calls are open. */
export interface OpenStep {
  reply: ThinkOutput;
  /** The input of the next run, if the turn goes on in it now. */
  nextInput(more: Partial<CarriedTurn>): TurnInput;
}

/** What a feature does at the steps of a turn. */
export interface StepHook {
  /** Before the model is asked for a step. */
  before?(turn: Turn, runtime: TurnRuntime): Promise<TurnEnding | undefined> | undefined;
  /** When a reply asks for no calls: whether the turn goes on all the same. */
  goesOn?(turn: Turn): boolean;
  /** When a reply asks for calls: why none of them runs. */
  closes?(turn: Turn, calls: readonly PreparedCall[]): keyof typeof ENDINGS | undefined;
  /** While calls are open: what to do now. */
  during?(turn: Turn, runtime: TurnRuntime, step: OpenStep): (() => Promise<void>) | undefined;
  /** When all calls of a step have their results. */
  after?(turn: Turn, calls: readonly PreparedCall[]): TurnEnding | undefined;
  /** When the turn goes on in another run: what that run gets. */
  carry?(turn: Turn): Partial<CarriedTurn>;
}

/** The workflow of turns. */
export type TurnWorkflow = (input: TurnInput) => Promise<TurnResult>;
