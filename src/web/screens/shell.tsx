import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { ApiError, Session } from '../../server/api';
import { useInbox } from '../api/use-inbox';
import { errorWords } from '../model/error-words';
import { titleOf } from '../model/inbox';
import type { Route } from '../model/route';
import { DeskContext, type Desk, type Notice } from '../state/desk';
import { useKeys } from '../state/use-keys';
import { goTo, useRoute } from '../state/use-route';
import { Header } from './header';
import { HelpDialog } from './help';
import { InboxScreen } from './inbox/inbox';
import { Notices } from './notices';
import { StatsScreen } from './stats/stats';
import { TurnScreen } from './turn/turn';
import { TurnsScreen } from './turns/turns';

interface ShellProps {
  session: Session;
  /** False while a new sign-in is asked for. */
  isOpen: boolean;
  signedOut: () => void;
  signOut: () => void;
}

/** Everything that a signed-in person sees. */
export function Shell({ session, isOpen, signedOut, signOut }: ShellProps): JSX.Element {
  const route = useRoute();
  const inbox = useInbox(isOpen, signedOut);
  const [notice, setNotice] = useState<Notice>();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const fail = useCallback((status: number, error: ApiError) => {
    if (status === 401) return signedOut();
    setNotice({ text: errorWords(error), tone: 'bad' });
  }, []);
  const desk = useMemo<Desk>(
    () => ({ inbox, tell: setNotice, fail }),
    [inbox.snapshot, inbox.connection, inbox.trouble, fail],
  );
  const count = inbox.snapshot?.total ?? 0;
  useEffect(() => void (document.title = titleOf(count)), [count]);
  useKeys({
    '?': () => setHelpOpen(true),
    g: () => goTo({ at: 'inbox' }),
    t: () => goTo({ at: 'turns' }),
    s: () => goTo({ at: 'stats' }),
  });
  return (
    <DeskContext.Provider value={desk}>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header {...{ session, route, inbox, signOut, help: () => setHelpOpen(true) }} />
      <main id="main" tabIndex={-1} class={`main at-${route.at}`}>
        <Screen route={route} />
      </main>
      <Notices notice={notice} close={() => setNotice(undefined)} />
      <HelpDialog open={isHelpOpen} close={() => setHelpOpen(false)} />
    </DeskContext.Provider>
  );
}

/** The fragment is the route's, so the link moves the focus itself. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Screen({ route }: { route: Route }): JSX.Element {
  switch (route.at) {
    case 'inbox':
      return <InboxScreen />;
    case 'call':
      return <InboxScreen open={route} />;
    case 'turns':
      return <TurnsScreen />;
    case 'stats':
      return <StatsScreen />;
    case 'turn':
      return <TurnScreen key={route.turn} turn={route.turn} />;
  }
}
