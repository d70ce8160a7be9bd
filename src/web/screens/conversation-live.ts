import type { TurnEvent } from '../../history/events';
import { sessionViewOf } from '../../history/session/view';
import { viewOf } from '../../history/view';
import type { TurnView } from '../../history/view-types';
import type { ApiError, SessionEvent, SessionTurnEvent, SessionView } from '../../server/api';
import { conversationPath } from '../http';
import { type Following, listenToEnd, type LiveText, useEvents, withDelta } from '../live';
import { type Compacted, keptTurns } from '../model/conversation';
import type { Connection } from '../model/labels';

/** A conversation as it is now. */
export interface LiveConversation {
  /** Undefined until everything so far has come. */
  view?: SessionView | undefined;
  /** The turn that runs. */
  running?: TurnView | undefined;
  /** The text that the model of the running turn writes. */
  text?: LiveText | undefined;
  /** What the model had written in turns that were stopped while the person looked. History has no such text. */
  stopped?: ReadonlyMap<string, string>;
  /** The number of turns that the model reads in full. */
  kept?: number;
  /** The result of the last attempt to summarize, if it ended while the person looked. */
  compacted?: Compacted | undefined;
  connection?: Connection;
  /** Why the conversation cannot be read. */
  problem?: ApiError | undefined;
}

/**
 * Reads a conversation from its start, then follows it while the tab is visible. When `attempt` changes, it is read
 * again.
 */
export function useConversation(session: string, attempt: number): LiveConversation {
  return useEvents<LiveConversation>(conversationPath(session), {}, follow, attempt);
}

/** The events that have come through one connection so far. */
interface Received {
  events: SessionEvent[];
  turn?: { id: string; events: TurnEvent[] } | undefined;
  text?: LiveText | undefined;
  compacted?: Compacted | undefined;
  isWhole: boolean;
}

function writtenIn({ turn, text }: Received): string {
  const said = turn === undefined ? [] : viewOf(turn.events).steps.map((step) => step.text);
  return [...said, text?.text ?? '']
    .map((part) => part.trim())
    .filter(Boolean)
    .join('\n\n');
}

/** Follows a conversation and sets its state, until the returned function is called. */
function follow(url: string, { setState, signedOut }: Following<LiveConversation>): () => void {
  let got: Received = { events: [], isWhole: false };
  const stopped = new Map<string, string>();
  let frame = 0;
  const draw = (): void => {
    frame = 0;
    const { events, turn, text, compacted, isWhole } = got;
    if (!isWhole) return;
    const running = turn && viewOf(turn.events);
    const view = sessionViewOf(events);
    setState((last) => ({ ...last, view, running, text, stopped, kept: keptTurns(events), compacted }));
  };
  // A long conversation sends hundreds of events in a burst, and one render is enough for all of them.
  const drawSoon = (): void => {
    frame ||= requestAnimationFrame(draw);
  };
  const take = (change: (data: string) => void) => (data: string) => {
    change(data);
    drawSoon();
  };
  const on = {
    start: () => void (got = { events: [], isWhole: false }),
    session: take((data) => takeEvent(got, JSON.parse(data), stopped)),
    turn: take((data) => takeTurnEvent(got, JSON.parse(data))),
    text: take((data) => (got.text = withDelta(got.text, JSON.parse(data).delta))),
    live: take(() => (got.isWhole = true)),
    end: take(() => (got.isWhole = true)),
  };
  const stop = listenToEnd(url, on, (part) => setState((last) => ({ ...last, ...part })), signedOut);
  return () => {
    cancelAnimationFrame(frame);
    stop();
  };
}

function takeEvent(got: Received, event: SessionEvent, stopped: Map<string, string>): void {
  got.events.push(event);
  if (got.isWhole && (event.type === 'compacted' || event.type === 'compaction_failed'))
    got.compacted = event;
  if (event.type !== 'turn_ended' || event.turn !== got.turn?.id) return;
  const written = event.status === 'cancelled' ? writtenIn(got) : '';
  if (written !== '') stopped.set(event.turn, written);
  got.turn = got.text = undefined;
}

function takeTurnEvent(got: Received, { turn, event }: SessionTurnEvent): void {
  if (got.turn?.id !== turn) {
    got.turn = { id: turn, events: [] };
    got.text = undefined;
  }
  got.turn.events.push(event);
}
