import { Hono, type MiddlewareHandler } from 'hono';
import type { Needed } from './auth/roles';
import { conversationRoutes } from './conversations';
import { decisionRoutes } from './decisions';
import type { AppDeps } from './deps';
import { fileRoutes } from './files';
import { grantRoutes, grantsRoutes } from './grant-routes';
import { ownPageRoutes } from './own-page/routes';
import { pageRoutes } from './page';
import { pauseRoutes } from './pauses';
import { pushRoutes } from './push/routes';
import {
  decidedRoutes,
  type Env,
  inboxRoutes,
  ownSessionRoutes,
  passkeyRoutes,
  refusalRoutes,
  signInRoutes,
  statsRoutes,
} from './session';
import { issuerRoutes } from './sign-in-routes';
import { streamRoutes } from './streamed-text';
import { cancelRoutes, forkRoutes, turnRoutes } from './turns';

/** Routes of one topic. */
interface RouteGroup {
  /** The path that each path of `make` begins with. */
  at: string;
  /** `role` refuses who has not the role that a route needs. All groups but `doors` come after it. */
  make(deps: AppDeps, role: MiddlewareHandler<Env>): Hono<Env>;
  /** The role that each route of the API needs. The app refuses a route that is not named here. */
  needs?: Readonly<Record<string, Needed>>;
}

/** The groups, by what a request passes before it reaches them. */
export interface Routes {
  /** Pages of other origins may ask here. Each group checks origin, user and role itself. */
  doors: readonly RouteGroup[];
  /** Needs a signed-in user. The body may be large: the group itself limits it once it knows the sender. */
  large: readonly RouteGroup[];
  /** Needs no session. Each group checks its senders itself. */
  open: readonly RouteGroup[];
  /** Needs a signed-in user. */
  signedIn: readonly RouteGroup[];
  /** What a browser opens as a page. Reads only. */
  pages: readonly RouteGroup[];
}

/** All routes of the web inbox beside its probes. A feature adds its group here. */
export const ROUTES: Routes = {
  doors: [
    {
      at: '/',
      make: ownPageRoutes,
      // Who says something there has to be an approver, which the routes check.
      needs: {
        'POST /api/chat/:agent': 'viewer',
        'GET /api/chat/:agent/:thread/stream': 'viewer',
        'POST /ag-ui/:agent': 'viewer',
      },
    },
  ],
  large: [{ at: '/api/files', make: fileRoutes, needs: { 'POST /api/files': 'approver' } }],
  open: [
    { at: '/api/session', make: signInRoutes, needs: { 'POST /api/session': 'anybody' } },
    {
      at: '/api/stream',
      make: (deps) => new Hono<Env>().route('/', streamRoutes(deps)),
      needs: {
        'GET /api/stream': 'worker',
        'POST /api/stream': 'worker',
        'POST /api/stream/news': 'worker',
      },
    },
  ],
  signedIn: [
    {
      at: '/api/session',
      make: ownSessionRoutes,
      needs: { 'GET /api/session': 'viewer', 'DELETE /api/session': 'viewer' },
    },
    {
      at: '/api/inbox',
      make: inboxRoutes,
      needs: { 'GET /api/inbox': 'viewer', 'GET /api/inbox/events': 'viewer' },
    },
    {
      at: '/api/turns',
      make: turnRoutes,
      needs: {
        'GET /api/turns': 'viewer',
        'GET /api/turns/:turn': 'viewer',
        'GET /api/turns/:turn/events': 'viewer',
        'GET /api/turns/:turn/calls/:callId': 'viewer',
        'POST /api/turns/:turn/calls/:callId/open': 'viewer',
      },
    },
    {
      at: '/api/turns',
      make: decisionRoutes,
      needs: {
        'POST /api/turns/:turn/decisions': 'approver',
        'POST /api/turns/:turn/ask-again': 'admin',
        'POST /api/turns/:turn/resolutions': 'approver',
        'POST /api/turns/:turn/answers': 'approver',
      },
    },
    { at: '/api/turns', make: cancelRoutes, needs: { 'POST /api/turns/:turn/cancel': 'own' } },
    { at: '/api/turns', make: forkRoutes, needs: { 'POST /api/turns/:turn/forks': 'approver' } },
    {
      at: '/api/turns',
      make: grantRoutes,
      needs: {
        'POST /api/turns/:turn/grant-plans': 'approver',
        'POST /api/turns/:turn/grants': 'approver',
      },
    },
    {
      at: '/api/grants',
      make: grantsRoutes,
      needs: {
        'GET /api/grants': 'viewer',
        'POST /api/grants/:grant/confirmation': 'approver',
        'POST /api/grants/:grant/revocation': 'approver',
        'GET /api/grants/:grant/fits': 'viewer',
      },
    },
    {
      at: '/api/pauses',
      make: pauseRoutes,
      needs: { 'POST /api/pauses': 'approver', 'POST /api/pauses/end': 'admin' },
    },
    {
      at: '/api/conversations',
      make: conversationRoutes,
      needs: {
        'GET /api/conversations': 'viewer',
        'GET /api/conversations/:session': 'viewer',
        'GET /api/conversations/:session/events': 'viewer',
        'POST /api/conversations/:session/messages': 'approver',
        'POST /api/conversations/:session/controls': 'own',
      },
    },
    { at: '/api/stats', make: statsRoutes, needs: { 'GET /api/stats': 'viewer' } },
    { at: '/api/decided', make: decidedRoutes, needs: { 'GET /api/decided': 'viewer' } },
    { at: '/api/passkeys', make: passkeyRoutes, needs: { 'GET /api/passkeys': 'approver' } },
    { at: '/api/refusals', make: refusalRoutes, needs: { 'GET /api/refusals': 'viewer' } },
    {
      at: '/api/push',
      make: pushRoutes,
      needs: { 'GET /api/push': 'viewer', 'POST /api/push': 'approver', 'DELETE /api/push': 'viewer' },
    },
  ],
  pages: [
    { at: '/', make: issuerRoutes },
    { at: '/', make: pageRoutes },
  ],
};

/** The role that each route needs. */
export function needsOf({ doors, large, open, signedIn }: Routes): ReadonlyMap<string, Needed> {
  return new Map(
    [...doors, ...large, ...open, ...signedIn].flatMap(({ needs = {} }) => Object.entries(needs)),
  );
}
