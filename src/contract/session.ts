import type { TurnOrigin } from './call';
import {
  cutContent,
  DROPPED_OUTPUT,
  entryBytes,
  isTranscriptEntry,
  jsonBytes,
  type TranscriptEntry,
} from './transcript';
import type { MessageOf, MessageSchema } from './schema/message';
import { isObject } from './json';
import { LIMITS } from './limits';

/** What a message does while a turn runs; without one each starts the next turn. */
export const MODES = ['queue', 'interrupt', 'steer'] as const;
export type MessageMode = (typeof MODES)[number];

const id = { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,64}$' } as const;
const name = { type: 'string', minLength: 1, maxLength: 200, pattern: '^[^\\p{C}\\p{Zl}\\p{Zp}]*$' } as const;

/** What a person says in a session; payload of update and signal `send`. The one schema. */
export const SESSION_MESSAGE = {
  type: 'object',
  properties: {
    /** Drawn by the sender. The same id counts once. */
    messageId: id,
    text: { type: 'string' },
    /**
     * `queue`: the next turn is about it. `interrupt`: the running turn is cancelled first. `steer`: the running turn reads
     * it before its next step; what comes too late for that is queued.
     */
    mode: { enum: MODES },
    /** Who says it, as claimed. */
    sender: name,
    /** Refused where the session is of another agent. */
    agent: name,
  },
  required: ['messageId', 'text', 'mode'],
  additionalProperties: false,
} as const satisfies MessageSchema;

/** What a person says in a session. */
export interface SessionMessage extends MessageOf<typeof SESSION_MESSAGE> {}

export const CONTROLS = ['pause', 'resume', 'cancel_turn', 'close'] as const;

/** What somebody does with a session; payload of update and signal `control`. */
export const SESSION_CONTROL = {
  type: 'object',
  properties: {
    /**
     * `pause`: no further turn starts. `cancel_turn`: the running turn ends, the session goes on. `close`: no more messages;
     * the session ends after the running turn.
     */
    action: { enum: CONTROLS },
    /** Only with `close`: the running turn is cancelled. */
    cancel: { const: true },
    /** Who does it, as claimed. */
    sender: name,
    reason: { type: 'string', maxLength: 1000 },
  },
  required: ['action'],
  additionalProperties: false,
} as const satisfies MessageSchema;

/** What somebody does with a session. */
export interface SessionControl extends MessageOf<typeof SESSION_CONTROL> {}

/** A message that a session holds, and when it came; workflow time, ISO 8601. */
export type HeldMessage = Pick<SessionMessage, 'messageId' | 'text' | 'mode' | 'sender'> & { at: string };

/** Why a session refuses a message. Nothing changed then. */
export const SESSION_REFUSALS = ['malformed', 'message_changed', 'session_closing', 'session_full'] as const;
export type SessionRefusal = (typeof SESSION_REFUSALS)[number];

/**
 * What became of a message. `started`: the next turn is about it. `queued`: turns before it come first. `steering`: the
 * running turn reads it, or the next one. `interrupting`: the running turn is being cancelled for it.
 */
export interface MessageTaken {
  accepted: true;
  messageId: string;
  outcome: 'started' | 'queued' | 'steering' | 'interrupting';
  /** It came before, with the same text. */
  repeated?: true;
  /** Workflow time, ISO 8601. */
  at: string;
}

/** A message or a control that a session refused. */
export interface SessionRefused {
  accepted: false;
  code: SessionRefusal;
  message: string;
}

/** How a turn of a session ended. */
export const SESSION_TURN_ENDS = [
  'answered',
  'step_limit',
  'failed',
  'cancelled',
  'terminated',
  'timed_out',
] as const;
export type SessionTurnEnd = (typeof SESSION_TURN_ENDS)[number];

/** What a conversation needs of one turn. */
export interface TurnRecord {
  entries: TranscriptEntry[];
  /** Ids of the messages it took up after its first words. */
  took: string[];
}

/** What a session keeps of a turn that is over. */
export interface TurnMemory extends TurnRecord {
  turn: string;
  status: SessionTurnEnd;
  /** The message that it was about. */
  messageId: string;
}

/** What a session keeps of turns whose words it no longer has. */
export interface SessionSummary {
  text: string;
  /** How many turns it stands for. */
  turns: number;
}

/** What a session takes along when it continues as new. */
export interface CarriedSession {
  /** The number of its last turn. */
  turns: number;
  memory: TurnMemory[];
  summary?: SessionSummary;
  waiting: HeldMessage[];
  /** The last 1,000 ids of messages, oldest first, with the beginning of the digest of the text. */
  known: [string, string][];
  paused: boolean;
}

