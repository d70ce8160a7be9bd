import { LIMITS } from '../../contract/limits';
import { sizeText } from '../../contract/text/bytes';
import type { Countersign, NewFile, Session, SessionText, SessionTurnEvent } from '../../client';
import { counted, describeState } from '../../history/labels';
import type { TurnView } from '../../history/view';
import { type WaitingCall, waitingCall } from '../commands/review';
import type { SessionEvent, SessionTurn } from '../../history/session/events';
import type { SessionView } from '../../history/session/view';
import { readAttached } from '../attached-file';
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

/** Messages that are being sent, one after the other. */
export class Outgoing {
  /** The number of messages that are not sent yet. */
  count = 0;
  /** The files to send with the next message. */
  readonly files: NewFile[] = [];
  private last: Promise<void> = Promise.resolve();

  /**
   * Adds a file to the next message. An empty path drops all files. Returns a line that says which files will be sent.
   */
  async attach(path: string): Promise<string> {
    const { files } = this;
    if (path === '') files.length = 0;
    else if (files.length < LIMITS.filesPerMessage) files.push(await readAttached(path));
    else return `a message has at most ${LIMITS.filesPerMessage} files`;
    const names = files.map(({ name, bytes }) => `${name} (${sizeText(bytes.byteLength)})`);
    return names.length === 0 ? 'no file goes along' : `with your next message: ${names.join(', ')}`;
  }

  /** `send` must not reject. */
  add(send: () => Promise<void>): void {
    this.count += 1;
    this.last = this.last.then(send).finally(() => (this.count -= 1));
  }

  /** Waits for the messages that were typed before the person left. The wait ends when `dropped` resolves. */
  async rest(dropped: Promise<unknown>, note: (text: string) => void): Promise<void> {
    if (this.count === 0) return;
    note(`sending ${counted(this.count, 'message')}; Ctrl-C drops what is not sent yet`);
    await Promise.race([this.last, dropped]);
    if (this.count > 0) note(`${counted(this.count, 'message')} dropped`);
  }
}

/** Says in words how a turn ended that gave no answer. */
export function endOf(status: SessionTurn['status'], error?: string): string {
  if (status === 'not_started') return 'the turn did not start';
  return `the turn is over: ${describeState(status)[0]}${error === undefined ? '' : `: ${error}`}`;
}

/** The calls of a turn that wait for a person. */
export function waitingIn({ turn, requests, questions, inDoubt }: TurnView, agent: string): WaitingCall[] {
  return [...questions, ...requests, ...inDoubt].map((opened) => waitingCall(opened, { turn, agent }));
}
