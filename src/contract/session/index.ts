import type { TurnOrigin } from '../call';
import { CARRIED_STATES, type KnownState } from '../tool';
import { exact, list, number, object, type Of, oneOf, only, text } from '../schema/shape';
import type { Budget } from '../spending/budget';
import { type FileRef, FILES } from './files';
import type { CarriedSpending } from '../spending/carried';
import { USAGE } from '../spending/usage';
import { childStem } from '../digest';
import { LIMITS } from '../limits';
import { jsonBytes, limitText } from '../text/bytes';
import type { SessionRef } from '../think';
import type { TranscriptEntry } from '../transcript';
import { MODES, type TurnEnd } from '../turn-states';

export const MESSAGE_ID = /^[A-Za-z0-9._:-]{1,64}$/;
const name = text({ minLength: 1, maxLength: 200, pattern: '^[^\\p{C}\\p{Zl}\\p{Zp}]*$' });

/** A message of a person in a session. The payload of update and signal `send`, and the only schema for it. */
export const SESSION_MESSAGE = exact(
  {
    /** Chosen by the sender. A session takes each id once. */
    messageId: text({ pattern: MESSAGE_ID.source }),
    text: text(),
    /**
     * `queue`: the next turn is about the message. `interrupt`: the running turn is cancelled first. `steer`: the
     * running turn reads the message before its next step. A message that comes too late for that is queued.
     */
    mode: oneOf(MODES),
  },
  {
    /** The files that come with the text. */
    files: FILES,
    /** The name of the sender, as claimed. */
    sender: name,
    /** The agent that the sender expects. The message is refused if the session has another agent. */
    agent: name,
  },
);

/** A person's message in a session. */
export interface SessionMessage extends Of<typeof SESSION_MESSAGE> {}

/** Why a text cannot be the text of a message, in words. Undefined: it can. */
export function textIssue(text: string): string | undefined {
  if (text.trim() === '') return 'a message needs words';
  return tooLarge('the text of a message', text);
}

/** Why a text is too large for the prompt of a turn, and so for a message of a session. Undefined: it is not. */
export function tooLarge(what: string, text: string): string | undefined {
  const most = LIMITS.sessionTextBytes;
  return jsonBytes(text) > most ? `${what} is over ${limitText(most)} as JSON` : undefined;
}

export const CONTROLS = ['pause', 'resume', 'cancel_turn', 'compact', 'close'] as const;

/** The most characters of a reason. */
export const CONTROL_REASON = 1000;

/** A person's action on a session: the payload of update and signal `control`. */
export const SESSION_CONTROL = exact(
  {
    /**
     * `pause`: no further turn starts. `cancel_turn`: the running turn is cancelled and the session goes on. `compact`:
     * once no turn runs, a summary replaces all turns but the last. `close`: the session takes no more messages and
     * ends after the running turn.
     */
    action: oneOf(CONTROLS),
  },
  {
    /** Only with `close`: the running turn is cancelled. */
    cancel: only(true),
    /** The name of the person who does it, as claimed. */
    sender: name,
    reason: text({ maxLength: CONTROL_REASON }),
  },
);

/** A person's action on a session. */
export interface SessionControl extends Of<typeof SESSION_CONTROL> {}

/** A message that a session holds, with the workflow time when it came (ISO 8601). */
export type HeldMessage = Pick<SessionMessage, 'messageId' | 'text' | 'files' | 'mode' | 'sender'> & {
  at: string;
};

/** Why a session refuses a message or a control. A refusal changes nothing. */
export const SESSION_REFUSALS = ['malformed', 'exists', 'full', 'refused'] as const;
export type SessionRefusal = (typeof SESSION_REFUSALS)[number];

/**
 * The answer to a message of a session. `started`: the next turn handles it. `queued`: other turns come first.
 * `steering`: the running turn reads the message, or else the next turn does. `interrupting`: the running turn is being
 * cancelled for the message.
 */
export interface MessageTaken extends Of<typeof MESSAGE_TAKEN> {}

export const MESSAGE_TAKEN = object(
  {
    accepted: only(true),
    messageId: text(),
    outcome: oneOf(['started', 'queued', 'steering', 'interrupting']),
    /** Workflow time, ISO 8601. */
    at: text(),
  },
  {
    /** The same message, with the same id and text, came before. */
    repeated: only(true),
  },
);

/** A message or a control that a session refused. */
export interface SessionRefused {
  accepted: false;
  code: SessionRefusal;
  message: string;
}

/** The record of one turn that its session keeps. */
export interface TurnRecord {
  entries: TranscriptEntry[];
  /** Ids of the messages that the turn took up after its first words. */
  took: string[];
  /** Who asked for the turn, and the others whose words it read. Absent: it is not known. */
  requesters?: string[];
  /**
   * The tokens that the provider counted for the conversation before the turn's first reply. Absent: the provider does
   * not count them.
   */
  tokens?: number;
  /** See `limits.compactOver` of the agent. Absent: nothing is ever summarized. */
  compactOver?: number;
  /** Only without old outputs did the model take the conversation, so no later turn begins with the earlier ones. */
  shortened?: true;
  /** The session's budget as it is now, and what this turn alone has spent. Absent: not known. */
  spending?: CarriedSpending;
  /** Which worker holds shared state. Absent: not known. */
  states?: SessionStates;
}

