import { SILENT_MS, streamRetryMs } from '../contract/streamed-text';
import type { Connection } from './model/labels';

/** The server's time minus this machine's, in milliseconds. Undefined until the server sends its time. */
let ahead: number | undefined;
let isExact = false;

/**
 * The time of the web inbox's machine, in milliseconds since 1970. Deadlines are compared with it, because the clock of
 * the browser's machine may be minutes off.
 */
export function serverNow(): number {
  return Date.now() + (ahead ?? 0);
}

/**
 * Takes the server's current time. An invalid time is ignored. The `Date` header of an answer (`exact` is false) has
 * whole seconds and may come from a proxy, so it counts only until the first beat.
 */
export function takeServerTime(at: string | null, exact: boolean): void {
  const time = Date.parse(at ?? '');
  if (Number.isNaN(time) || (isExact && !exact)) return;
  isExact = exact;
  ahead = time - Date.now();
}

/** Receives the events of a stream. */
interface LiveHandlers {
  /** Handlers by the name of the event. */
  on: Readonly<Record<string, (data: string, id: string) => void>>;
  /** `live`: an event came. `lost`: an error, or silence. It is called again at each new attempt. */
  connection(state: Exclude<Connection, 'connecting'>): void;
}

/** Calls back if nothing arrives for a while, once for each silence. */
interface Watchdog {
  heard(): void;
  stop(): void;
}

/** Makes a watchdog, which waits for the first sign. */
export function createWatchdog(silentMs: number, onSilence: () => void): Watchdog {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => clearTimeout(timer);
  const heard = () => {
    stop();
    timer = setTimeout(onSilence, silentMs);
  };
  return { heard, stop };
}

/**
 * Listens to server-sent events until the returned function is called. The browser itself reconnects after a lost
 * connection. It does not reconnect after an error answer, and does not notice a silent connection. In these two cases
 * this function reconnects. After errors, the wait grows. A frozen server, or a network that drops everything, makes a
 * connection silent.
 */
export function listen(url: string, { on, connection }: LiveHandlers): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let isLive = false;
  const lose = () => {
    isLive = false;
    connection('lost');
  };
  const watchdog = createWatchdog(SILENT_MS, () => {
    lose();
    connect();
  });
  const heard = () => {
    watchdog.heard();
    failures = 0;
    if (!isLive) connection('live');
    isLive = true;
  };
  const connect = () => {
    source?.close();
    clearTimeout(timer);
    watchdog.heard();
    const current = new EventSource(url);
    source = current;
    current.onerror = () => {
      lose();
      if (current.readyState !== EventSource.CLOSED) return;
      watchdog.stop();
      timer = setTimeout(connect, streamRetryMs(++failures));
    };
    for (const [name, take] of Object.entries({ ...on, beat: on['beat'] ?? takeBeat })) {
      current.addEventListener(name, ({ data, lastEventId }: MessageEvent<string>) => {
        heard();
        take(data, lastEventId);
      });
    }
  };
  connect();
  return () => {
    clearTimeout(timer);
    watchdog.stop();
    source?.close();
  };
}

/** Takes the time in a beat. */
export function takeBeat(data: string): void {
  const { at }: { at: string } = JSON.parse(data);
  takeServerTime(at, true);
}