/** Input of `agentSession`. The workflow's id is the session's. */
export interface SessionInput {
  agent: string;
  origin?: TurnOrigin;
  /** By continue-as-new. */
  carried?: CarriedSession;
}

/** Result of `agentSession`. */
export interface SessionResult {
  status: 'closed';
  turns: number;
  /** Messages that no turn was about. */
  left: string[];
}

/** Where a turn finds what was said before it: in the `transcript` query of its session. */
export interface SessionRef {
  sessionId: string;
  runId: string;
  /** The message that the turn is about. */
  messageId: string;
  /** How many entries the session holds. */
  count: number;
  /** Names these entries: other entries have another one. */
  digest: string;
  /** The same for the beginning of them that the turn before was given; absent: there is none. */
  before?: { count: number; digest: string };
}

/** New words for a running turn; payload of signal `words`. */
export interface TurnWords {
  messageId: string;
  text: string;
}

/** What a session is doing. */
export const SESSION_STATES = ['idle', 'running', 'paused', 'closing', 'closed'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** Memo `session` of a session: what lists show of it. */
export interface SessionMemo {
  agent: string;
  state: SessionState;
  /** The number of its last turn. */
  turns: number;
  /** The turn that runs. */
  turn?: string;
  /** It is being cancelled. */
  cancelling?: true;
  /** Messages that wait. */
  waiting: number;
  /** Head of the last message that a turn was about. */
  text: string;
  /** The last messages that came by signal and were refused, newest last. */
  refused?: { messageId?: string; code: SessionRefusal }[];
}

/** Id of the `n`th turn of a session. */
export function turnIdIn(sessionId: string, n: number): string {
  return `${sessionId}.t${n}`;
}

/** What a session keeps of the entries of a turn: shortened, and no call without its result. */
export function recordEntries(entries: readonly TranscriptEntry[]): TranscriptEntry[] {
  const whole = withResults(entries.map(shortened));
  return fitEntries(whole, LIMITS.recordBytes);
}

/** Only fields that every model can read again: what a provider added belongs to the whole reply. */
function shortened(entry: TranscriptEntry): TranscriptEntry {
  if (entry.kind === 'words') return { kind: 'words', text: entry.text };
  if (entry.kind === 'result') {
    const { kind, callId, id: ofModel, tool, success } = entry;
    return {
      kind,
      callId,
      id: ofModel,
      tool,
      success,
      content: cutContent(entry.content, LIMITS.recordResultBytes),
    };
  }
  const { kind, replyId, text } = entry;
  return {
    kind,
    replyId,
    text,
    calls: entry.calls.map((call) => shortCall(call, LIMITS.recordArgumentsBytes)),
  };
}

type Reply = Extract<TranscriptEntry, { kind: 'reply' }>;
type Call = Reply['calls'][number];

function shortCall({ callId, id: ofModel, tool, arguments: args, raw }: Call, mostBytes: number): Call {
  const head = { callId, id: ofModel, tool };
  if (raw !== undefined) return { ...head, arguments: {}, raw: cutContent(raw, mostBytes) };
  const text = JSON.stringify(args);
  if (jsonBytes(text) <= mostBytes) return { ...head, arguments: args };
  return { ...head, arguments: { shortened: cutContent(text, mostBytes) } };
}

/** The turn ended in the middle of a step: what became of a call is not known here. */
export const NO_RESULT = '[The turn ended before the result of this call was known. It may have run.]';

function withResults(entries: readonly TranscriptEntry[]): TranscriptEntry[] {
  return stepsOf(entries).flatMap((step) => {
    const [first, ...rest] = step;
    if (first?.kind !== 'reply') return step;
    const there = new Set(rest.map((entry) => (entry.kind === 'result' ? entry.callId : '')));
    const lacking = first.calls
      .filter(({ callId }) => !there.has(callId))
      .map(({ callId, id: ofModel, tool }): TranscriptEntry => {
        return { kind: 'result', callId, id: ofModel, tool, content: NO_RESULT, success: false };
      });
    const results = rest.filter(({ kind }) => kind === 'result');
    return [first, ...results, ...lacking, ...rest.filter(({ kind }) => kind !== 'result')];
  });
}

/** Replies, each with what follows it up to the next one; the words before the first reply come first. */
function stepsOf(entries: readonly TranscriptEntry[]): TranscriptEntry[][] {
  const steps: TranscriptEntry[][] = [];
  for (const entry of entries) {
    const last = steps.at(-1);
    if (last === undefined || entry.kind === 'reply') steps.push([entry]);
    else last.push(entry);
  }
  return steps;
}

/**
 * Entries that take at most so many bytes: oldest outputs go first, then whole steps from the second on, then the middle of
 * texts. The first words and the last reply stay.
 */
function fitEntries(entries: readonly TranscriptEntry[], mostBytes: number): TranscriptEntry[] {
  const sizes = entries.map(entryBytes);
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= mostBytes) return [...entries];
  const kept = [...entries];
  for (let index = 0; index < kept.length && bytes > mostBytes; index++) {
    const entry = kept[index];
    if (entry?.kind !== 'result' || entry.content.length <= DROPPED_OUTPUT.length) continue;
    const shorter = { ...entry, content: DROPPED_OUTPUT };
    kept[index] = shorter;
    bytes -= (sizes[index] ?? 0) - entryBytes(shorter);
  }
  return bytes <= mostBytes ? kept : fitSteps(stepsOf(kept), { bytes, mostBytes });
}

