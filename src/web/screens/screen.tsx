import type { JSX } from 'preact';
import type { Route } from '../model/route';
import { Late } from '../ui/app';
import { Nowhere } from '../ui/widgets';
import { InboxScreen } from './inbox';

/** The screen of a route. */
export function Screen({ route }: { route: Route }): JSX.Element {
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
    case 'stats':
      return <Late key="stats" load={loadStats} show={({ StatsScreen }) => <StatsScreen />} />;
    case 'decided':
      return <Late key="decided" load={loadDecided} show={({ DecidedScreen }) => <DecidedScreen />} />;
    case 'refused':
      return <Late key="refused" load={loadDecided} show={({ RefusedScreen }) => <RefusedScreen />} />;
    case 'passkeys':
      return <Late key="passkeys" load={loadPasskeys} show={({ PasskeysScreen }) => <PasskeysScreen />} />;
    case 'push':
      return <Late key="push" load={loadPush} show={({ PushScreen }) => <PushScreen />} />;
    case 'grants':
      return <Late key="grants" load={loadGrants} show={({ GrantsScreen }) => <GrantsScreen />} />;
    case 'turn':
      return (
        <Late
          key={route.turn}
          load={loadTurn}
          show={({ TurnScreen }) => <TurnScreen turn={route.turn} step={route.step} />}
        />
      );
    case 'nowhere':
      return <Nowhere place={route.place} />;
  }
}

const loadTurn = () => import('./turn/turn');
const loadTurns = () => import('./turns');
const loadConversations = () => import('./conversations');
const loadConversation = () => import('./conversation');
const loadDecided = () => import('./decided');
const loadPasskeys = () => import('./passkeys');
const loadPush = () => import('./push');
const loadGrants = () => import('./grants');
const loadStats = () => import('./stats');
