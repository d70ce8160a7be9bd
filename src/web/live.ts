import { useEffect, useRef, useState } from 'preact/hooks';
import type { Connection } from './model/labels';
import type { ApiError, InboxPulse, Pending } from '../server/api';
import { createWatchdog, listen, serverNow, takeBeat } from './stream';
import { askSession, eventsAt, turnPath, whyRefused } from './http';
import type { TextDelta } from '../contract/streamed-text';
import type { TurnEvent } from '../history/events';
import { viewOf } from '../history/view';
import type { TurnView } from '../history/view-types';

/**
 * The milliseconds of silence that a tab allows while another tab relays the events. The other tab allows a little
 * less, so that it notices a silent server first.
 */
const TAB_SILENT_MS = 20_000;

/** Receives the events of a stream in which each message is complete. */
interface SharedHandlers {
  message(data: string): void;
  /** Called with the reason why no messages come, until the next message comes. */
  trouble(data: string): void;
  connection(state: Exclude<Connection, 'connecting'>): void;
}

/**
 * A message between tabs: the data of an event, trouble, the state of the stream, the server's time, or a request for
 * all of these.
 */
type TabMessage =
  { data: string } | { trouble: string } | { state: 'live' | 'lost' } | { beat: string } | 'hello';

/**
 * Listens to one kind of event like `listen`, but with one stream for all tabs of the browser, because a browser opens
 * at most six connections to a host. The tab that holds the lock listens and relays the events to the other tabs. When
 * that tab closes, another tab gets the lock. If that tab is silent because the browser froze it, another tab takes the
 * lock away from it. Without locks (plain http from another machine) each tab listens for itself.
 */
function listenShared(url: string, event: string, handlers: SharedHandlers): () => void {
  if (!('locks' in navigator)) return listenAlone(url, event, handlers);
  const channel = new BroadcastChannel(url);
  let attempt = new AbortController();
  const follow = (): void => {
    watchdog.heard();
    channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
      if (data === 'hello') return;
      watchdog.heard();
      dispatch(data, handlers);
    };
    compete(false);
  };
  const watchdog = createWatchdog(TAB_SILENT_MS, () => {
    handlers.connection('lost');
    attempt.abort();
    compete(true);
  });
  const compete = (steal: boolean): void => {
    attempt = new AbortController();
    const { signal } = attempt;
    const lead = async (): Promise<void> => {
      if (signal.aborted) return;
      watchdog.stop();
      const stop = listenAlone(url, event, relayToTabs(channel, handlers));
      await aborted(signal);
      stop();
    };
    const own = attempt;
    navigator.locks.request(channel.name, steal ? { steal } : { signal }, lead).catch((error: unknown) => {
      if (signal.aborted) return;
      // Another tab took the lock.
      own.abort();
      if (error instanceof DOMException && error.name === 'AbortError') follow();
      else throw error;
    });
  };
  follow();
  channel.postMessage('hello' satisfies TabMessage);
  return () => {
    attempt.abort();
    watchdog.stop();
    channel.close();
  };
}

function listenAlone(
  url: string,
  event: string,
  handlers: SharedHandlers & { beat?(data: string): void },
): () => void {
  const { message, trouble, connection, beat = takeBeat } = handlers;
  return listen(url, { on: { [event]: message, trouble, beat }, connection });
}

function dispatch(sent: TabMessage, { message, trouble, connection }: SharedHandlers): void {
  if (sent === 'hello') return;
  if ('data' in sent) message(sent.data);
  else if ('trouble' in sent) trouble(sent.trouble);
  else if ('beat' in sent) takeBeat(sent.beat);
  else connection(sent.state);
}

