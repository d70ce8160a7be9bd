import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request to the authorization server: its path, its parameters and its credentials. */
export interface Asked {
  path: string;
  params: URLSearchParams;
  authorization: string | undefined;
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void | Promise<void>;

interface Grant {
  clientId: string;
  scope: string;
  resource: string | undefined;
}

interface Code extends Grant {
  challenge: string;
  redirect: string;
}

/** An authorization server of its own port. What it does wrong, a test says by its fields. */
export class AuthorizationServer {
  /** Each request, in order. */
  readonly asked: Asked[] = [];
  /** Added to what it says of itself; undefined removes. */
  metadata: Record<string, unknown> = {};
  /** What stands in the redirect beside code and state. */
  redirect: Record<string, string> = {};
  /** Answers in place of it, by path. */
  instead: Partial<Record<string, Handler>> = {};
  /** In seconds; undefined is not said. */
  lifetime: number | undefined = 3600;
  refreshes = 0;
  /** Refresh tokens that were sent after they had been used. */
  reused = 0;
  private readonly clients = new Map<string, string | undefined>();
  private readonly codes = new Map<string, Code>();
  private readonly refreshing = new Map<string, Grant>();
  private readonly used = new Set<string>();
  private readonly access = new Map<string, Grant>();

  constructor(readonly issuer: string) {}

  /** A client that somebody registered by hand. */
  knowClient(id: string, secret?: string): void {
    this.clients.set(id, secret);
  }

  grantOf(token: string): Grant | undefined {
    return this.access.get(token);
  }

  /** Ends all access tokens, and all that could renew them unless that is kept. */
  endAll({ keepRefresh = false } = {}): void {
    this.access.clear();
    if (!keepRefresh) this.refreshing.clear();
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.issuer);
    const body = await textOf(request);
    const isForm = request.headers['content-type']?.includes('urlencoded') === true;
    const params = isForm ? new URLSearchParams(body) : url.searchParams;
    this.asked.push({ path: url.pathname, params, authorization: request.headers.authorization });
    const other = this.instead[url.pathname];
    if (other !== undefined) return other(request, response, body);
    switch (url.pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(response, 200, this.describe());
      case '/register':
        return this.register(body, response);
      case '/authorize':
        return this.authorize(params, response);
      case '/token':
        return this.token(params, request, response);
      case '/revoke':
        return this.revoke(params, response);
    }
    response.writeHead(404).end();
  }

  private describe(): unknown {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      revocation_endpoint: `${issuer}/revoke`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
      authorization_response_iss_parameter_supported: true,
      ...this.metadata,
    };
  }

  private register(body: string, response: ServerResponse): void {
    const id = `client-${randomBytes(8).toString('hex')}`;
    this.clients.set(id, undefined);
    json(response, 201, { ...JSON.parse(body), client_id: id });
  }

  private authorize(params: URLSearchParams, response: ServerResponse): void {
    const clientId = params.get('client_id') ?? '';
    if (!this.clients.has(clientId)) return json(response, 400, { error: 'invalid_client' });
    const code = drawn('code');
    const redirect = params.get('redirect_uri') ?? '';
    this.codes.set(code, {
      clientId,
      scope: params.get('scope') ?? '',
      resource: params.get('resource') ?? undefined,
      challenge: params.get('code_challenge') ?? '',
      redirect,
    });
    const back = new URL(redirect);
    const added = { code, state: params.get('state') ?? '', iss: this.issuer, ...this.redirect };
    for (const [name, value] of Object.entries(added)) if (value !== '') back.searchParams.set(name, value);
    response.writeHead(302, { location: back.href }).end();
  }

  token(params: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const [id = '', secret] = basic === '' ? [] : Buffer.from(basic, 'base64').toString().split(':');
    const clientId = params.get('client_id') ?? id;
    if (!this.clients.has(clientId) || this.clients.get(clientId) !== secret)
      return json(response, 401, { error: 'invalid_client' });
    const grant =
      params.get('grant_type') === 'refresh_token' ? this.takeRefresh(params) : this.takeCode(params);
    if (grant === undefined || grant.clientId !== clientId)
      return json(response, 400, { error: 'invalid_grant', error_description: 'the grant is over' });
    return json(response, 200, this.give(grant));
  }

  private takeCode(params: URLSearchParams): Grant | undefined {
    const key = params.get('code') ?? '';
    const code = this.codes.get(key);
    this.codes.delete(key);
    const challenge = createHash('sha256')
      .update(params.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight =
      code?.challenge === challenge &&
      code.redirect === params.get('redirect_uri') &&
      code.resource === (params.get('resource') ?? undefined);
    return isRight ? code : undefined;
  }

  private takeRefresh(params: URLSearchParams): Grant | undefined {
    const key = params.get('refresh_token') ?? '';
    this.refreshes += 1;
    if (this.used.has(key)) this.reused += 1;
    this.used.add(key);
    const grant = this.refreshing.get(key);
    this.refreshing.delete(key);
    return grant;
  }

  private give(grant: Grant): unknown {
    const [access, refresh] = [drawn('access'), drawn('refresh')];
    this.access.set(access, grant);
    this.refreshing.set(refresh, grant);
    return {
      access_token: access,
      token_type: 'Bearer',
      refresh_token: refresh,
      ...(this.lifetime === undefined ? {} : { expires_in: this.lifetime }),
      ...(grant.scope === '' ? {} : { scope: grant.scope }),
    };
  }

  private revoke(params: URLSearchParams, response: ServerResponse): void {
    const token = params.get('token') ?? '';
    this.refreshing.delete(token);
    this.access.delete(token);
    response.writeHead(200).end();
  }
}

