import type { Countersign, Session, SessionText, SessionTurnEvent } from '../../client';
import { describeState } from '../../history/labels';
import type { SessionEvent, SessionTurn } from '../../history/session/events';
import type { SessionView } from '../../history/session/view';
import { pendingLines } from '../print/turn';
import { heldUpBy } from '../watch-turn';

/** A conversation, and the person who takes part in it. */
export interface Chat {
  client: Countersign;
  session: Session;
  agent: string;
  /** The name of the person who talks and decides. */
  name: string;
  /** The conversation so far. Undefined: the session is new, and its first message starts it. */
  before: SessionView | undefined;
}

/** An event of a session or of one of its turns. */
export type ChatEvent = SessionEvent | SessionTurnEvent | SessionText;

/**
 * The events of a session, either from now on or from the first message in `mine`. A new session is followed from its
 * start. If a turn ends before it can be followed, its events come from its record.
 */
export async function* followChat(
  { client, session, before }: Chat,
  { signal, mine }: { signal: AbortSignal; mine: ReadonlySet<string> },
): AsyncGenerator<ChatEvent> {
  let isLive = before === undefined;
  const shown = new Set<string>();
  const onCaughtUp = () => {
    isLive = true;
  };
  for await (const event of session.followWithText({ signal, onCaughtUp })) {
    if (event.type === 'message' && mine.has(event.messageId)) isLive = true;
    if (!isLive) continue;
    if (event.type === 'turn_event') shown.add(event.turn);
    if (event.type === 'turn_ended' && event.status !== 'not_started' && !shown.has(event.turn)) {
      const { turn } = event;
      for (const one of await client.timeline(turn)) yield { type: 'turn_event', turn, event: one };
    }
    yield event;
  }
}

/**
 * Notes what the session or its running turn waits for. Cancels the first turn of a new session if no worker has its
 * agent.
 */
export async function noteWaits(
  { client, session, name, before }: Chat,
  turn: string | undefined,
  note: (line: string) => void,
): Promise<void> {
  const pending = await client.pendingActivities(turn ?? session.id);
  for (const line of pendingLines(pending, Date.now())) note(`… ${line}`);
  const isHopeless = turn !== undefined && before === undefined && heldUpBy(pending).lack !== undefined;
  if (isHopeless) await session.cancelTurn({ sender: name });
}

/** Says in words how a turn ended that gave no answer. */
export function endOf(status: SessionTurn['status'], error?: string): string {
  if (status === 'not_started') return 'the turn did not start';
  return `the turn is over: ${describeState(status)[0]}${error === undefined ? '' : `: ${error}`}`;
}