export const SESSION_STATES_SHAPE = object({
  /** The run of the session that the turn belonged to. */
  runId: text({ minLength: 1, maxLength: 1000 }),
  /** The known state, by the keys of `stateKeyOf`. */
  known: CARRIED_STATES,
});

/** Which worker holds the state that calls of a session share, as of the end of a turn. */
export interface SessionStates extends Of<typeof SESSION_STATES_SHAPE> {}

/** The part of a turn that its session remembers. */
export interface TurnMemory extends Pick<TurnRecord, 'entries' | 'took'> {
  turn: string;
  status: TurnEnd;
  /** The message that the turn handled first. */
  messageId: string;
}

/** The summary that a session keeps of turns whose words it no longer has. */
export interface ConversationSummary extends Of<typeof SUMMARY> {}

export const SUMMARY = object(
  {
    /** The text that a model wrote. Empty: no model wrote a summary. */
    text: text(),
    /** The number of turns that the summary replaces. */
    turns: number(),
  },
  {
    /**
     * The number of the replaced turns that the text does not cover. These are the last ones: they were left out after
     * the text was written.
     */
    leftOut: number(),
    /** The model that wrote the text. */
    model: text(),
  },
);

/**
 * Input of `countersign.compact`. It says which part of the conversation to summarize, and never contains the words.
 */
export interface CompactInput {
  agent: string;
  origin?: TurnOrigin;
  /** The session from which the conversation is read. */
  session: Omit<SessionRef, 'messageId'>;
  /** The number of turns that are summarized, together with any earlier summary. */
  turns: number;
  /** The number of entries that are summarized, from the beginning of the conversation. */
  entries: number;
}

export const COMPACT_OUTPUT = object(
  { text: text({ pattern: '\\S' }), model: text({ minLength: 1, maxLength: 1000 }) },
  { usage: USAGE },
);

/** Output of `countersign.compact`. */
export interface CompactOutput extends Of<typeof COMPACT_OUTPUT> {}

/** The state that a session passes to its next run when it continues as new. */
export interface CarriedSession {
  /** The number of its last turn. */
  turns: number;
  memory: TurnMemory[];
  summary?: ConversationSummary;
  waiting: HeldMessage[];
  /** The last 1,000 message ids, oldest first, each with the beginning of the digest of its text. */
  known: [string, string][];
  paused: boolean;
  /** Absent: the session has no limits, and nothing was spent. */
  spending?: CarriedSpending;
  /**
   * Which worker holds the state that calls of its turns share, by `stateKeyOf`. Absent: no call has used shared state.
   */
  states?: [string, KnownState][];
}

/** Input of `agentSession`. The id of the workflow is the id of the session. */
export interface SessionInput {
  agent: string;
  origin?: TurnOrigin;
  /** The budget for all turns together. It can only make the budget that the agent sets smaller. */
  budget?: Budget;
  /** Set by continue-as-new. */
  carried?: CarriedSession;
}

/** New words for a running turn. The payload of signal `words`. */
export interface TurnWords {
  messageId: string;
  text: string;
  files?: FileRef[];
  /** The sender as claimed. Absent: the person who started the turn sent the words. */
  sender?: string;
}

/** The state of a session, as lists show it. */
const SESSION_STATES = ['idle', 'running', 'compacting', 'paused', 'closing', 'closed'] as const;

/** Memo `session` of a session. Lists show it. */
export interface SessionMemo extends Of<typeof SESSION_MEMO> {}

export const SESSION_MEMO = object(
  {
    agent: text(),
    state: oneOf(SESSION_STATES),
    /** The number of its last turn. */
    turns: number(),
    /** The number of messages that wait. */
    waiting: number(),
    /** The beginning of the last message that a turn handled. */
    text: text(),
  },
  {
    /** The turn that runs. */
    turn: text(),
    /** The turn is being cancelled. */
    cancelling: only(true),
    /** The last messages that came by signal and were refused, newest last. */
    refused: list(object({ code: oneOf(SESSION_REFUSALS) }, { messageId: text() })),
  },
);

/** Id of the `n`th turn of a session. */
export function turnIdIn(sessionId: string, n: number): string {
  return `${childStem(sessionId)}.t${n}`;
}

/** Whether the id of a turn has the form that this session gives to its turns. */
export function isTurnIn(sessionId: string, turn: string): boolean {
  const n = Number(turn.slice(childStem(sessionId).length + 2));
  return Number.isSafeInteger(n) && turn === turnIdIn(sessionId, n);
}
