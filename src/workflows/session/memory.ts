import { bytesOfEntries, digestAfter, entriesOf } from '../../contract/session/conversation';
import { digestText } from '../../contract/digest';
import { defined } from '../../contract/defined';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { estimatedTokens } from '../../contract/spending/usage';
import { messageCheck, soundCheck } from '../../contract/schema/message';
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
import { DROPPED_OUTPUT, isTranscriptEntry, type TranscriptEntry } from '../../contract/transcript';

/** To this part of its limit a memory shrinks: one that shrank is read anew by the next turn. */
const SHRINK_TO = 0.7;

/** So full it may be before turns are summarized: with one more turn it is still within its limit. */
const COMPACT_AT = estimatedTokens(0.8 * LIMITS.sessionMemoryBytes);

/** The newest turns stay word by word, as many as take this part of what is allowed. */
const KEEP = 0.4;

/** Summarizing less than this part of what is allowed gains too little. */
const LEAST = 0.1;

/** The oldest turns, which a summary is to replace; with what was summarized before, so many entries. */
export interface OldestPart {
  turns: number;
  entries: number;
}

/**
 * What a session remembers of its turns. Before it is too long for the model, a summary takes the place of the oldest turns.
 * Without one it drops the oldest outputs, and, to stay within its own limit, the oldest turns.
 */
export class SessionMemory {
  private turns: TurnMemory[];
  private summary: ConversationSummary | undefined;
  private digest = '';
  /** About how many tokens the next turn begins with. */
  private tokens: number;
  /** What it held before the last turn, if that is still its beginning. */
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

  /** How a turn names what was said before it. */
  get ref(): Pick<SessionRef, 'count' | 'digest' | 'before'> {
    const { digest, before } = this;
    return { count: this.entries.length, digest, ...defined({ before }) };
  }

  /** What the next run has to know. */
  get carried(): Pick<CarriedSession, 'memory' | 'summary'> {
    const { turns: memory, summary } = this;
    return { memory, ...defined({ summary }) };
  }

  /** @param counted What the provider counted for the conversation before this turn; absent: it is estimated. */
  add(turn: TurnMemory, counted?: number): void {
    this.tokens = (counted ?? tokensIn(this.entries)) + tokensIn(turn.entries);
    this.before = { count: this.entries.length, digest: this.digest };
    this.turns.push(turn);
    this.digest = digestAfter(this.digest, turn.entries);
    if (this.bytes > LIMITS.sessionMemoryBytes) this.shrink();
  }

  /** The turns that are to be summarized, where the conversation takes more than so many tokens; undefined: none. */
  oldest(over: number, tokens = this.tokens): OldestPart | undefined {
    const most = Math.min(over, COMPACT_AT);
    if (tokens <= most) return undefined;
    const kept = this.newest(most * KEEP);
    const replaced = this.turns.slice(0, this.turns.length - kept);
    const gain = replaced.reduce((sum, turn) => sum + tokensIn(turn.entries), 0);
    return gain < most * LEAST ? undefined : this.part(replaced.length);
  }

  /** All turns but the last one; undefined: there is nothing to summarize. */
  get allButLast(): OldestPart | undefined {
    return this.turns.length < 2 ? undefined : this.part(this.turns.length - 1);
  }

  /** How many turns it has word by word. */
  get turnsKept(): number {
    return this.turns.length;
  }

  /** Puts a summary in the place of the oldest turns, and of what stood for turns before them. */
  compact({ turns }: OldestPart, { text, model }: Pick<CompactOutput, 'text' | 'model'>): void {
    this.turns = this.turns.slice(turns);
    this.summary = { text, turns: (this.summary?.turns ?? 0) + turns, model };
    this.name();
  }

  /** Without a summary: the oldest outputs are dropped until the conversation is about so many tokens again. */
  dropOutputs(over: number): void {
    const before = this.bytes;
    const allowed = before * Math.min(1, over / this.tokens);
    this.withoutOutputs(allowed * SHRINK_TO);
    this.name();
  }

  /** How many of the last turns take at most so many tokens; at least one. */
  private newest(most: number): number {
    let left = most;
    const out = this.turns.toReversed().findIndex(({ entries }) => (left -= tokensIn(entries)) < 0);
    return out === -1 ? this.turns.length : Math.max(1, out);
  }

  /** As it goes along to the next run, ids and what each turn took up included. */
  private get bytes(): number {
    const summary = utf8Bytes(JSON.stringify(this.summary ?? null));
    return this.turns.reduce((sum, turn) => sum + bytesOfTurn(turn), summary);
  }

  private part(turns: number): OldestPart {
    const before = entriesOf({ memory: [], summary: this.summary }).length;
    const entries = this.turns.slice(0, turns).reduce((sum, turn) => sum + turn.entries.length, before);
    return { turns, entries };
  }

  private shrink(): void {
    const most = LIMITS.sessionMemoryBytes * SHRINK_TO;
    let bytes = this.withoutOutputs(most);
    let out = 0;
    for (const turn of this.turns.slice(0, -1)) {
      if (bytes <= most) break;
      bytes -= bytesOfTurn(turn);
      out += 1;
    }
    if (out > 0) this.leaveOut(out);
    this.name();
  }

  /** Drops the oldest outputs until it takes at most so many bytes; says how many it takes then. */
  private withoutOutputs(most: number): number {
    let { bytes } = this;
    this.turns = this.turns.map((turn, index) => {
      if (bytes <= most || index === this.turns.length - 1) return turn;
      const entries = turn.entries.map(withoutOutput);
      bytes -= bytesOfEntries(turn.entries) - bytesOfEntries(entries);
      return { ...turn, entries };
    });
    return bytes;
  }

  /** Leaves out the oldest turns, and says so. */
  private leaveOut(count: number): void {
    const { text = '', turns = 0, leftOut = 0, model } = this.summary ?? {};
    this.turns = this.turns.slice(count);
    this.summary = { text, turns: turns + count, leftOut: leftOut + count, ...defined({ model }) };
  }

  /** Names what did not grow from what was there before. */
  private name(): void {
    this.before = undefined;
    this.digest = digestText(JSON.stringify(this.entries));
  }
}

function bytesOfTurn(turn: TurnMemory): number {
  return utf8Bytes(JSON.stringify(turn));
}

function tokensIn(entries: readonly TranscriptEntry[]): number {
  return estimatedTokens(bytesOfEntries(entries));
}

function withoutOutput(entry: TranscriptEntry): TranscriptEntry {
  return entry.kind === 'result' && entry.content.length > DROPPED_OUTPUT.length
    ? { ...entry, content: DROPPED_OUTPUT }
    : entry;
}

const spendingIssues = soundCheck(SPENDING);
const statesIssues = soundCheck(CARRIED_STATES);
const messageIssues = messageCheck(SESSION_MESSAGE);

/** Whether a workflow was started with what a session needs. Anybody may start one with anything. Never throws. */
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

function isTurnMemory(value: unknown): boolean {
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
