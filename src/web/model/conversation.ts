import { LEAST_TO_SUMMARIZE, LIMITS } from '../../contract/limits';
import type { HeldMessage } from '../../contract/session';
import type { MessageMode } from '../../contract/turn-states';
import { jsonBytes, limitText } from '../../contract/text/bytes';
import { counted, type Label } from '../../history/labels';
import type { SessionEvent } from '../../history/session/events';
import { KeptTurns } from '../../history/session/kept-turns';
import type { SentFile, SessionView } from '../../server/api';

/** One message. Fields that are not known are absent. */
type ShownMessage = Pick<HeldMessage, 'messageId' | 'text'> & Partial<HeldMessage>;

/** A turn of a conversation, with the messages that it took up. */
export interface Exchange {
  turn: SessionView['turns'][number];
  said: readonly ShownMessage[];
}

/** The turns of a conversation in order, each with the messages that it took up. */
export function exchangesOf({ turns, messages }: Pick<SessionView, 'turns' | 'messages'>): Exchange[] {
  const byId = new Map<string, ShownMessage>(messages.map((message) => [message.messageId, message]));
  return turns.map((turn) => {
    const { messageId, prompt, files, took } = turn;
    const asked = prompt === undefined ? undefined : { messageId, text: prompt, files };
    const first = byId.get(messageId) ?? asked;
    const later = took.filter((one) => one !== messageId).flatMap((one) => byId.get(one) ?? []);
    return { turn, said: first === undefined ? later : [first, ...later] };
  });
}

const STATES: Readonly<Record<string, Label>> = {
  running: ['running', 'busy'],
  compacting: ['is being summarized', 'busy'],
  paused: ['paused', 'ask'],
  failed: ['failed', 'bad'],
  terminated: ['terminated', 'bad'],
  timed_out: ['timed out', 'bad'],
};

/** The state of a conversation, or how it ended. */
export function describeConversation(state: string): Label {
  return STATES[state] ?? [state, 'quiet'];
}

/** The number of turns that the model reads in full, from the events so far. A running turn counts, too. */
export function keptTurns(events: Iterable<SessionEvent>): number {
  const kept = new KeptTurns();
  for (const event of events) kept.follow(event);
  return kept.count;
}

/** The text shown to a person who asks for a summary, and whether there is anything to summarize. */
export function whatCompacts(kept: number, isRunning: boolean): { isNeeded: boolean; text: string } {
  if (kept < LEAST_TO_SUMMARIZE)
    return { isNeeded: false, text: 'There is nothing to compact: the last turn stays word by word.' };
  const when = isRunning ? 'Once this turn has ended, a' : 'A';
  return { isNeeded: true, text: `${when} model summarizes all turns but the last.` };
}

/** The result of an attempt to summarize. */
export type Compacted = Extract<SessionEvent, { type: 'compacted' | 'compaction_failed' }>;

/** The result of an attempt to summarize, in words. */
export function compactedText(event: Compacted): string {
  if (event.type === 'compaction_failed') return `Nothing was compacted: ${event.error}`;
  return `${counted(event.turns, 'turn')} compacted by ${event.model}. The summary is on top.`;
}

/** A message that is not sent yet. */
export interface MessageDraft {
  text: string;
  /** The files that go with the message. */
  files: readonly SentFile[];
  mode: MessageMode;
  /** The id of the message, so that it counts once however often it is sent. Empty until the message is first sent. */
  messageId: string;
}

/** The name under which the tab keeps what is typed for a conversation. */
export function messageName(session: string): string {
  return `say/${session}`;
}

/** Why a text cannot be sent. Undefined: the text can be sent. */
export function textProblem(text: string): string | undefined {
  if (text.trim() === '') return 'Write something first.';
  if (jsonBytes(text) <= LIMITS.sessionTextBytes) return undefined;
  return `This is over ${limitText(LIMITS.sessionTextBytes)}. Put it into a file that the agent can read.`;
}
