import { useEffect, useRef, useState } from 'preact/hooks';
import type { Connection } from './model/labels';
import type { ApiError, Pending } from '../server/api';
import { listen } from './stream';
import { eventsAt, turnPath } from './http';
import { checkSession } from './shared-stream';
import { useAppContext, useTabVisible } from './ui/app';
import type { TextDelta } from '../contract/streamed-text';
import type { TurnEvent } from '../history/events';
import { viewOf } from '../history/view';
import type { TurnView } from '../history/view-types';

/** The text that one attempt at a reply has written so far. */
export type LiveText = Pick<TextDelta, 'runId' | 'step' | 'from' | 'attempt' | 'text'>;

/** The text with one more delta. */
export function withDelta(last: LiveText | undefined, delta: TextDelta): LiveText {
  return { ...delta, text: (last?.text ?? '').slice(0, delta.at) + delta.text };
}

export interface LiveTurn {
  events: readonly TurnEvent[];
  /** The turn. Undefined until all events so far have come: half a turn would look like a turn that still runs. */
  view: TurnView | undefined;
  pending: Pending | undefined;
  /** The text that the model writes now, or wrote last. */
  text: LiveText | undefined;
  connection: Connection;
  /** Why the turn cannot be read: the turn does not exist, or the server refuses. */
  problem: ApiError | undefined;
  ended: boolean;
}

const EMPTY: LiveTurn = {
  events: [],
  view: undefined,
  pending: undefined,
  text: undefined,
  connection: 'connecting',
  problem: undefined,
  ended: false,
};

/**
 * Reads a turn from its start, and then follows it while the tab is visible. The id of an event is its place in the
 * turn, so an event that comes twice counts once.
 */
export function useTurn(turn: string): LiveTurn {
  const byPlace = useRef(new Map<number, TurnEvent>()).current;
  return useEvents(turnPath(turn), EMPTY, (url, following) => followTurn(url, byPlace, following));
}

/** What the follower of some events sets. */
export interface Following<S> {
  setState: (change: (last: S) => S) => void;
  signedOut: (error: ApiError) => void;
}

/** What `follow` makes of the events of a path while the tab is visible. When `attempt` changes, they are read again. */
export function useEvents<S>(
  path: string,
  empty: S,
  follow: (url: string, following: Following<S>) => () => void,
  attempt = 0,
): S {
  const [state, setState] = useState(empty);
  const isVisible = useTabVisible();
  const { fail } = useAppContext();
  const signedOut = (error: ApiError) => fail({ status: 401, error });
  useEffect(
    () => (isVisible ? follow(eventsAt(path), { setState, signedOut }) : undefined),
    [path, attempt, isVisible],
  );
  return state;
}

/** Listens to the events of a turn or a conversation until they end. */
export function listenToEnd(
  url: string,
  { end, ...on }: Record<string, (data: string, id: string) => void>,
  set: (part: Partial<Pick<LiveTurn, 'connection' | 'problem'>>) => void,
  signedOut: Following<never>['signedOut'],
): () => void {
  const stop = listen(url, {
    on: {
      ...on,
      trouble: (data) => {
        const problem: ApiError = JSON.parse(data);
        set({ problem });
        // It does not exist, so there is nothing to wait for.
        if (problem.code === 'not_found') stop();
      },
      end: (data, id) => {
        stop();
        end?.(data, id);
      },
    },
    connection: (connection) => {
      if (connection === 'lost') void checkSession(signedOut);
      set(connection === 'lost' ? { connection } : { connection, problem: undefined });
    },
  });
  return stop;
}

/** Follows a turn: adds its events by place and sets the state, until the returned function is called. */
function followTurn(
  url: string,
  byPlace: Map<number, TurnEvent>,
  { setState, signedOut }: Following<LiveTurn>,
): () => void {
  const set = (part: Partial<LiveTurn>) => setState((last) => ({ ...last, ...part }));
  let drawn = 0;
  let isWhole = false;
  const draw = () => {
    drawn = 0;
    const events = [...byPlace.values()];
    if (isWhole) return set({ events, view: viewOf(events) });
    setState((last) => (last.view === undefined ? { ...last, events } : last));
  };
  // A long turn sends hundreds of events in a burst, and one render is enough for all of them.
  const drawSoon = (part: Partial<LiveTurn> = {}) => {
    set(part);
    drawn ||= requestAnimationFrame(draw);
  };
  const on = {
    turn: (data: string, id: string) => {
      byPlace.set(Number(id), JSON.parse(data));
      drawSoon();
    },
    pending: (data: string) => {
      isWhole = true;
      drawSoon({ pending: JSON.parse(data) });
    },
    text: (data: string) => setState((last) => ({ ...last, text: withDelta(last.text, JSON.parse(data)) })),
    end: () => {
      isWhole = true;
      drawSoon({ ended: true });
    },
  };
  const stop = listenToEnd(url, on, set, signedOut);
  return () => {
    cancelAnimationFrame(drawn);
    stop();
  };
}
