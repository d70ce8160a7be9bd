import type { HonoRequest, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { isAtLeast, type Permit, type Role } from '../../authority/rules/permits';
import { CountersignError } from '../../contract/errors';
import type { Reader } from '../visible-turns';
import type { Env } from '../deps';
import { requestersOf } from '../../authority/votes/requesters';

/**
 * The role that a route needs. `own`: admins, and also approvers if the route is about a turn that they asked for or a
 * conversation that they wrote in. `anybody`: no session is needed. `worker`: the route checks its own token.
 */
export type Needed = Role | 'own' | 'anybody' | 'worker';

/**
 * Accepts only requests from people who have the role that the route needs.
 *
 * @throws CountersignError `not_allowed`; `not_found` if a route for people's own turns or sessions names one that
 * does not exist.
 */
export function requireRole(needs: ReadonlyMap<string, Needed>): MiddlewareHandler<Env> {
  return async (c, next) => {
    const routes = matchedRoutes(c);
    const at = routes.findLastIndex(({ method }) => method !== 'ALL');
    const route = routes[at];
    // A path without a route is not found. A route without an entry is refused.
    const needed = route ? needs.get(`${route.method} ${route.path}`) : 'viewer';
    const { role } = c.get('permit');
    if (needed === 'own')
      await requireOwn(c.get('reader'), role, { user: c.get('who').user, ...paramsOf(c.req, at) });
    else if (!isRole(needed) || !isAtLeast(role, needed)) throw notAllowed(role, needed);
    await next();
  };
}

function isRole(needed: Needed | undefined): needed is Role {
  return needed === 'viewer' || needed === 'approver' || needed === 'admin';
}

/** The parameters as the route itself reads them. */
function paramsOf(request: HonoRequest, at: number): Record<string, string> {
  const before = request.routeIndex;
  request.routeIndex = at;
  const params = request.param();
  request.routeIndex = before;
  return params;
}

interface About {
  user: string;
  turn?: string;
  session?: string;
}

async function requireOwn(reader: Reader, role: Role, { user, turn, session }: About) {
  if (role === 'admin') return;
  if (!isAtLeast(role, 'approver')) throw notAllowed(role, 'approver');
  const names = turn === undefined ? await sendersOf(reader, session ?? '') : await askersOf(reader, turn);
  if (!names.includes(user)) throw notAllowed(role, 'own');
}

/** The people who asked for a turn, by the names that they gave. */
async function askersOf(reader: Reader, turn: string) {
  return requestersOf((await reader.view(await reader.find(turn))).origin);
}

/** The people who wrote in a conversation. */
async function sendersOf(reader: Reader, session: string): Promise<string[]> {
  const { messages } = await reader.session(session).history();
  return messages.flatMap(({ sender }) => sender ?? []);
}

/** The error for a person whose role does not allow something. */
export function notAllowed(role: Permit['role'], needed: Needed | undefined): CountersignError {
  const whose = needed === 'own' ? 'what you asked for, or who is an admin' : `who is ${articleOf(needed)}`;
  return new CountersignError(
    'not_allowed',
    `the approvers file makes you ${articleOf(role)}, and this is for ${whose}`,
    'ask whoever keeps the approvers file: `roles` says who may do what',
  );
}

function articleOf(role: Needed | undefined): string {
  return role === 'viewer' ? 'a viewer' : role === 'approver' ? 'an approver' : 'an admin';
}
