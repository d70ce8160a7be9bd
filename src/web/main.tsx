import { Button } from './ui/widgets';
import { render } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ApiError, InboxSession } from '../server/api';
import { readSession, showUser, readCall, signIn, signOut } from './http';
import type { Selection } from './model/alike';
import { grouped, tabTitle } from './model/inbox';
import { connectionStatus, errorText } from './model/labels';
import { type Route, signInCode, hrefOf } from './model/route';
import { HEADER_LINKS, Screen, screenName } from './screens';
import { type LiveInbox, useInbox } from './shared-stream';
import { forgetTyped } from './kept-input';
import {
  type AppContext,
  AppContextProvider,
  goTo,
  placeOf,
  useKeys,
  useLate,
  useLateBy,
  useRoute,
  type Followed,
  useNow,
} from './ui/app';
import { watchFields } from './ui/late-keys';
import { useCareful, useHeld, type Notify, type ShownNotice, type Held } from './ui/held';
import { Text, visibleText } from './ui/text';
import { storedTheme } from './theme';
import { describeOutcome } from '../history/labels';
import type { CallView } from '../history/view-types';

interface State {
  /** The last session. During a new sign-in the page stays visible below the form, with everything that was typed. */
  session?: InboxSession;
  isOpen: boolean;
  /** True until the first answer comes. Until then the page shows nothing. */
  isAsking?: boolean;
  problem?: string;
}

/** Why the session of the page has ended: perhaps another person uses this browser now. */
function endedText({ signedIn }: ApiError) {
  const who = signedIn === undefined ? '' : `: ${visibleText(signedIn)} has signed in in this browser`;
  return `Your session has ended${who}. Sign in again; what you typed is kept.`;
}

/** The sign-in, or the page of the signed-in user. */
function App() {
  const [state, setState] = useState<State>({ isOpen: false, isAsking: true });
  useEffect(() => void openSession().then(setState), []);
  const { session, isOpen, problem } = state;
  showUser(session?.user);
  const leave = useCallback(
    (error: ApiError) => setState((last) => ({ ...last, isOpen: false, problem: endedText(error) })),
    [],
  );
  if (state.isAsking === true) return <p class="opening">Opening the web inbox …</p>;
  const enter = (entered: InboxSession) => {
    forgetTyped(entered);
    setState({ session: entered, isOpen: true });
  };
  const out = (problem: string | undefined) => {
    forgetTyped();
    // Notifications for this person must not be shown to the next person at this browser.
    if ('serviceWorker' in navigator) navigator.serviceWorker.controller?.postMessage('signed-out');
    void signOut().then((reply) => {
      // The sign-out failed, so the session may still be open.
      setState({ isOpen: false, problem: reply.ok ? problem : errorText(reply.error) });
      if (reply.ok && reply.data) location.assign(reply.data.signOutAt);
    });
  };
  return (
    <>
      {!isOpen && <SignInScreen problem={problem} enter={enter} />}
      {session && (
        <div class={`app ${session.role}`} hidden={!isOpen} key={session.user}>
          <Page session={session} isOpen={isOpen} signedOut={leave} signOut={out} />
        </div>
      )}
    </>
  );
}

/** Signs in with the code in the address, after removing the code from the address. */
async function openSession(): Promise<State> {
  const code = signInCode(location.hash);
  if (code !== undefined) history.replaceState(null, '', location.pathname);
  const reply = code === undefined ? await readSession() : await signIn({ code });
  if (reply.ok) return { session: reply.data, isOpen: true };
  if (reply.status === 401 && code === undefined) return { isOpen: false };
  return { isOpen: false, problem: errorText(reply.error) };
}

interface SignInProps {
  problem: string | undefined;
  enter: (session: InboxSession) => void;
}

/** The form that asks for a token. */
function SignInScreen({ problem, enter }: SignInProps) {
  const [token, setToken] = useState('');
  const [message, setMessage] = useState(problem);
  const [issuer, setIssuer] = useState<string>();
  useEffect(() => void readSession().then((reply) => reply.ok || setIssuer(reply.error.signInAt)), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const reply = await signIn({ token: token.trim() });
    if (reply.ok) return enter(reply.data);
    setToken('');
    setMessage(errorText(reply.error));
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1 class="brand">Countersign</h1>
        <p>Sign in to see what waits for a decision.</p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          value={token}
          required
          autofocus
          aria-describedby="token-help"
          aria-invalid={message !== undefined}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <p id="token-help" class="quiet">
          <code>countersign web user</code> gives you one.
        </p>
        <p role="alert" class="problem">
          {message}
        </p>
        <Button look="primary" type="submit">
          Sign in
        </Button>
        {issuer && <a href={issuer}>Sign in with your organization</a>}
      </form>
    </main>
  );
}

