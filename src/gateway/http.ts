import { randomUUID } from 'node:crypto';
import { Hono, type MiddlewareHandler } from 'hono';
import { CountersignError } from '../contract/errors';
import { LIMITS } from '../contract/limits';
import { inUrl, listen } from '../server/address';
import { createHosts, requireOwnOrigin } from '../server/auth/origin';
import type { Authenticator } from '../server/auth/authenticator';
import { openAuthenticator, type SignInOptions } from '../server/auth/open-authenticator';
import { createUsers } from '../server/auth/users';
import { fewAtOnce } from '../server/auth/few-at-once';
import { createErrorFormatter } from '../server/failure';
import { isAtLeast, isSeenBy, type Permit } from '../authority/rules/permits';
import { readBodyBytes } from '../server/request-body';
import { bearerOf, type Env } from '../server/session';
import type { HookToolSettings } from '../tools/permit-tools';
import type { Gateway } from './gateway';
import { answerHook, claudeCodeOutput, type HookAnswer } from './hooks';
import { createProtocol } from './protocol';

/** How a gateway is served over HTTP. */
interface HttpOptions {
  gateway: Gateway;
  version: string;
  host: string;
  port: number;
  /** File of the users whose tokens count. */
  usersFile: string;
  /** The issuer whose tokens count as well, with the people whom they name. @default none */
  signIn?: Omit<SignInOptions, 'proxy'> | undefined;
  hookTools: Readonly<Record<string, HookToolSettings>>;
  /** What a person may do by the approvers file. */
  permitOf(user: string): Promise<Permit>;
  report(error: unknown): void;
}

/** The most requests of one user that are answered at once. Each may wait for a person, and holds a connection. */
const AT_ONCE = 100;

/**
 * Serves MCP at `/mcp` and hooks at `/hooks/claude-code`, for users with a token. Each request has an instance of its own,
 * so a restart loses nothing.
 *
 * @throws CountersignError `usage`: the port is taken, or nobody has a token.
 */
export async function serveHttp(options: HttpOptions) {
  const { host, gateway, version, signIn } = options;
  const users = createUsers(options.usersFile);
  if ((await users.list()).length === 0 && signIn?.oidc === undefined)
    throw new CountersignError(
      'usage',
      'the gateway does not listen: nobody has a token',
      'add a user first: countersign web user <name> --may-converse',
    );
  const library = await import('@modelcontextprotocol/server');
  const listening = await listen({ host, port: options.port });
  const held = new Map<string, AbortController>();
  const handler = library.createMcpHandler(
    ({ authInfo, requestInfo }) => {
      const who = authInfo?.clientId ?? '';
      const client = requestInfo?.headers.get(SESSION);
      const nameOf = (request: unknown) => JSON.stringify([who, client, request]);
      const cancels = client == null ? undefined : { held, nameOf };
      return createProtocol({ library, gateway, version, who, cancels });
    },
    { onerror: options.report },
  );
  const app = new Hono<Env>();
  const formatError = createErrorFormatter(options.report);
  app.use(requireOwnOrigin(createHosts({ host, port: listening.port, allowHosts: [] })));
  const { authenticator } = openAuthenticator(signIn, { users, hint: HOW_TO_SIGN_IN });
  app.use(requireUser(options, authenticator), fewAtOnce(AT_ONCE));
  app.all('/mcp', async (c) => {
    const token = c.req.header('authorization') ?? '';
    const authInfo = { token, clientId: c.get('who').user, scopes: [] };
    const response = await handler.fetch(c.req.raw, { authInfo });
    if (FIRST_HAS_NONE.every((name) => c.req.header(name) === undefined))
      response.headers.set(SESSION, randomUUID());
    return response;
  });
  app.post('/hooks/claude-code', async (c) => {
    const text = (await readBodyBytes(c, HOOK_BODY)).toString('utf8');
    const { hookTools } = options;
    const open = () => Promise.resolve(gateway);
    const by = { hookTools, open, who: c.get('who').user, signal: c.req.raw.signal };
    return c.json(claudeCodeOutput(await answerHook(text, by)));
  });
  app.notFound(() => {
    throw new CountersignError('not_found', 'there is nothing here', 'MCP is at /mcp');
  });
  app.onError((error, c) => {
    const { status, body } = formatError(error);
    // An agent lets a call pass whose hook fails, so a refusal has to be an answer.
    const denied: HookAnswer = { answer: 'deny', reason: `Countersign: ${body.message}` };
    if (c.req.path.startsWith('/hooks/')) return c.json(claudeCodeOutput(denied));
    if (status === 401) c.header('WWW-Authenticate', 'Bearer');
    return c.json(body, status);
  });
  listening.serve(app);
  return {
    url: `http://${inUrl(host)}:${listening.port}`,
    toolsChanged: () => handler.notify.toolsChanged(),
    /** Resolves when what clients wait for is answered or withdrawn. */
    stop: async () => {
      await handler.close();
      await listening.close();
      await gateway.settled();
    },
  };
}

/**
 * A name for a client of the protocols before 2026-07-28, which it sends with all that follows. Nothing is kept for it: it
 * tells whose call is cancelled, since two clients of a person give their requests the same ids.
 */
const SESSION = 'mcp-session-id';

/** The headers that the first request of such a client does not have. */
const FIRST_HAS_NONE = [SESSION, 'mcp-protocol-version'];

const HOOK_BODY = { bytes: LIMITS.sessionMessageBytes, what: 'event of the hook' };

const HOW_TO_SIGN_IN =
  'send `Authorization: Bearer <token>`; countersign web user <name> --may-converse gives a token';

/** Accepts requests with the token of a person who may start turns of the gateway's agent, because a turn runs calls. */
function requireUser(
  { permitOf, gateway }: Pick<HttpOptions, 'permitOf' | 'gateway'>,
  authenticator: Authenticator,
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const who = await authenticator.identify(bearerOf(c));
    const permit = await permitOf(who.user);
    if (!isSeenBy(permit, { agent: gateway.tools.agent.name }))
      throw new CountersignError('not_found', 'there is nothing here');
    if (!who.rights.includes('converse'))
      throw new CountersignError(
        'not_allowed',
        'you may not start turns, which is what calls do here',
        who.vouched === undefined
          ? `countersign web user ${who.user} --may-converse gives a token that may`
          : 'ask whoever keeps the sign-in file: `access.mayConverse` says who may',
      );
    if (!isAtLeast(permit.role, 'approver'))
      throw new CountersignError('not_allowed', 'the approvers file makes you a viewer, who makes no calls');
    c.set('who', who);
    await next();
  };
}
