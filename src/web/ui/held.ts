import { useEffect, useRef, useState } from 'preact/hooks';
import { askSession, NOT_SENT, type Reply } from '../http';
import type { Route } from '../model/route';
import { serverNow } from '../stream';

/** A line shown to the person, with an optional link. */
export interface ShownNotice {
  text: string;
  tone: 'good' | 'bad' | 'quiet';
  to?: { label: string; route: Route };
  /** Set if the notice says what happened to a decision. Such a notice stays above later notices until it is closed. */
  stays?: true;
}

export type Notify = (notice: ShownNotice) => void;

/** A decision that is not sent yet and can be undone, or a decision that is being sent. */
export interface Held {
  /** The key of the call or calls to decide. Only one decision with the same key is held at a time. */
  key: string;
  /** The decision in words. */
  what: string;
  /** The screen on which the decision was made. Undoing leads back there. */
  back: Route;
  /** When the decision is sent, by the server's clock, in milliseconds since 1970. Undefined once it is sent. */
  due?: number;
}

/** Sends a decision when it can no longer be undone. `send` can check whether the person has left meanwhile. */
export type Hold = (one: Held, send: (isLeft: () => boolean) => Promise<void>, isNow?: boolean) => void;

/** Sends a decision with a signal that ends the wait for the answer. */
export type Careful = <T>(post: (signal: AbortSignal) => Promise<Reply<T>>) => Promise<Reply<T>>;

/** If no answer comes within this time (milliseconds), the page says that the decision was sent. */
const SLOW_MS = 2_500;

/**
 * Sends a person's decision, and always reports what happened to it. If the connection is already lost, the decision is
 * not sent. If the connection is lost before the answer comes, a notice says so.
 */
export function useCareful(isLost: boolean, notify: Notify): Careful {
  const waiting = useRef(new Set<AbortController>()).current;
  const lost = useRef(isLost);
  lost.current = isLost;
  useEffect(() => (isLost ? waiting.forEach((one) => one.abort()) : undefined), [isLost]);
  return async (post) => {
    // Perhaps only the stream of events is lost, for example behind a proxy that holds events back. So the page asks
    // the server.
    const asked = lost.current ? await askSession() : undefined;
    if (asked?.ok === false && asked.status === 0) return { ok: false, status: 0, error: NOT_SENT };
    if (asked?.ok === false && asked.status === 401) return asked;
    const sent = new AbortController();
    waiting.add(sent);
    const slow = setTimeout(() => notify({ text: 'It was sent; no answer yet …', tone: 'quiet' }), SLOW_MS);
    const reply = await post(sent.signal);
    clearTimeout(slow);
    waiting.delete(sent);
    return reply;
  };
}

/** Decisions that wait to be sent. When the page or its connection ends, these decisions are dropped and not sent. */
export function useHeld(
  ms: number,
  { isLost, isOpen }: { isLost: boolean; isOpen: boolean },
  notify: Notify,
) {
  const [held, setHeld] = useState<readonly Held[]>([]);
  const all = useRef(new Map<string, Held & { timer?: ReturnType<typeof setTimeout> }>()).current;
  const isLeft = useRef(false);
  const draw = () => setHeld([...all.values()]);
  const hold: Hold = (one, send, isNow = false) => {
    if (all.has(one.key)) return;
    const sendIt = () => {
      all.set(one.key, one);
      draw();
      void send(() => isLeft.current).finally(() => {
        all.delete(one.key);
        draw();
      });
    };
    // The decision is dropped a moment after the person has left. Until then it must not be sent.
    const unlessLeft = () => (isLeft.current ? undefined : sendIt());
    if (isNow || ms === 0) return sendIt();
    all.set(one.key, { ...one, due: serverNow() + ms, timer: setTimeout(unlessLeft, ms) });
    draw();
  };
  const undo = ({ key }: Held) => {
    const timer = all.get(key)?.timer;
    if (timer === undefined) return false;
    clearTimeout(timer);
    all.delete(key);
    draw();
    return true;
  };
  /** Drops all held decisions. Returns the text of the notice, if there was one. */
  const drop = (why: string) => {
    const dropped = [...all.values()].filter(undo);
    if (dropped.length === 0) return undefined;
    const text = `Not sent, because ${why}: ${dropped.map(({ what }) => what).join('; ')}`;
    notify({ text, tone: 'bad', stays: true });
    return text;
  };
  isLeft.current ||= !isOpen;
  useEffect(() => void (isLost && drop('the connection was lost')), [isLost]);
  useEffect(() => void (isOpen ? (isLeft.current = false) : drop('your session ended')), [isOpen]);
  useLeaving(held.length > 0, () => drop('the page was closed'));
  const leave = () => {
    isLeft.current = true;
    return drop('you signed out');
  };
  useEffect(() => () => void leave(), []);
  return { held, hold, undo, leave };
}

/**
 * Warns before the page is closed. A browser may keep a closed page and show it again, so `leave` ends the page's work.
 */
function useLeaving(isBusy: boolean, leave: () => void) {
  useEffect(() => {
    if (!isBusy) return;
    const warn = (event: Event) => event.preventDefault();
    addEventListener('beforeunload', warn);
    addEventListener('pagehide', leave);
    return () => {
      removeEventListener('beforeunload', warn);
      removeEventListener('pagehide', leave);
    };
  }, [isBusy]);
}
