import type { TurnOrigin } from '../call';
import type { KnownState } from '../tool';
import type { MessageOf, MessageSchema } from '../schema/message';
import type { Budget } from '../spending/budget';
import { type FileRef, FILES } from './files';
import type { CarriedSpending } from '../spending/carried';
import type { Usage } from '../spending/usage';
import type { SessionRef } from '../think';
import type { TranscriptEntry } from '../transcript';

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
    /** What goes with the text. */
    files: FILES,
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

export const CONTROLS = ['pause', 'resume', 'cancel_turn', 'compact', 'close'] as const;

/** What somebody does with a session; payload of update and signal `control`. */
export const SESSION_CONTROL = {
  type: 'object',
  properties: {
    /**
     * `pause`: no further turn starts. `cancel_turn`: the running turn ends, the session goes on. `compact`: once no turn
     * runs, a summary takes the place of all turns but the last. `close`: no more messages; the session ends after the
     * running turn.
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
export type HeldMessage = Pick<SessionMessage, 'messageId' | 'text' | 'files' | 'mode' | 'sender'> & {
  at: string;
};

/** Why a session refuses a message or a control. Nothing changed then. */
export const SESSION_REFUSALS = [
  'malformed',
  'message_changed',
  'session_closing',
  'session_full',
  'nothing_to_compact',
] as const;
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
  'budget',
  'loop',
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
  /** What the provider counted for the conversation before its first reply. Absent: it does not count. */
  tokens?: number;
  /** See `limits.compactOver` of the agent. Absent: nothing is ever summarized. */
  compactOver?: number;
  /** What its session may spend by now, and what this turn alone has spent. Absent: that is not known. */
  spending?: CarriedSpending;
  /** Absent: that is not known. */
  states?: SessionStates;
}

/** Where the state is that calls of a session share, as a turn left it. */
export interface SessionStates {
  /** The run of the session that the turn was of. */
  runId: string;
  /** By `stateKeyOf`. */
  known: [string, KnownState][];
}

/** What a session keeps of a turn that is over. */
export interface TurnMemory extends Pick<TurnRecord, 'entries' | 'took'> {
  turn: string;
  status: SessionTurnEnd;
  /** The message that it was about. */
  messageId: string;
}

/** What a session keeps of turns whose words it no longer has. */
export interface ConversationSummary {
  /** What a model wrote; empty: nothing. */
  text: string;
  /** How many turns it stands for. */
  turns: number;
  /** The last of these were left out after the text was written, so it does not have them. */
  leftOut?: number;
  /** Which model wrote the text. */
  model?: string;
}

/** Input of `countersign.compact`: which part of the conversation is summarized, never its words. */
export interface CompactInput {
  agent: string;
  origin?: TurnOrigin;
  /** Where the conversation is read. */
  session: Omit<SessionRef, 'messageId'>;
  /** So many turns are summarized, and what was summarized before them. */
  turns: number;
  /** So many entries of the conversation, from its beginning. */
  entries: number;
}

/** Output of `countersign.compact`. */
export interface CompactOutput {
  text: string;
  model: string;
  usage?: Usage;
}

/** What a session takes along when it continues as new. */
export interface CarriedSession {
  /** The number of its last turn. */
  turns: number;
  memory: TurnMemory[];
  summary?: ConversationSummary;
  waiting: HeldMessage[];
  /** The last 1,000 ids of messages, oldest first, with the beginning of the digest of the text. */
  known: [string, string][];
  paused: boolean;
  /** Absent: nothing of it is limited, and nothing was spent. */
  spending?: CarriedSpending;
  /** Where the state is that calls of its turns share, by `stateKeyOf`. Absent: none used any. */
  states?: [string, KnownState][];
}

/** Input of `agentSession`. The workflow's id is the session's. */
export interface SessionInput {
  agent: string;
  origin?: TurnOrigin;
  /** What all its turns together may spend, if its agent allows more. */
  budget?: Budget;
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

/** New words for a running turn; payload of signal `words`. */
export interface TurnWords {
  messageId: string;
  text: string;
  files?: FileRef[];
  /** As claimed. Absent: whoever started the turn. */
  sender?: string;
}

/** What a session is doing. */
export const SESSION_STATES = ['idle', 'running', 'compacting', 'paused', 'closing', 'closed'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** Memo `session` of a session, which lists show. */
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

/** Whether the id of a turn is one that this session gives to its turns. */
export function isTurnIn(sessionId: string, turn: string): boolean {
  const n = Number(turn.slice(sessionId.length + 2));
  return Number.isSafeInteger(n) && turn === turnIdIn(sessionId, n);
}
