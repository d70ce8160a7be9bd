import type { JSX } from 'preact';
import type { Session } from '../../server/api';
import type { LiveInbox } from '../api/use-inbox';
import { standingOf } from '../model/connection';
import { hrefOf, type Route } from '../model/route';
import { Text } from '../parts/text';
import { visibleText } from '../parts/visible-text';
import { THEMES, useTheme, type Theme } from '../state/use-theme';

interface HeaderProps {
  session: Session;
  route: Route;
  inbox: LiveInbox;
  signOut: () => void;
  help: () => void;
}

/** Where one is, how many wait, and who one is. */
export function Header({ session, route, inbox, signOut, help }: HeaderProps): JSX.Element {
  const isInbox = route.at === 'inbox' || route.at === 'call';
  const isTurns = route.at === 'turns' || route.at === 'turn';
  return (
    <header class="header">
      <a class="brand" href={hrefOf({ at: 'inbox' })}>
        Countersign
      </a>
      <nav aria-label="Desk">
        <a href={hrefOf({ at: 'inbox' })} aria-current={isInbox ? 'page' : undefined}>
          Inbox <span class="count">{inbox.snapshot?.total ?? 0}</span>
        </a>
        <a href={hrefOf({ at: 'turns' })} aria-current={isTurns ? 'page' : undefined}>
          Turns
        </a>
        <a href={hrefOf({ at: 'stats' })} aria-current={route.at === 'stats' ? 'page' : undefined}>
          Stats
        </a>
      </nav>
      <ConnectionState {...inbox} />
      <ThemeSwitch />
      <button class="button plain" type="button" onClick={help} aria-label="Keys" title="Keys (?)">
        ?
      </button>
      <span class="who" title={`Countersign ${session.version}, namespace ${session.namespace}`}>
        <Text of={session.user} />
      </span>
      <button class="button plain sign-out" type="button" onClick={signOut}>
        Sign out
      </button>
    </header>
  );
}

function ConnectionState({ connection, trouble }: LiveInbox): JSX.Element {
  const { state, words, title } = standingOf(connection, trouble);
  return (
    <span class={`connection ${state}`} role="status" title={visibleText(title)}>
      <span class="dot" aria-hidden="true" />
      <span class="words">{words}</span>
    </span>
  );
}

const SIGNS: Readonly<Record<Theme, string>> = { system: '◐', light: '☀', dark: '☾' };

function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useTheme();
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
  const label = `Theme: ${theme}. Switch to ${next}`;
  return (
    <button
      class="button plain"
      type="button"
      aria-label={label}
      title={label}
      onClick={() => setTheme(next)}
    >
      {SIGNS[theme]}
    </button>
  );
}
