import { useEffect, useState } from 'preact/hooks';
import { BEAT_MS } from '../contract/streamed-text';
import type { ApiError, InboxPulse } from '../server/api';
import { askSession, eventsAt } from './http';
import type { Connection } from './model/labels';
import { createWatchdog, listen, serverNow, takeBeat } from './stream';

/**
 * The milliseconds of silence that a tab allows while another tab relays the events. The other tab allows a little
 * less, so that it notices a silent server first.
 */
const TAB_SILENT_MS = BEAT_MS * 4;

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
  // Another web inbox may be under another path of this host.
  const channel = new BroadcastChannel(new URL(url, location.href).href);
  let attempt = new AbortController();
  const follow = () => {
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
  const compete = (steal: boolean) => {
    attempt = new AbortController();
    const { signal } = attempt;
    const lead = async () => {
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

function dispatch(sent: TabMessage, { message, trouble, connection }: SharedHandlers) {
  if (sent === 'hello') return;
  if ('data' in sent) message(sent.data);
  else if ('trouble' in sent) trouble(sent.trouble);
  else if ('beat' in sent) takeBeat(sent.beat);
  else connection(sent.state);
}

/** Handlers that pass events on to this tab and all others. A tab that opens later gets the last event of each kind. */
function relayToTabs(channel: BroadcastChannel, handlers: SharedHandlers) {
  const last = new Map<'data' | 'trouble' | 'state', TabMessage>();
  const send = (sent: TabMessage) => {
    channel.postMessage(sent);
    dispatch(sent, handlers);
  };
  const relay = (kind: 'data' | 'trouble' | 'state', sent: TabMessage) => {
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
    return listenShared(eventsAt('api/inbox'), 'waiting', {
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
 * Signs out if the session is over, or if somebody else has signed in in this browser. For the page, a stream that is
 * refused looks like a broken stream, so the page asks the server.
 */
export async function checkSession(signedOut: (error: ApiError) => void): Promise<void> {
  const session = await askSession();
  if (!session.ok && session.status === 401) signedOut(session.error);
}
