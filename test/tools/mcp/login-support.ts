import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { accountOf, connectTo } from '../../../src/tools/mcp/reach';
import type { McpHttpStart, McpOAuth, McpServer } from '../../../src/tools/mcp/declare';
import { beginLogin, type OpenLogin } from '../../../src/tools/mcp/login';
import { type LoginAccount, type Login, loginFile } from '../../../src/tools/mcp/logins';
import type { McpConnection } from '../../../src/tools/mcp/connection';
import { createSecrets, type Secrets } from '../../../src/tools/secrets';
import { agree } from '../../support/mcp-oauth';
import { always } from './support';

type LoginRequest = Parameters<typeof beginLogin>[0];

/** Keeps logins of a file's tests in its scratch folder. */
export function loginsUnder(scratch: () => string): void {
  const before = process.env['XDG_STATE_HOME'];
  beforeEach(() => {
    process.env['XDG_STATE_HOME'] = scratch();
  });
  afterEach(() => {
    if (before === undefined) delete process.env['XDG_STATE_HOME'];
    else process.env['XDG_STATE_HOME'] = before;
  });
}

/** A server as a config declares it. */
export function far(url: string, oauth?: McpOAuth): McpServer & { start: McpHttpStart } {
  const start: McpHttpStart = { kind: 'http', url, headers: {}, ...(oauth === undefined ? {} : { oauth }) };
  return { name: 'far', prefix: 'far', start };
}

/** Who logs in at a server. */
export function account(url: string, oauth?: McpOAuth): LoginAccount {
  const secrets = createSecrets((name) => `value of ${name}`);
  return accountOf('far', far(url, oauth).start, secrets);
}

/** Begins a login, as the command does. */
export function begin(url: string, more: Partial<LoginRequest> = {}): Promise<OpenLogin> {
  const { oauth = {} } = more;
  return beginLogin({
    account: account(url, oauth),
    headers: {},
    oauth,
    scopes: [],
    redirectUrl: 'http://127.0.0.1:1/callback',
    secrets: createSecrets(),
    stop: always(),
    ...more,
  });
}

/** A whole login by a person who agrees. */
export async function logIn(url: string, more: Partial<LoginRequest> = {}): Promise<Login> {
  const open = await begin(url, more);
  return open.finish((await agree(open.url)).searchParams);
}

/** Writes a login by hand, with these rights. */
export function keep(of: LoginAccount, login: unknown, mode = 0o600): string {
  const file = loginFile(of);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(login), { mode });
  return file;
}

/** Connects with the login, uses the connection, and closes it. */
export async function connected<T>(
  server: McpServer,
  use: (connection: McpConnection, secrets: Secrets, warnings: string[]) => Promise<T>,
): Promise<T> {
  const secrets = createSecrets((name) => `value of ${name}`);
  const warnings: string[] = [];
  const connection = connectTo(server, { secrets, warn: (line) => warnings.push(line) });
  try {
    return await use(connection, secrets, warnings);
  } finally {
    await connection.close();
  }
}
