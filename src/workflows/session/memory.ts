import { digestAfter } from '../../contract/session/conversation';
import { digestText } from '../../contract/digest';
import { isObject } from '../../contract/json';
import { LEAST_TO_SUMMARIZE, LIMITS } from '../../contract/limits';
import { estimatedTokens } from '../../contract/spending/usage';
import { soundCheck } from '../../contract/schema/message';
import { CARRIED_STATES } from '../../contract/tool';
import { budgetIssues } from '../../contract/spending/budget';
import { SPENDING } from '../../contract/spending/carried';
import {
  SESSION_MESSAGE,
  type CarriedSession,
  type CompactOutput,
  type SessionInput,
  type ConversationSummary,
  type TurnMemory,
} from '../../contract/session';
import type { SessionRef } from '../../contract/think';
import { originIssues } from '../../contract/turn';
import { utf8Bytes } from '../../contract/text/bytes';
import {
  bytesOfEntries,
  isTranscriptEntry,
  type TranscriptEntry,
  withoutOutput,
} from '../../contract/transcript';
import {
  compactionLimit,
  type OldestPart,
  shrunkSize,
  turnsToLeaveOut,
  turnsToSummarize,
} from './compaction';

/**
 * What a session remembers of its turns. Before the memory is too long for the model, a summary replaces the oldest
 * turns. Without a summary the memory drops the oldest outputs and, to stay within its own limit, the oldest turns.
 */
export class SessionMemory {
  private turns: TurnMemory[];
  private summary: ConversationSummary | undefined;
  private digest = '';
  /** About how many tokens the next turn begins with. */
  private tokens: number;
  /** The memory before the last turn. Undefined if the memory no longer begins with it. */
  private before: SessionRef['before'];

  constructor(carried: Pick<CarriedSession, 'memory' | 'summary'> = { memory: [] }) {
    this.turns = [...carried.memory];
    this.summary = carried.summary;
    this.tokens = tokensIn(this.entries);
    this.name();
  }

  /** The conversation so far, as a model reads it. */
  get entries(): TranscriptEntry[] {
    return entriesOf({ memory: this.turns, summary: this.summary });
  }

  /** The reference by which a turn names the conversation before it. */
  get ref(): Pick<SessionRef, 'count' | 'digest' | 'before'> {
    const { digest, before } = this;
    return { count: this.entries.length, digest, before };
  }

  /** The memory in the form in which the next run takes it up. */
  get carried(): Pick<CarriedSession, 'memory' | 'summary'> {
    const { turns: memory, summary } = this;
    return { memory, summary };
  }

  /**
   * @param counted The tokens that the provider counted for the conversation before this turn. Absent: they are
   * estimated.
   * @param shortened See `TurnRecord`.
   */
  add(turn: TurnMemory, { counted, shortened }: { counted?: number; shortened?: true } = {}): void {
    if (shortened === true) {
      this.turns = this.turns.map(bare);
      this.name();
    }
    this.tokens = (counted ?? tokensIn(this.entries)) + tokensIn(turn.entries);
    this.before = { count: this.entries.length, digest: this.digest };
    this.turns.push(turn);
    this.digest = digestAfter(this.digest, turn.entries);
    if (this.bytes > LIMITS.sessionMemoryBytes) this.shrink();
  }

  /** The turns that are to be summarized if the conversation has more than `over` tokens. Undefined: none. */
  oldest(over: number): OldestPart | undefined {
    const limit = compactionLimit(over);
    if (this.tokens <= limit) return undefined;
    const sizes = this.turns.map(({ entries }) => tokensIn(entries));
    const count = turnsToSummarize(sizes, limit);
    return count === 0 ? undefined : this.part(count);
  }

  /** All turns but the last. Undefined: there is nothing to summarize. */
  get allButLast(): OldestPart | undefined {
    return this.turns.length < LEAST_TO_SUMMARIZE ? undefined : this.part(this.turns.length - 1);
  }

  /** The number of turns that the memory has word by word. */
  get turnsKept(): number {
    return this.turns.length;
  }

  /** Replaces the oldest turns, and any earlier summary, by a summary. */
  compact({ turns }: OldestPart, { text, model }: Pick<CompactOutput, 'text' | 'model'>): void {
    this.turns = this.turns.slice(turns);
    this.summary = { text, turns: (this.summary?.turns ?? 0) + turns, model };
    this.name();
  }

  /** Without a summary, drops the oldest outputs so that the conversation is well below `over` tokens again. */
  dropOutputs(over: number): void {
    const before = this.bytes;
    const allowed = before * Math.min(1, over / this.tokens);
    this.withoutOutputs(shrunkSize(allowed));
    this.name();
  }

  /** The bytes of the memory as it goes to the next run, with the ids and the messages that each turn took up. */
  private get bytes() {
    const summary = utf8Bytes(JSON.stringify(this.summary ?? null));
    return this.turns.reduce((sum, turn) => sum + bytesOfTurn(turn), summary);
  }

  private part(turns: number): OldestPart {
    const before = entriesOf({ memory: [], summary: this.summary }).length;
    const entries = this.turns.slice(0, turns).reduce((sum, turn) => sum + turn.entries.length, before);
    return { turns, entries };
  }

