import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '../server/api';
import { listen } from './stream';
import { eventsAt } from './http';
import { checkSession } from './shared-stream';
import { useAppContext, useTabVisible } from './ui/app';
import type { TextDelta } from '../contract/streamed-text';

/** The text that one attempt at a reply has written so far. */
export type LiveText = Pick<TextDelta, 'runId' | 'step' | 'from' | 'attempt' | 'text'>;

/** The text with one more delta. */
export function withDelta(last: LiveText | undefined, delta: TextDelta): LiveText {
  return { ...delta, text: (last?.text ?? '').slice(0, delta.at) + delta.text };
}

/** What a screen makes of the events of a path. */
export interface Follower {
  /** Takes an event, by its name. */
  on: Record<string, (data: string, id: string) => void>;
  /** Draws what came. A long turn sends hundreds of events in a burst, and is drawn once for all of them. */
  draw: () => void;
}

/** What `follow` makes of the events of a path while the tab is visible. When `attempt` changes, they are read again. */
export function useEvents<S extends { problem?: ApiError }>(
  path: string,
  empty: S,
  follow: (setState: (change: (last: S) => S) => void) => Follower,
  attempt = 0,
): S {
  const [state, setState] = useState(empty);
  const isVisible = useTabVisible();
  const { fail } = useAppContext();
  useEffect(() => {
    if (!isVisible) return;
    return listenToEnd(eventsAt(path), follow(setState), {
      setProblem: (problem) => setState((last) => ({ ...last, problem })),
      signedOut: (error) => fail({ status: 401, error }),
    });
  }, [path, attempt, isVisible]);
  return state;
}

interface Failing {
  setProblem: (problem: ApiError | undefined) => void;
  signedOut: (error: ApiError) => void;
}

/** Listens to the events of a turn or a conversation until they end. */
function listenToEnd(url: string, { on, draw }: Follower, { setProblem, signedOut }: Failing): () => void {
  let frame = 0;
  const drawNow = () => {
    frame = 0;
    draw();
  };
  const drawn = Object.entries(on).map(([name, take]) => {
    const drawSoon: typeof take = (data, id) => {
      take(data, id);
      if (name === 'end') stop();
      frame ||= requestAnimationFrame(drawNow);
    };
    return [name, drawSoon] as const;
  });
  const stop = listen(url, {
    on: {
      ...Object.fromEntries(drawn),
      trouble: (data) => {
        const problem: ApiError = JSON.parse(data);
        setProblem(problem);
        // It does not exist, so there is nothing to wait for.
        if (problem.code === 'not_found') stop();
      },
    },
    connection: (connection) => {
      if (connection === 'lost') void checkSession(signedOut);
      else setProblem(undefined);
    },
  });
  return () => {
    cancelAnimationFrame(frame);
    stop();
  };
}