/** Handlers that pass events on to this tab and all others. A tab that opens later gets the last event of each kind. */
function relayToTabs(channel: BroadcastChannel, handlers: SharedHandlers) {
  const last = new Map<'data' | 'trouble' | 'state', TabMessage>();
  const send = (sent: TabMessage): void => {
    channel.postMessage(sent);
    dispatch(sent, handlers);
  };
  const relay = (kind: 'data' | 'trouble' | 'state', sent: TabMessage): void => {
    // The next message ends the trouble.
    if (kind === 'data') last.delete('trouble');
    last.set(kind, sent);
    send(sent);
  };
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data !== 'hello') return;
    for (const sent of last.values()) channel.postMessage(sent);
    channel.postMessage({ beat: JSON.stringify({ at: new Date(serverNow()).toISOString() }) });
  };
  return {
    message: (data: string) => relay('data', { data }),
    trouble: (trouble: string) => relay('trouble', { trouble }),
    connection: (state: 'live' | 'lost') => relay('state', { state }),
    // The last beat is not kept: it would give an old time to a tab that opens later.
    beat: (beat: string) => send({ beat }),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

export interface LiveInbox {
  /** The numbers of waiting items. Undefined until the first message comes. */
  pulse: InboxPulse | undefined;
  connection: Connection;
  /** Why the server cannot read the inbox now. Undefined if the server can read it. */
  trouble: ApiError | undefined;
}

/**
 * Reads the state of the inbox while `isOpen` is true. Each message is complete, so a reconnect needs no earlier
 * messages.
 */
export function useInbox(isOpen: boolean, signedOut: (error: ApiError) => void): LiveInbox {
  const [pulse, setPulse] = useState<InboxPulse>();
  const [trouble, setTrouble] = useState<ApiError>();
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => {
    if (!isOpen) return;
    return listenShared(eventsAt('/api/inbox'), 'waiting', {
      message: (data) => {
        const pulse: InboxPulse = JSON.parse(data);
        setTrouble(pulse.trouble);
        setPulse(pulse);
      },
      trouble: (data) => setTrouble(JSON.parse(data)),
      connection: (state) => {
        setConnection(state);
        if (state === 'lost') void checkSession(signedOut);
      },
    });
  }, [isOpen, signedOut]);
  return { pulse, connection, trouble };
}

/**
 * Signs out if the session is over. For the page, a stream without a session looks like a broken stream, so the page
 * asks the server.
 */
async function checkSession(signedOut: (error: ApiError) => void): Promise<void> {
  const session = await askSession();
  if (!session.ok && session.status === 401) signedOut(session.error);
}

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
  const [state, setState] = useState<LiveTurn>(EMPTY);
  const byPlace = useRef(new Map<number, TurnEvent>()).current;
  const isVisible = useTabVisible();
  useEffect(
    () => (isVisible ? followTurn(eventsAt(turnPath(turn)), byPlace, setState) : undefined),
    [turn, isVisible],
  );
  return state;
}

type SetTurn = (change: (last: LiveTurn) => LiveTurn) => void;

/** Follows a turn: adds its events by place and sets the state, until the returned function is called. */
function followTurn(url: string, byPlace: Map<number, TurnEvent>, setState: SetTurn): () => void {
  const set = (part: Partial<LiveTurn>): void => setState((last) => ({ ...last, ...part }));
  let drawn = 0;
  let isWhole = false;
  const draw = (): void => {
    drawn = 0;
    const events = [...byPlace.values()];
    if (isWhole) return set({ events, view: viewOf(events) });
    setState((last) => (last.view === undefined ? { ...last, events } : last));
  };
  // A long turn sends hundreds of events in a burst, and one render is enough for all of them.
  const drawSoon = (part: Partial<LiveTurn> = {}): void => {
    set(part);
    drawn ||= requestAnimationFrame(draw);
  };
  const explain = async (): Promise<void> => {
    const problem = await whyRefused(url);
    if (problem !== undefined) set({ problem });
    // The turn does not exist, so there is nothing to wait for.
    if (problem?.code === 'turn_not_found') stop();
  };
  const stop = listen(url, {
    on: {
      turn: (data, id) => {
        byPlace.set(Number(id), JSON.parse(data));
        drawSoon();
      },
      pending: (data) => {
        isWhole = true;
        drawSoon({ pending: JSON.parse(data) });
      },
      text: (data) => setState((last) => ({ ...last, text: withDelta(last.text, JSON.parse(data)) })),
      trouble: (data) => set({ problem: JSON.parse(data) }),
      end: () => {
        stop();
        isWhole = true;
        drawSoon({ ended: true });
      },
    },
    connection: (connection) =>
      set(connection === 'lost' ? { connection } : { connection, problem: undefined }),
    refused: () => void explain(),
  });
  return () => {
    cancelAnimationFrame(drawn);
    stop();
  };
}

/** Whether this tab is visible. */
export function useTabVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const take = (): void => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', take);
    return () => document.removeEventListener('visibilitychange', take);
  }, []);
  return isVisible;
}