  private shrink() {
    const most = shrunkSize(LIMITS.sessionMemoryBytes);
    const excess = this.withoutOutputs(most) - most;
    const out = turnsToLeaveOut(this.turns.map(bytesOfTurn), excess);
    if (out > 0) this.leaveOut(out);
    this.name();
  }

  /** Drops the oldest outputs until the memory takes at most `most` bytes. Returns its size after that. */
  private withoutOutputs(most: number) {
    let { bytes } = this;
    this.turns = this.turns.map((turn, index) => {
      if (bytes <= most || index === this.turns.length - 1) return turn;
      const shorter = bare(turn);
      bytes -= bytesOfEntries(turn.entries) - bytesOfEntries(shorter.entries);
      return shorter;
    });
    return bytes;
  }

  /** Leaves out the oldest turns, and notes their number in the summary. */
  private leaveOut(count: number) {
    const { text = '', turns = 0, leftOut = 0, model } = this.summary ?? {};
    this.turns = this.turns.slice(count);
    this.summary = { text, turns: turns + count, leftOut: leftOut + count, model };
  }

  /** Makes a new reference for a memory that no longer begins with its former content. */
  private name() {
    this.before = undefined;
    this.digest = digestText(JSON.stringify(this.entries));
  }
}

function bytesOfTurn(turn: TurnMemory) {
  return utf8Bytes(JSON.stringify(turn));
}

function tokensIn(entries: readonly TranscriptEntry[]) {
  return estimatedTokens(bytesOfEntries(entries));
}

/** A turn without its outputs. */
function bare(turn: TurnMemory): TurnMemory {
  return { ...turn, entries: turn.entries.map(withoutOutput) };
}

const spendingIssues = soundCheck(SPENDING);
const statesIssues = soundCheck(CARRIED_STATES);
const messageIssues = soundCheck(SESSION_MESSAGE);

/**
 * Whether a workflow was started with the input that a session needs. Anybody may start one with any input. Never
 * throws.
 */
export function isSessionInput(value: unknown): value is SessionInput {
  if (!isObject(value)) return false;
  const { agent, origin, budget, carried } = value;
  if (typeof agent !== 'string' || agent === '') return false;
  if (budget !== undefined && budgetIssues(budget).length > 0) return false;
  if (origin !== undefined && originIssues(origin).length > 0) return false;
  return carried === undefined || isCarriedSession(carried);
}

function isCarriedSession(value: unknown): value is CarriedSession {
  if (!isObject(value)) return false;
  const { turns, memory, summary, waiting, known, paused, spending, states } = value;
  if (spending !== undefined && spendingIssues(spending).length > 0) return false;
  if (states !== undefined && statesIssues(states).length > 0) return false;
  const isWhole = Number.isSafeInteger(turns) && Number(turns) >= 0 && typeof paused === 'boolean';
  const isSummary =
    summary === undefined ||
    (isObject(summary) && typeof summary['text'] === 'string' && Number.isSafeInteger(summary['turns']));
  if (!isWhole || !isSummary || !Array.isArray(memory) || !Array.isArray(waiting) || !Array.isArray(known))
    return false;
  return (
    memory.every(isTurnMemory) &&
    waiting.every(
      (one) => isObject(one) && typeof one['at'] === 'string' && messageIssues(withoutTime(one)).length === 0,
    ) &&
    known.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isText))
  );
}

function withoutTime({ at: _at, ...message }: Record<string, unknown>): unknown {
  return message;
}

function isTurnMemory(value: unknown) {
  if (!isObject(value)) return false;
  const { entries, took, turn, status, messageId } = value;
  return (
    [turn, status, messageId].every(isText) &&
    Array.isArray(took) &&
    took.every(isText) &&
    Array.isArray(entries) &&
    entries.every(isTranscriptEntry)
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** The conversation before the next turn, as its model reads it. */
function entriesOf({
  memory,
  summary,
}: Pick<CarriedSession, 'memory'> & { summary?: ConversationSummary }): TranscriptEntry[] {
  const before = summary === undefined ? [] : summaryWords(summary);
  return [
    ...before.map((text): TranscriptEntry => ({ kind: 'words', text })),
    ...memory.flatMap(({ entries }) => entries),
  ];
}

/** The texts that the model reads in place of turns whose words are no longer kept. */
function summaryWords({ text, turns, leftOut = 0 }: ConversationSummary) {
  const some = (count: number, which: string) =>
    count === 1
      ? `The ${which} turn of this conversation`
      : `The ${which} ${count} turns of this conversation`;
  const verb = (count: number): string => (count === 1 ? 'is' : 'are');
  const kept = turns - leftOut;
  const summary =
    text === ''
      ? []
      : [`[${some(kept, 'first')} ${verb(kept)} kept only in this summary of yours:]\n${text}`];
  const note = `[${some(leftOut, text === '' ? 'first' : 'next')} ${verb(leftOut)} left out: the conversation was over its limit]`;
  return leftOut === 0 ? summary : [...summary, note];
}
