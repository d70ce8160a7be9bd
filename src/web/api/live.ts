import type { Connection } from '../model/connection';

export interface LiveHandlers {
  /** By the event's name. */
  on: Readonly<Record<string, (data: string, id: string) => void>>;
  connection(state: Connection): void;
}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;

/**
 * Listens to server-sent events until the returned function is called. The browser connects again by itself where the
 * connection broke, but not where the server answered with an error: that is done here, each time a little later.
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