interface PageProps {
  session: InboxSession;
  /** False while the page asks for a new sign-in. */
  isOpen: boolean;
  signedOut: (error: ApiError) => void;
  /** Signs out. `left`: a text that the person has to read afterwards. */
  signOut: (left: string | undefined) => void;
}

/** The page of a signed-in user. */
function Page({ session, isOpen, signedOut, signOut }: PageProps) {
  const route = useRoute();
  const isLeft = useRef(false);
  useEffect(() => () => void (isLeft.current = true), []);
  // An answer that comes after the person has signed out is not about the next one.
  const ended = useCallback((error: ApiError) => (isLeft.current ? undefined : signedOut(error)), []);
  const inbox = useInbox(isOpen, ended);
  const { notices, notify, close } = useNotices();
  const follow = useFollowed(notify);
  const fail: AppContext['fail'] = useCallback(({ status, error }) => {
    if (status === 401) return ended(error);
    notify({ text: errorText(error), tone: 'bad' });
  }, []);
  const isLost = inbox.connection === 'lost';
  const carefully = useCareful(isLost, notify);
  const { held, hold, undo, leave } = useHeld(session.undoMs, { isLost, isOpen }, notify);
  const [selection, select] = useState<Selection>({ items: [] });
  const chips = useLateBy(loadChips, true, notify);
  const [entitled, entitle] = useState<string>();
  const context = useMemo<AppContext>(
    () => ({
      session,
      inbox,
      notify,
      notices,
      follow,
      fail,
      held,
      hold,
      carefully,
      selection,
      select,
      entitle,
    }),
    [session, inbox.pulse, inbox.connection, inbox.trouble, fail, held, notices, selection],
  );
  const screen = screenName(route);
  const named = screen.charAt(0).toUpperCase() + screen.slice(1);
  const title = tabTitle(inbox.pulse?.waiting ?? 0, entitled ?? named);
  useEffect(() => void (document.title = title), [title]);
  useKeys(Object.fromEntries(HEADER_LINKS.map(({ key, to }) => [key, () => goTo(to)])));
  return (
    <AppContextProvider.Provider value={context}>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header {...{ session, route, inbox }} signOut={() => signOut(leave())} />
      {chips && <chips.Chips />}
      {session.role === 'viewer' && (
        <aside class="banner" aria-label="Your role">
          You may only look: the approvers file makes you a viewer.
        </aside>
      )}
      <main id="main" tabIndex={-1} class={`main at-${screen}`}>
        <Screen route={route} />
      </main>
      <Notices {...{ notices, close, held, undo }} />
    </AppContextProvider.Provider>
  );
}

/** Moves the focus to the main part. The fragment holds the route, so this link cannot do that by itself. */
function skip(event: Event) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

interface HeaderProps {
  session: InboxSession;
  route: Route;
  inbox: LiveInbox;
  signOut: () => void;
}

const loadChips = () => import('./screens/chips');
const loadAccount = () => import('./screens/account/account');

/** The navigation, the number of waiting items, the connection, and the user. The menu of the user is loaded later. */
function Header({ session, route, inbox, signOut }: HeaderProps) {
  const { state, label, title } = connectionStatus(inbox.connection, inbox.trouble);
  const late = useLate(loadAccount, true);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const help = () => setHelpOpen(true);
  useKeys({ '?': help });
  return (
    <header class="header">
      <a class="brand" href={placeOf({ at: 'inbox' })}>
        Countersign
      </a>
      <nav aria-label="Main">
        {HEADER_LINKS.map(({ label, to, shows }) => (
          <a
            key={label}
            href={placeOf(to)}
            aria-current={shows.includes(screenName(route)) ? 'page' : undefined}
          >
            {label} {to.at === 'inbox' && <span class="count">{grouped(inbox.pulse?.waiting ?? 0)}</span>}
          </a>
        ))}
      </nav>
      <span class={`connection ${state}`} role="status" title={visibleText(title)}>
        <span class="dot" aria-hidden="true" />
        <span class="words">{label}</span>
      </span>
      <Button look="plain account-opener" popovertarget="account">
        <span class="sr-only">Signed in as </span>
        <span class="who">
          <Text of={session.user} />
        </span>{' '}
        <span aria-hidden="true">▾</span>
      </Button>
      <div class="account" id="account" popover="auto" role="group" aria-label="Your account">
        {late ? <late.Account {...{ help, signOut }} /> : <p class="quiet">Opening …</p>}
      </div>
      {isHelpOpen && late && <late.HelpDialog close={() => setHelpOpen(false)} />}
    </header>
  );
}

document.documentElement.dataset['theme'] = storedTheme();
watchFields();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
// Loaded early, so that the first diff has its colours immediately. If this fails, diffs have no colours.
addEventListener('load', () => void import('./model/syntax').catch(() => undefined));

