import { useEffect, useRef, useState } from 'preact/hooks';
import type { TurnEvent } from '../../history/events';
import { viewOf } from '../../history/view';
import type { TurnView } from '../../history/view-types';
import type { Pending } from '../../server/api';
import { turnPath } from './http';
import { useVisible } from '../state/use-visible';
import type { Connection } from '../model/connection';
import { listen } from './live';

export interface LiveTurn {
  events: readonly TurnEvent[];
  /** Undefined until the first event has come. */
  view: TurnView | undefined;
  pending: Pending | undefined;
  connection: Connection;
  ended: boolean;
}

const EMPTY: LiveTurn = {
  events: [],
  view: undefined,
  pending: undefined,
  connection: 'connecting',
  ended: false,
};

/**
 * A turn from its start, then live while its tab is in front. Events carry their place, so one that comes twice after a
 * reconnect counts once.
 */
export function useTurn(turn: string): LiveTurn {
  const [state, setState] = useState<LiveTurn>(EMPTY);
  const byPlace = useRef(new Map<number, TurnEvent>()).current;
  const isVisible = useVisible();
  useEffect(() => {
    if (!isVisible) return;
    let drawn = 0;
    const draw = (): void => {
      drawn = 0;
      const events = [...byPlace.values()];
      setState((last) => ({ ...last, events, view: viewOf(events) }));
    };
    const stop = listen(`${turnPath(turn)}/events`, {
      on: {
        turn: (data, id) => {
          byPlace.set(Number(id), JSON.parse(data));
          // A long turn comes as hundreds of events at once: one picture of them is enough.
          drawn ||= requestAnimationFrame(draw);
        },
        pending: (data) => setState((last) => ({ ...last, pending: JSON.parse(data) })),
        end: () => {
          stop();
          setState((last) => ({ ...last, ended: true, connection: 'live' }));
        },
      },
      connection: (connection) => setState((last) => ({ ...last, connection })),
    });
    return () => {
      cancelAnimationFrame(drawn);
      stop();
    };
  }, [turn, isVisible]);
  return state;
}
