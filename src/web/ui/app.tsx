import { createContext, type JSX } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError, InboxSession } from '../../server/api';
import { send } from '../http';
import { serverNow } from '../stream';
import type { LiveInbox } from '../shared-stream';
import type { Selection } from '../model/alike';
import { hrefOf, parseRoute, type Route } from '../model/route';
import type { Careful, Held, Hold, ShownNotice, Notify } from './held';
import { keepTyped, loadTyped } from '../kept-input';
import { isField, isLate } from './late-keys';
import { visibleText } from './text';

export type { ShownNotice } from './held';

/** A call that the user let run. */
export interface Followed {
  turn: string;
  callId: string;
  /** Tool and arguments in one line. */
  what: string;
}

/** Shared by all parts of the page. */
export interface AppContext {
  session: InboxSession;
  inbox: LiveInbox;
  /** Shows a notice, which screen readers read. */
  notify: Notify;
  /** The notices that are shown. */
  notices: readonly ShownNotice[];
  /** Reports problems of a call that the user let run. */
  follow(call: Followed): void;
  /** Shows a failure. A 401 leads to the sign-in. */
  fail(failed: { status: number; error: ApiError }): void;
  /** Decisions that wait to be sent, and decisions that are being sent. */
  held: readonly Held[];
  /** Sends a decision when it can no longer be undone. `send` can check whether the person has left meanwhile. */
  hold: Hold;
  carefully: Careful;
  /** The selection in the inbox. */
  selection: Selection;
  select(change: (last: Selection) => Selection): void;
  /** Names the tab of the browser after what its screen shows. Undefined: after the screen. */
  entitle(shown: string | undefined): void;
}

export const AppContextProvider = createContext<AppContext | undefined>(undefined);

export function useAppContext(): AppContext {
  const context = useContext(AppContextProvider);
  if (context === undefined) throw new Error('this part is outside of the app context');
  return context;
}

/** Names the tab of the browser while a screen shows this. */
export function useTabTitle(shown: string | undefined): void {
  const { entitle } = useAppContext();
  useEffect(() => {
    if (shown === undefined) return;
    entitle(visibleText(shown));
    return () => entitle(undefined);
  }, [shown]);
}

/** Actions by `event.key`. */
type Keys = Readonly<Record<string, () => void>>;

/**
 * Listens to single keys, except while a person types, or typed a moment ago, or a dialog is open. A key that is held
 * down counts once.
 */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const take = (event: KeyboardEvent) => {
      if (
        event.defaultPrevented ||
        event.repeat ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isLate()
      )
        return;
      const { key, target } = event;
      // Enter on a button or a link belongs to that element.
      const isPressing =
        key === 'Enter' && target instanceof HTMLElement && target.matches('a, button, input');
      if (document.querySelector('dialog[open]') !== null || isField(target) || isPressing) return;
      const act = Object.hasOwn(current.current, key) ? current.current[key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, []);
}

/** The current time of the server, in milliseconds since 1970. It is updated every `everyMs` milliseconds. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/**
 * Numbers requests whose answers replace each other. Called when a request begins, it returns a function to call when
 * its answer has content: false if the answer to a newer request was taken before.
 */
export function useNewest(): () => () => boolean {
  const last = useRef({ asked: 0, taken: 0 }).current;
  return useCallback(() => {
    const own = ++last.asked;
    return () => {
      if (own < last.taken) return false;
      last.taken = own;
      return true;
    };
  }, []);
}

/** Whether this tab is visible. */
export function useTabVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const take = () => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', take);
    return () => document.removeEventListener('visibilitychange', take);
  }, []);
  return isVisible;
}

/** After how many milliseconds a screen reads again. */
const AGAIN_MS = 15_000;

/**
 * Reads a path of the API now, and then again and again while the tab is visible. The data is undefined until the first
 * answer. A failure is shown once, and not each time, unless `refused` knows what to do. `look` reads now.
 */
