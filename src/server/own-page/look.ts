import { isSeenBy, type Permit } from '../../authority/rules/permits';
import type { ApiError } from '../api';
import type { FormatError } from '../failure';
import type { ServerEvent } from '../sse';
import { type AnswerOutcome, isRecorded, type sendAnswers } from './answers';
import {
  threadEnd,
  isIdle,
  type Item,
  askedItems,
  type PageReader,
  runningTurn,
  type Thread,
} from './thread';
import { waitOrChange, type SharedThread } from './threads';

/** Words of a person that the conversation may not have yet. */
export interface NewWords {
  messageId: string;
  text: string;
}

/** What a client asks for, in whatever protocol. */
export interface ThreadRequest {
  thread: string;
  channel: string;
  /** The same for a request that is sent again. */
  runId: string;
  words: readonly NewWords[];
  answers: readonly Parameters<typeof sendAnswers>[2]['answers'][number][];
  writer(who: PageReader): Writer;
}

/** Writes a conversation in the events of a protocol. It knows what its client has. */
interface Writer {
  begin(): object[];
  /** What the client lacks. */
  write(thread: Thread): object[];
  /** What became of an answer. */
  said(outcome: AnswerOutcome): object;
  /** The end of a look at a turn that merely waits. */
  waits(items: readonly Item[]): object[];
  ended(end: NonNullable<ReturnType<typeof threadEnd>>): object[];
  failed(error: ApiError): object[];
}

/** A look at a conversation: it lasts until its turn merely waits for people, or nothing goes on any more. */
interface TurnLook {
  open(): SharedThread;
  writer: Writer;
  permit: Permit;
  who: PageReader;
  /** What became of the answers that came with this request. */
  outcomes: readonly AnswerOutcome[];
  /** The time for which a look at which nothing is new is held, in milliseconds. */
  holdMs: number;
  formatError: FormatError;
}

/** The time until the server has pushed what was recorded before a look, such as a decision from elsewhere, in milliseconds. */
const PUSHED_MS = 250;

/** The events of a look. An error is an event, too. */
export async function* eventsOf(look: TurnLook, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  let leave = (): void => undefined;
  try {
    const shared = look.open();
    leave = shared.watch(look.who.user);
    for await (const events of lookAt(look, shared, signal))
      for (const data of events) yield { event: 'message', data };
  } catch (error) {
    for (const data of look.writer.failed(look.formatError(error).body)) yield { event: 'message', data };
  } finally {
    leave();
  }
}

async function* lookAt(look: TurnLook, shared: SharedThread, signal: AbortSignal): AsyncGenerator<object[]> {
  const { writer, permit, who, holdMs } = look;
  const begunAt = performance.now();
  let newsAt: number | undefined;
  let { outcomes } = look;
  yield writer.begin();
  for (;;) {
    const { change } = shared;
    const thread = await shared.read(signal, (now) => outcomes.every((one) => isRecorded(now, one)));
    if (thread === undefined) return;
    const now = performance.now();
    const seen = seenBy(permit, thread);
    const news = [...writer.write(seen), ...outcomes.map(writer.said)];
    outcomes = [];
    if (news.length > 0) newsAt = now;
    yield news;
    const end = threadEnd(thread);
    if (end) return yield writer.ended(end);
    const items = askedItems(seen, who);
    const age = now - begunAt;
    const isOver = newsAt !== undefined && age >= PUSHED_MS && isIdle(thread, runningTurn(thread));
    if (items.length > 0 && (isOver || now - (newsAt ?? begunAt) >= holdMs)) return yield writer.waits(items);
    await waitOrChange(age < PUSHED_MS ? PUSHED_MS - age : holdMs, signal, change);
  }
}

/** The conversation without child turns of agents that the person may not see. */
function seenBy(permit: Permit, thread: Thread): Thread {
  const turns = [...thread.turns].filter(([, { agent, lineage = [] }]) =>
    isSeenBy(permit, { agent, callers: lineage.map((one) => one.agent) }),
  );
  return { ...thread, turns: new Map(turns) };
}