/**
 * How many milliseconds until the first look. Most calls end soon, so the time is short. It doubles after each look.
 */
const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** After this time the page no longer looks. Only the list shows how the call ended. */
const GIVE_UP_MS = 6 * 3_600_000;
const MOST = 50;

/**
 * Makes the function that follows a call which the user let run here, and says what went wrong with it. Such a notice
 * stays until it is closed, because the user is at another request by then.
 */
function useFollowed(notify: Notify): (one: Followed) => void {
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
  return useCallback((one: Followed) => {
    if (timers.current.size >= MOST) return;
    const giveUpAt = Date.now() + GIVE_UP_MS;
    const wait = (ms: number) => {
      const timer = setTimeout(() => {
        timers.current.delete(timer);
        void look(ms);
      }, ms);
      timers.current.add(timer);
    };
    const look = async (waited: number) => {
      const reply = await readCall(one.turn, one.callId);
      const call = reply.ok ? reply.data.view.calls.find(({ callId }) => callId === one.callId) : undefined;
      const trouble = call && troubleOf(call);
      if (trouble !== undefined)
        notify({
          text: `${one.what} ${trouble}`,
          tone: 'bad',
          to: { label: 'See it', route: { at: 'call', turn: one.turn, callId: one.callId } },
          stays: true,
        });
      const isOver =
        trouble !== undefined || call?.result !== undefined || (!reply.ok && reply.status === 404);
      if (!isOver && Date.now() < giveUpAt) wait(Math.min(2 * waited, LONGEST_MS));
    };
    wait(FIRST_MS);
  }, []);
}

/** The problem of a call, for the person who let it run. Undefined if the call went well or is not over. */
function troubleOf({ phase, outcome, result, doubt, request }: CallView): string | undefined {
  if (phase === 'in_doubt' && doubt) return `is in doubt: ${doubt.message}`;
  if (phase === 'request' && request?.note !== undefined) return `waits again: ${request.note}`;
  if (outcome === undefined || result?.error === undefined || outcome === 'denied') return undefined;
  return `ended as ${describeOutcome(outcome)[0]}: ${result.error.message}`;
}

/** A good notice disappears after this many milliseconds. A bad notice stays until it is closed. */
const STAYS_MS = 8_000;

/** The notices: the notices that stay, and below them the newest notice. */
function useNotices() {
  const [notices, setNotices] = useState<readonly ShownNotice[]>([]);
  const close = (closed: ShownNotice) => setNotices((all) => all.filter((one) => one !== closed));
  const notify = useCallback<Notify>((next) => {
    setNotices((all) => [...all.filter(({ stays, text }) => stays === true && text !== next.text), next]);
  }, []);
  return { notices, notify, close };
}

interface NoticesProps {
  notices: readonly ShownNotice[];
  close: (notice: ShownNotice) => void;
  held: readonly Held[];
  undo: (one: Held) => boolean;
}

/** The notices and the decisions that can be undone, for screen readers too. */
function Notices({ notices, close, held, undo }: NoticesProps) {
  const open = held.filter(({ due }) => due !== undefined);
  const undoOne = (one: Held | undefined) => {
    if (one && undo(one)) goTo(one.back);
  };
  useKeys({ z: () => undoOne(open.at(-1)) });
  const last = notices.at(-1);
  useEffect(() => {
    if (last === undefined || last.tone === 'bad' || last.stays === true) return;
    const timer = setTimeout(() => close(last), STAYS_MS);
    return () => clearTimeout(timer);
  }, [last]);
  return (
    <div class="notices" role="status" aria-live="polite">
      {open.map((one) => (
        <p class="notice quiet" key={one.key}>
          <span title={visibleText(one.what)}>
            Not sent yet: <Text of={one.what} /> <Seconds until={one.due} />
          </span>
          <Button aria-keyshortcuts="z" onClick={() => undoOne(one)}>
            Undo
          </Button>
        </p>
      ))}
      {notices.map((notice) => (
        <p class={`notice ${notice.tone}`} key={notice.text}>
          <span title={visibleText(notice.text)}>
            <Text of={notice.text} />
          </span>
          {notice.to && <a href={hrefOf(notice.to.route)}>{notice.to.label}</a>}
          <Button
            look="plain"

            aria-label="Close this notice"
            onClick={() => close(notice)}
          >
            ✕
          </Button>
        </p>
      ))}
    </div>
  );
}

/** How many seconds are left. It is hidden from screen readers, which would read it each second. */
function Seconds({ until = 0 }: { until: number | undefined }) {
  const left = Math.ceil((until - useNow(250)) / 1_000);
  return (
    <span class="quiet" aria-hidden="true">
      {Math.max(0, left)} s
    </span>
  );
}