function fitSteps(
  steps: readonly TranscriptEntry[][],
  { bytes, mostBytes }: { bytes: number; mostBytes: number },
): TranscriptEntry[] {
  let left = bytes;
  let out = 0;
  for (const step of steps.slice(1, -1)) {
    if (left <= mostBytes - NOTE_BYTES) break;
    left -= bytesOfEntries(step);
    out += 1;
  }
  const note: TranscriptEntry[] =
    out === 0 ? [] : [{ kind: 'words', text: `[${out} steps of this turn are left out here]` }];
  const kept = [...(steps[0] ?? []), ...note, ...steps.slice(1 + out).flat()];
  return left <= mostBytes - NOTE_BYTES ? kept : shareTexts(kept, mostBytes);
}

const NOTE_BYTES = 256;

/** The least that is left of each entry: its head and tail with a mark. */
function shareTexts(entries: readonly TranscriptEntry[], mostBytes: number): TranscriptEntry[] {
  const share = Math.max(NOTE_BYTES, Math.floor(mostBytes / Math.max(1, entries.length)) - NOTE_BYTES);
  return entries.map((entry): TranscriptEntry => {
    if (entry.kind === 'words') return { ...entry, text: cutContent(entry.text, share) };
    if (entry.kind === 'result') return { ...entry, content: cutContent(entry.content, share) };
    const ofCall = Math.max(LEAST_BYTES, Math.floor(share / (entry.calls.length + 1)));
    const calls = entry.calls.map((call) => shortCall(call, ofCall));
    return { ...entry, text: cutContent(entry.text, share), calls };
  });
}

const LEAST_BYTES = 64;

/** Bytes of entries, as JSON. */
export function bytesOfEntries(entries: readonly TranscriptEntry[]): number {
  return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
}

/** What the model reads about a turn that did not come to an answer. */
export function noteOf(status: SessionTurnEnd, why?: string): TranscriptEntry[] {
  const reason = why === undefined ? '' : `: ${cutContent(why, 1024)}`;
  const texts: Record<SessionTurnEnd, string | undefined> = {
    answered: undefined,
    step_limit: '[This turn ended at its limit of steps. What is above was done.]',
    failed: `[This turn failed${reason}. What is above was done.]`,
    cancelled: '[This turn was cancelled before it was over. What is above was done, and nothing after it.]',
    terminated: `[This turn was ended from outside${reason}. What is above was done; a call without a result may have run.]`,
    timed_out: '[This turn ran out of time. What is above was done; a call without a result may have run.]',
  };
  const text = texts[status];
  return text === undefined ? [] : [{ kind: 'words', text }];
}

/** The conversation before the next turn, as its model reads it. */
export function entriesOf({
  memory,
  summary,
}: Pick<CarriedSession, 'memory'> & { summary?: SessionSummary | undefined }): TranscriptEntry[] {
  const before: TranscriptEntry[] = summary === undefined ? [] : [{ kind: 'words', text: summary.text }];
  return [...before, ...memory.flatMap(({ entries }) => entries)];
}

/** A record that came from outside; undefined: it cannot be read. Never throws. */
export function readRecord(value: unknown): TurnRecord | undefined {
  if (!isObject(value)) return undefined;
  const { entries, took } = value;
  if (!Array.isArray(entries) || !Array.isArray(took)) return undefined;
  const ids = took.filter((one): one is string => typeof one === 'string');
  if (ids.length < took.length || !entries.every(isTranscriptEntry)) return undefined;
  return { entries: recordEntries(entries), took: ids };
}
