import { bytesOfEntries, entriesOf } from '../../contract/session/conversation';
import { digestText } from '../../contract/digest';
import { defined } from '../../contract/defined';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { messageCheck } from '../../contract/schema/message';
import {
  SESSION_MESSAGE,
  type CarriedSession,
  type SessionInput,
  type SessionSummary,
  type TurnMemory,
} from '../../contract/session';
import type { SessionRef } from '../../contract/think';
import { originIssues } from '../../contract/turn';
import { DROPPED_OUTPUT, isTranscriptEntry, type TranscriptEntry } from '../../contract/transcript';

/** To this part of its limit a memory shrinks: one that shrank is read anew by the next turn. */
const SHRINK_TO = 0.7;

/** What a session remembers of its turns. To stay within its limit it drops the oldest outputs, then the oldest turns. */
export class SessionMemory {
  private turns: TurnMemory[];
  private summary: SessionSummary | undefined;
  private digest = '';
  /** What it held before the last turn, if that is still its beginning. */
  private before: SessionRef['before'];

  constructor(carried: Pick<CarriedSession, 'memory' | 'summary'> = { memory: [] }) {
    this.turns = [...carried.memory];
    this.summary = carried.summary;
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

  add(turn: TurnMemory): void {
    this.before = { count: this.entries.length, digest: this.digest };
    this.turns.push(turn);
    this.digest = digestText(`${this.digest} ${JSON.stringify(turn.entries)}`);
    if (bytesOfEntries(this.entries) > LIMITS.sessionMemoryBytes) this.shrink();
  }

  private shrink(): void {
    const most = LIMITS.sessionMemoryBytes * SHRINK_TO;
    let bytes = bytesOfEntries(this.entries);
    this.turns = this.turns.map((turn, index) => {
      if (bytes <= most || index === this.turns.length - 1) return turn;
      const entries = turn.entries.map(withoutOutput);
      bytes -= bytesOfEntries(turn.entries) - bytesOfEntries(entries);
      return { ...turn, entries };
    });
    let out = 0;
    for (const turn of this.turns.slice(0, -1)) {
      if (bytes <= most) break;
      bytes -= bytesOfEntries(turn.entries);
      out += 1;
    }
    if (out > 0) this.leaveOut(out);
    this.name();
  }

  /** Leaves out the oldest turns, and says so. */
  private leaveOut(count: number): void {
    const turns = (this.summary?.turns ?? 0) + count;
    const text = `[The first ${turns} turns of this conversation are left out: it was over its limit]`;
    this.turns = this.turns.slice(count);
    this.summary = { text, turns };
  }

  /** Names what did not grow from what was there before. */
  private name(): void {
    this.before = undefined;
    this.digest = digestText(JSON.stringify(this.entries));
  }
}

function withoutOutput(entry: TranscriptEntry): TranscriptEntry {
  return entry.kind === 'result' && entry.content.length > DROPPED_OUTPUT.length
    ? { ...entry, content: DROPPED_OUTPUT }
    : entry;
}

const messageIssues = messageCheck(SESSION_MESSAGE);

/** Whether a workflow was started with what a session needs. Anybody may start one with anything. Never throws. */
export function isSessionInput(value: unknown): value is SessionInput {
  if (!isObject(value)) return false;
  const { agent, origin, carried } = value;
  if (typeof agent !== 'string' || agent === '') return false;
  if (origin !== undefined && originIssues(origin).length > 0) return false;
  return carried === undefined || isCarriedSession(carried);
}

function isCarriedSession(value: unknown): value is CarriedSession {
  if (!isObject(value)) return false;
  const { turns, memory, summary, waiting, known, paused } = value;
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
