import type { MessageTaken, SessionMemo } from '../../contract/session';
import type { MessageMode } from '../../contract/turn-states';
import type { Budget } from '../../contract/spending/budget';
import type { TextDelta } from '../../contract/streamed-text';
import type { TurnEvent } from '../../history/events';
import type { SessionEvent } from '../../history/session/events';
import type { SessionView } from '../../history/session/view';
import type { FollowOptions, StartRequest } from '../requests';

/** How to reach a session. With `agent`, the first message starts the session if it does not exist. */
export interface SessionOptions extends Pick<
  StartRequest,
  'taskQueue' | 'requester' | 'metadata' | 'priority'
> {
  /** The agent of the session. A session that exists has to be of this agent. @default the session has to exist */
  agent?: string;
  /**
   * The budget of a session that is started here, for all its turns together. `time` is in milliseconds. It can make
   * the agent's `sessionBudget` smaller, never larger. @default that of the agent
   */
  budget?: Omit<Budget, 'currency'>;
}

/** A message to a session. */
export interface SendRequest {
  text: string;
  /** The same as in `start`. */
  files?: StartRequest['files'];
  /**
   * The effect of the message while a turn runs. `queue`: it waits for the next turn. `interrupt`: the running turn is
   * cancelled first. `steer`: the running turn reads it before its next step. @default 'queue'
   */
  mode?: MessageMode;
  /** Up to 64 letters, digits, `.`, `_`, `:` and `-`. The same id counts once. @default a random one */
  messageId?: string;
  /**
   * The person who sends the message, in at most 200 characters. Nobody checks it. @default the requester of the
   * session
   */
  sender?: string;
}

/** How a message was sent. `recorded`: no worker answered in time. The message takes effect when a worker returns. */
export type SentMessage = ({ status: 'taken' } & MessageTaken) | { status: 'recorded'; messageId: string };

/** The person who does something with a session, and the reason. Both are kept on record, and nobody checks them. */
export interface SessionAct {
  sender?: string;
  reason?: string;
}

/** An event of the running turn of a session. */
export interface SessionTurnEvent {
  type: 'turn_event';
  turn: string;
  event: TurnEvent;
}

/** The text of the running turn's model while it writes. See `TextDelta`. The event `step` has the finished reply. */
export interface SessionText {
  type: 'turn_text';
  turn: string;
  delta: TextDelta;
}

/** The present state of a session. Needs no worker. */
export interface SessionNow extends SessionMemo {
  session: string;
  runId: string;
}

/** One session, as visibility knows it. */
export interface SessionSummary extends SessionNow {
  /** ISO 8601. */
  startedAt: string;
  /** ISO 8601. Null while it is open. */
  endedAt: string | null;
}

export interface SessionsQuery {
  agent?: string;
  /** Only sessions of these agents. */
  agents?: readonly string[];
  /** Only open sessions. @default false */
  open?: boolean;
  /** @default 50 */
  limit?: number;
  /** Where the page begins: the `older` of the page before. */
  older?: string;
}

/** A page of sessions: open sessions first, then the sessions that ended last. */
export interface SessionsPage {
  sessions: SessionSummary[];
  /**
   * Where the next page begins. Null if there is none. A page looks at 2,000 sessions at most, so it may hold fewer
   * than the limit, or none, although there are older ones.
   */
  older: string | null;
}

/** Options for following a session. */
export interface FollowSessionOptions extends FollowOptions {
  /** Like `onCaughtUp`, for the events of the turn that runs. */
  onTurnCaughtUp?: (turn: string) => void;
}

/**
 * A conversation with an agent. Every operation fails with CountersignError `not_found` if there is no such
 * session.
 *
 * @example
 * const session = client.session('support-4711', { agent: 'helper' });
 * await session.send('What is the state of order 12?');
 * for await (const event of session.follow()) show(event);
 */
export interface Session {
  id: string;
  /**
   * Sends a message. The message is on record when this resolves.
   *
   * @throws CountersignError `usage`, `malformed`, `exists` for an id that had another text, `refused`,
   * `full`, and those of `connect`.
   */
  send(message: string | SendRequest): Promise<SentMessage>;
  /** Every event of the session from its start, then live until it ends, with the events of the turn that runs. */
  follow(options?: FollowSessionOptions): AsyncIterable<SessionEvent | SessionTurnEvent>;
  /** Like `follow`, and also gives the text of models while they write it. See `followWithText` of a client. */
  followWithText(options?: FollowOptions): AsyncIterable<SessionEvent | SessionTurnEvent | SessionText>;
  /** Messages, turns and their answers so far. Needs no worker. */
  history(): Promise<SessionView>;
  /** The present state of the session. Needs no worker. */
  state(): Promise<SessionNow>;
  /** No further turn starts until `resume`. The running turn goes on. */
  pause(act?: SessionAct): Promise<void>;
  resume(act?: SessionAct): Promise<void>;
  /** Asks the running turn to end. The session goes on with the next message. */
  cancelTurn(act?: SessionAct): Promise<void>;
  /**
   * Once no turn runs, has a model summarize all turns but the last. See `limits.compactOver` of `defineAgent`. The
   * event `compacted` or `compaction_failed` says whether that worked.
   *
   * @throws CountersignError `refused` if there is at most one turn. This is noticed only if a worker
   * answers.
   */
  compact(act?: SessionAct): Promise<void>;
  /**
   * Makes the session take no more messages and end after the running turn. `cancel` cancels that turn. Messages that
   * wait are never handled.
   */
  close(act?: SessionAct & { cancel?: boolean }): Promise<void>;
}
