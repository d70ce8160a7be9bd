import type { Connection } from '../model/connection';
import { listen } from './live';

/** What a stream of whole messages is told to. */
export interface SharedHandlers {
  message(data: string): void;
  /** Why no message comes, until the next one. */
  trouble(data: string): void;
  connection(state: Connection): void;
}

/** What tabs say to each other: a message, trouble, the stream's state, or the wish to hear all of it. */
type Said = { data: string } | { trouble: string } | { state: Connection } | 'hello';

/**
 * Listens to one kind of event as `listen` does, but with one stream for all tabs of the browser: it opens at most six
 * connections to a host, and a tab for each request would use them up. The tab that holds the lock listens and tells
 * the others; when it goes the next one takes over. Where there are no locks (plain http off this machine) each tab
 * listens for itself.
 */
export function listenShared(url: string, event: string, handlers: SharedHandlers): () => void {
  if (!('locks' in navigator)) return listenAlone(url, event, handlers);
  const channel = new BroadcastChannel(`countersign.${event}`);
  const stopping = new AbortController();
  channel.onmessage = ({ data }: MessageEvent<Said>) => hear(data, handlers);
  const lead = async (): Promise<void> => {
    const stop = listenAlone(url, event, tellingOthers(channel, handlers));
    await aborted(stopping.signal);
    stop();
  };
  navigator.locks.request(channel.name, { signal: stopping.signal }, lead).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  channel.postMessage('hello' satisfies Said);
  return () => {
    stopping.abort();
    channel.close();
  };
}

function listenAlone(
  url: string,
  event: string,
  { message, trouble, connection }: SharedHandlers,
): () => void {
  return listen(url, { on: { [event]: message, trouble }, connection });
}

function hear(said: Said, { message, trouble, connection }: SharedHandlers): void {
  if (said === 'hello') return;
  if ('data' in said) message(said.data);
  else if ('trouble' in said) trouble(said.trouble);
  else connection(said.state);
}

/** The handlers of this tab, and those of all others; who comes late gets the last of each. */
function tellingOthers(channel: BroadcastChannel, handlers: SharedHandlers): SharedHandlers {
  const last = new Map<'data' | 'trouble' | 'state', Said>();
  const tell = (kind: 'data' | 'trouble' | 'state', said: Said): void => {
    // Trouble is over with the next message.
    if (kind === 'data') last.delete('trouble');
    last.set(kind, said);
    channel.postMessage(said);
    hear(said, handlers);
  };
  channel.onmessage = ({ data }: MessageEvent<Said>) => {
    if (data === 'hello') for (const said of last.values()) channel.postMessage(said);
  };
  return {
    message: (data) => tell('data', { data }),
    trouble: (trouble) => tell('trouble', { trouble }),
    connection: (state) => tell('state', { state }),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
