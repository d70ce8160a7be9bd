import type { JSX } from 'preact';
import type { Route } from './model/route';
import { InboxScreen } from './screens/inbox';
import { Late } from './ui/app';
import { Text } from './ui/text';

/** Screens by name. */
type Screens = Readonly<Record<string, () => JSX.Element>>;

/** The screens that have no parameters, by the name in the address: `#/stats`. A feature adds its own here. */
const SCREENS: Screens = {
  stats: () => <Late load={loadStats} show={({ StatsScreen }) => <StatsScreen />} />,
  decided: () => <Late load={loadDecided} show={({ DecidedScreen }) => <DecidedScreen />} />,
  refused: () => <Late load={loadDecided} show={({ RefusedScreen }) => <RefusedScreen />} />,
  passkeys: () => <Late load={loadPasskeys} show={({ PasskeysScreen }) => <PasskeysScreen />} />,
  push: () => <Late load={loadPush} show={({ PushScreen }) => <PushScreen />} />,
  grants: () => <Late load={loadGrants} show={({ GrantsScreen }) => <GrantsScreen />} />,
};

/** A link of the header. */
interface HeaderLink {
  label: string;
  to: Route;
  /** The key that leads there. */
  key: string;
  /** The screens that belong to the link, as `screenName` names them. */
  shows: readonly string[];
}

export const HEADER_LINKS: readonly HeaderLink[] = [
  { label: 'Inbox', to: { at: 'inbox' }, key: 'g', shows: ['inbox', 'call', 'grants'] },
  { label: 'Turns', to: { at: 'turns' }, key: 't', shows: ['turns', 'turn', 'decided'] },
  {
    label: 'Conversations',
    to: { at: 'conversations' },
    key: 'c',
    shows: ['conversations', 'conversation'],
  },
  { label: 'Stats', to: { at: 'named', name: 'stats' }, key: 's', shows: ['stats', 'refused'] },
];

/** The name of the screen that a route shows. */
export function screenName(route: Route, screens: Screens = SCREENS): string {
  if (route.at !== 'named') return route.at;
  return Object.hasOwn(screens, route.name) ? route.name : 'nowhere';
}

interface ScreenProps {
  route: Route;
  screens?: Screens;
}

/** The screen of a route. */
export function Screen({ route, screens = SCREENS }: ScreenProps) {
  switch (route.at) {
    case 'inbox':
      return <InboxScreen query={route.query} />;
    case 'call':
      return <InboxScreen query={route.query} open={route} />;
    case 'turns':
      return (
        <Late key="turns" load={loadTurns} show={({ TurnsScreen }) => <TurnsScreen query={route.query} />} />
      );
    case 'conversations':
      return (
        <Late
          key="conversations"
          load={loadConversations}
          show={({ ConversationsScreen }) => <ConversationsScreen query={route.query} />}
        />
      );
    case 'conversation':
      return (
        <Late
          key={route.session}
          load={loadConversation}
          show={({ ConversationScreen }) => (
            <ConversationScreen session={route.session} start={route.start} />
          )}
        />
      );
    case 'turn':
      return (
        <Late
          key={route.turn}
          load={loadTurn}
          show={({ TurnScreen }) => <TurnScreen turn={route.turn} step={route.step} />}
        />
      );
    case 'named': {
      const Named = screens[screenName(route, screens)];
      return Named ? <Named key={route.name} /> : <Nowhere place={route.name} />;
    }
    case 'nowhere':
      return <Nowhere place={route.place} />;
  }
}

const loadTurn = () => import('./screens/turn/turn');
const loadTurns = () => import('./screens/turns');
const loadConversations = () => import('./screens/conversations');
const loadConversation = () => import('./screens/conversation');
const loadDecided = () => import('./screens/decided');
const loadPasskeys = () => import('./screens/passkeys');
const loadPush = () => import('./screens/push');
const loadGrants = () => import('./screens/grants');
const loadStats = () => import('./screens/stats');

/** Shown in place of a screen that the page does not have. */
function Nowhere({ place }: { place: string }) {
  return (
    <div class="empty" role="alert">
      <h1 class="pane-title">This page does not exist</h1>
      <p>
        The web inbox has no place{' '}
        <code>
          #/
          <Text of={place} />
        </code>
        . Perhaps the address was cut off.
      </p>
      <p>
        <a href="#/">Go to the inbox</a>
      </p>
    </div>
  );
}