export function usePolled<T>(
  path: string,
  everyMs = AGAIN_MS,
  refused = (_: number) => false,
): { data: T | undefined; look: () => Promise<void> } {
  const { fail } = useAppContext();
  const isVisible = useTabVisible();
  const [state, setState] = useState<{ path: string; data: T }>();
  const hasFailed = useRef(false);
  const begin = useNewest();
  const look = useCallback(async () => {
    const isNewest = begin();
    const reply = await send<T>('GET', path);
    if (reply.ok && isNewest()) setState({ path, data: reply.data });
    if (!reply.ok && !refused(reply.status) && (!hasFailed.current || reply.status === 401)) fail(reply);
    hasFailed.current = !reply.ok;
  }, [path, fail]);
  useEffect(() => {
    if (!isVisible) return;
    void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => clearInterval(timer);
  }, [look, isVisible]);
  return { data: state?.path === path ? state.data : undefined, look };
}

/** The queries of the lists when the person left them. */
const left = { inbox: '', turns: '', conversations: '' };

/** The list that a route belongs to. */
function listOf({ at }: Route) {
  return at === 'turns' || at === 'conversations' ? at : 'inbox';
}

/** The current route, including what its list shows. */
export function useRoute(): Route {
  const [route, setRoute] = useState<Route>(() => parseRoute(location.hash));
  useEffect(() => {
    const take = () => {
      const next = parseRoute(location.hash);
      setRoute(next);
      // The address always says what the list shows.
      if (hrefOf(next) !== placeOf(next)) history.replaceState(null, '', placeOf(next));
    };
    addEventListener('hashchange', take);
    // The fragment may have changed since the first render.
    take();
    return () => removeEventListener('hashchange', take);
  }, []);
  const query = 'query' in route ? route.query : undefined;
  if (query !== undefined) left[listOf(route)] = query;
  return asLeft(route);
}

/** A route to a list, with the query that the list had when the person left it. */
function asLeft(route: Route): Route {
  if (route.at === 'turns' || route.at === 'conversations')
    return { ...route, query: route.query ?? left[route.at] };
  return route.at === 'inbox' || route.at === 'call' ? { ...route, query: route.query ?? left.inbox } : route;
}

/** The fragment of a route, where a list keeps its last query. */
export function placeOf(route: Route): string {
  return hrefOf(asLeft(route));
}

interface Kept<T> {
  value: T;
  change: (part: Partial<T>) => void;
  forget: () => void;
}

/**
 * A state that outlives its screen and a reload of the page, for this user in this tab.
 */
export function useKept<T extends object>(name: string, initial: T): Kept<T> {
  const { session } = useAppContext();
  const [value, setValue] = useState(() => loadTyped<T>(session, name) ?? initial);
  const last = useRef(value);
  const set = (next: T) => {
    last.current = next;
    setValue(next);
  };
  return {
    value,
    change: (part) => {
      set({ ...last.current, ...part });
      keepTyped(session, name, last.current);
    },
    forget: () => {
      set(initial);
      keepTyped(session, name, undefined);
    },
  };
}

/** Goes to a route. */
export function goTo(route: Route): void {
  location.hash = placeOf(route);
}

/** Shows another part of the list of this screen. The back button skips it. */
export function showInList(route: Route, query: string): void {
  left[listOf(route)] = query;
  location.replace(hrefOf(asLeft(route)));
}

/** A part of the page that is loaded later. Undefined until it is loaded. */
export function useLate<T extends object>(load: () => Promise<T>, isWanted: boolean): T | undefined {
  return useLateBy(load, isWanted, useAppContext().notify);
}

/** As `useLate`, outside of the app context. */
export function useLateBy<T extends object>(
  load: () => Promise<T>,
  isWanted: boolean,
  notify: Notify,
): T | undefined {
  const [late, setLate] = useState<T>();
  useEffect(() => {
    if (!isWanted) return;
    const text = 'This part of the page did not load. Reload the page.';
    load().then(setLate, () => notify({ text, tone: 'bad' }));
  }, [isWanted]);
  return isWanted ? late : undefined;
}

interface LateProps<T> {
  load: () => Promise<T>;
  show: (late: T) => JSX.Element;
  /** The element that says that it is loaded. */
  as?: 'p' | 'h1' | 'h2';
}

/** A screen or a panel that is loaded when it is opened. */
export function Late<T extends object>({ load, show, as: Opening = 'p' }: LateProps<T>) {
  const late = useLate(load, true);
  return late === undefined ? <Opening class="empty">Opening …</Opening> : show(late);
}
