import { useEffect, useState } from 'preact/hooks';
import type { Connection } from './model/labels';
import type { ApiError, Pending } from '../server/api';
import { listen } from './stream';
import { eventsAt } from './http';
import { checkSession } from './shared-stream';
import { useAppContext, useTabVisible } from './ui/app';
import type { TextDelta } from '../contract/streamed-text';
import type { TurnEvent } from '../history/events';
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
