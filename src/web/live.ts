import { useEffect, useRef, useState } from 'preact/hooks';
import type { Connection } from './model/labels';
import type { ApiError, InboxSnapshot, Pending } from '../server/api';
import { readSession, turnPath } from './http';
import type { TurnEvent } from '../history/events';
import { viewOf } from '../history/view';
import type { TurnView } from '../history/view-types';

interface LiveHandlers {
  /** Handlers by the name of the event. */
  on: Readonly<Record<string, (data: string, id: string) => void>>;
  connection(state: Connection): void;
}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;

/**
 * Listens to server-sent events until the returned function is called. The browser reconnects by itself after a lost
 * connection, but not after an error answer: then this reconnects, each time a little later.
 */
export function listen(url: string, { on, connection }: LiveHandlers): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_RETRY_MS;
  const connect = (): void => {
    source?.close();
    const current = new EventSource(url);
    source = current;
    current.onopen = () => {
      wait = FIRST_RETRY_MS;
      connection('live');
    };
    current.onerror = () => {
      connection('lost');
      if (current.readyState !== EventSource.CLOSED) return;
      clearTimeout(timer);
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, LAST_RETRY_MS);
    };
    for (const [name, take] of Object.entries(on)) {
      current.addEventListener(name, ({ data, lastEventId }: MessageEvent<string>) =>
        take(data, lastEventId),
      );
    }
  };
  connection('connecting');
  connect();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

/** Receives the events of a stream of whole messages. */
interface SharedHandlers {
  message(data: string): void;
  /** Why no messages come, until the next one comes. */
  trouble(data: string): void;
  connection(state: Connection): void;
}

/** What tabs send each other: a message, trouble, the state of the stream, or a request for all three. */
type TabMessage = { data: string } | { trouble: string } | { state: Connection } | 'hello';

/**
 * Listens to one kind of event as `listen` does, but with one stream for all tabs of the browser, because a browser
 * opens at most six connections to a host. The tab that holds the lock listens and relays to the others; when it closes,
 * the next one takes over. Without locks (plain http from another machine) each tab listens for itself.
 */
function listenShared(url: string, event: string, handlers: SharedHandlers): () => void {
  if (!('locks' in navigator)) return listenAlone(url, event, handlers);
  const channel = new BroadcastChannel(`countersign.${event}`);
  const stopping = new AbortController();
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => dispatch(data, handlers);
  const lead = async (): Promise<void> => {
    const stop = listenAlone(url, event, relayToTabs(channel, handlers));
    await aborted(stopping.signal);
    stop();
  };
  navigator.locks.request(channel.name, { signal: stopping.signal }, lead).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  channel.postMessage('hello' satisfies TabMessage);
  return () => {
    stopping.abort();
    channel.close();
  };
}

function listenAlone(url: string, event: string, handlers: SharedHandlers): () => void {
  const { message, trouble, connection } = handlers;
  return listen(url, { on: { [event]: message, trouble }, connection });
}

function dispatch(sent: TabMessage, { message, trouble, connection }: SharedHandlers): void {
  if (sent === 'hello') return;
  if ('data' in sent) message(sent.data);
  else if ('trouble' in sent) trouble(sent.trouble);
  else connection(sent.state);
}

/** Handlers that serve this tab and all others; a late tab gets the last of each. */
function relayToTabs(channel: BroadcastChannel, handlers: SharedHandlers): SharedHandlers {
  const last = new Map<'data' | 'trouble' | 'state', TabMessage>();
  const relay = (kind: 'data' | 'trouble' | 'state', sent: TabMessage): void => {
    // The next message ends the trouble.
    if (kind === 'data') last.delete('trouble');
    last.set(kind, sent);
    channel.postMessage(sent);
    dispatch(sent, handlers);
  };
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data === 'hello') for (const sent of last.values()) channel.postMessage(sent);
  };
  return {
    message: (data) => relay('data', { data }),
    trouble: (trouble) => relay('trouble', { trouble }),
    connection: (state) => relay('state', { state }),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

export interface LiveInbox {
  /** Undefined until the first one comes. */
  snapshot: InboxSnapshot | undefined;
  connection: Connection;
  /** Why the server cannot read the inbox now; undefined when it can. */
  trouble: ApiError | undefined;
}

/**
 * The current inbox, while `isOpen`. Each message is complete, so a lost connection loses nothing.
 */
export function useInbox(isOpen: boolean, signedOut: () => void): LiveInbox {
  const [snapshot, setSnapshot] = useState<InboxSnapshot>();
  const [trouble, setTrouble] = useState<ApiError>();
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => {
    if (!isOpen) return;
    return listenShared('/api/inbox/events', 'inbox', {
      message: (data) => {
        setTrouble(undefined);
        setSnapshot(JSON.parse(data));
      },
      trouble: (data) => setTrouble(JSON.parse(data)),
      connection: (state) => {
        setConnection(state);
        if (state === 'lost') void checkSession(signedOut);
      },
    });
  }, [isOpen, signedOut]);
  return { snapshot, connection, trouble };
}

/** The page cannot tell a stream without a session from a broken one, so this asks. */
async function checkSession(signedOut: () => void): Promise<void> {
  const session = await readSession();
  if (!session.ok && session.status === 401) signedOut();
}

export interface LiveTurn {
  events: readonly TurnEvent[];
  /** Undefined until the first event comes. */
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
 * A turn from its start, then live while the tab is visible. Events have their place as id, so an event that comes twice
 * counts once.
 */
export function useTurn(turn: string): LiveTurn {
  const [state, setState] = useState<LiveTurn>(EMPTY);
  const byPlace = useRef(new Map<number, TurnEvent>()).current;
  const isVisible = useTabVisible();
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
          // A long turn sends hundreds of events at once, which need one render only.
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

/** Whether this tab is visible. */
function useTabVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const take = (): void => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', take);
    return () => document.removeEventListener('visibilitychange', take);
  }, []);
  return isVisible;
}