/** An MCP server that takes the tokens of one authorization server. */
export class ProtectedServer {
  /** The `Authorization` of each request, in order. */
  readonly seen: (string | undefined)[] = [];
  /** What its metadata says; undefined for a server that has none. */
  resource: Record<string, unknown> | undefined;
  /** Scopes without which a call is refused with 403. */
  needs: string[] = [];
  /** Added to its challenge. */
  challenge = '';

  constructor(
    readonly url: string,
    readonly authorization: AuthorizationServer,
  ) {
    this.resource = { resource: url, authorization_servers: [authorization.issuer] };
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, origin } = new URL(request.url ?? '/', this.url);
    const body = await textOf(request);
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return this.resource === undefined
        ? void response.writeHead(404).end()
        : json(response, 200, this.resource);
    if (pathname !== '/mcp') return void response.writeHead(404).end();
    this.seen.push(request.headers.authorization);
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const grant = this.authorization.grantOf(token);
    if (grant === undefined) {
      const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      const header = this.challenge === '' ? `Bearer ${where}` : `Bearer ${this.challenge}`;
      return void response.writeHead(401, { 'www-authenticate': header }).end('{}');
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    return this.answer(JSON.parse(body), grant, response);
  }

  private answer(
    { id, method, params }: { id?: unknown; method: string; params: { protocolVersion?: string } },
    grant: Grant,
    response: ServerResponse,
  ): void {
    const missing = this.needs.filter((one) => !grant.scope.split(' ').includes(one));
    if (method === 'tools/call' && missing.length > 0) {
      const header = `Bearer error="insufficient_scope", scope="${missing.join(' ')}"`;
      return void response.writeHead(403, { 'www-authenticate': header }).end('{}');
    }
    if (id === undefined) return void response.writeHead(202).end();
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'far', version: '1' },
      },
      'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'done' }] },
    };
    json(response, 200, { jsonrpc: '2.0', id, result: results[method] });
  }
}

/** An authorization server and the MCP server that trusts it, each on a port of its own. */
export interface Pair {
  authorization: AuthorizationServer;
  mcp: ProtectedServer;
}

/** Servers for the tests of a file; they end after each test. */
export function oauthServers(): {
  pair(): Promise<Pair>;
  authorization(): Promise<AuthorizationServer>;
} {
  const running: Server[] = [];
  afterEach(() => running.splice(0).map((server) => server.close().closeAllConnections()));
  const listen = async <T extends { handle: Pair['mcp']['handle'] }>(
    make: (origin: string) => T,
  ): Promise<T> => {
    let made: T | undefined;
    const server = createServer((request, response) => void made?.handle(request, response));
    running.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
    return (made = make(`http://127.0.0.1:${port}`));
  };
  const authorization = (): Promise<AuthorizationServer> =>
    listen((origin) => new AuthorizationServer(origin));
  return {
    authorization,
    async pair() {
      const own = await authorization();
      return {
        authorization: own,
        mcp: await listen((origin) => new ProtectedServer(`${origin}/mcp`, own)),
      };
    },
  };
}

/** What a person does who agrees: opens the address, and lets the browser go where it is sent. */
export async function agree(url: string): Promise<URL> {
  const response = await fetch(url, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`nobody is asked at ${url}: ${response.status}`);
  return new URL(location);
}

export function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

function drawn(kind: string): string {
  return `${kind}-${randomBytes(16).toString('hex')}`;
}
