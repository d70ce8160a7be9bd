import { resolve } from 'node:path';
import type { FetchLike, Transport } from '@modelcontextprotocol/client' with { 'resolution-mode': 'import' };
import { isSecretName } from '../../contract/text/redact';
import type { Secrets } from '../secrets';
import { authorizedFetch } from './authorization';
import { McpConnection } from './connection';
import {
  fillVariables,
  type McpHttpStart,
  type McpServer,
  type McpValue,
  usesLogin,
  variablesIn,
  type OpenDeps,
} from './declare';
import { httpTransport } from './http';
import { whyNotStarted } from './exact-version';
import type { LoginAccount } from './logins';
import { StdioTransport } from './stdio';

/** Makes a connection to a server. Serves workers, and people who look at the server's tools before they allow them. */
export function connectTo({ name, start }: McpServer, { secrets, warn }: OpenDeps): McpConnection {
  return new McpConnection({
    server: name,
    warn,
    mayAsk: start.elicitation === true,
    makeTransport: (signal) => makeTransport({ name, start }, { secrets, signal }),
  });
}

/** The source of secrets for values that are filled in, and a signal that stops waiting for them. */
interface Sources {
  secrets: Secrets;
  signal: AbortSignal;
}

async function makeTransport(
  { name, start }: Pick<McpServer, 'name' | 'start'>,
  sources: Sources,
): Promise<Transport & { lastWords?(): string }> {
  const why = whyNotStarted(start);
  if (why !== undefined) throw new Error(why);
  const library = await import('@modelcontextprotocol/client');
  const fill = (text: string) => filledIn(text, sources);
  if (start.kind === 'http') {
    const address = { url: fill(start.url), headers: await valuesIn(start.headers, sources) };
    if (!usesLogin(start)) return httpTransport(address, library);
    const account = accountOf(name, start, sources.secrets);
    const authorize = (base: FetchLike) => authorizedFetch(base, account, sources);
    return httpTransport({ ...address, authorize }, library);
  }
  const { getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
  const env = { ...getDefaultEnvironment(), ...(await valuesIn(start.env, sources)) };
  const args = start.args.map(fill);
  // Last words are cut later, and half a secret would not be recognized as a secret.
  const hide = (text: string) => sources.secrets.hide(text);
  return new StdioTransport(
    { command: fill(start.command), args, cwd: resolve(start.cwd), env, hide },
    library,
  );
}

/** The account of a server. */
export function accountOf(name: string, { url, oauth = {} }: McpHttpStart, secrets: Secrets): LoginAccount {
  const { clientId, clientSecret, issuer } = oauth;
  const fill = (text: string | undefined) => (text === undefined ? undefined : filledIn(text, { secrets }));
  return {
    name,
    url: new URL(filledIn(url, { secrets })).href,
    clientId: fill(clientId),
    issuer: fill(issuer),
    clientSecret: async (signal) => {
      if (clientSecret === undefined) return undefined;
      return (await valuesIn({ clientSecret }, { secrets, signal }))['clientSecret'];
    },
  };
}

/** The values of headers or of an environment, filled in. */
export async function valuesIn(
  values: Readonly<Record<string, McpValue>>,
  { secrets, signal }: Sources,
): Promise<Record<string, string>> {
  const entries = Object.entries(values).map(async ([name, value]) => {
    if (typeof value !== 'string')
      return [name, await pinnedSecret(value.secret, { secrets, signal })] as const;
    const filled = filledIn(value, { secrets, isSecret: isSecretName(name) });
    return [name, filled] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function pinnedSecret(name: string, { secrets, signal }: Sources) {
  const value = await secrets.get(name, signal);
  secrets.pin(value);
  return value;
}

/**
 * Fills in the variables of a text. The value of a variable whose name looks like that of a secret is redacted from all
 * that leaves the worker. With `isSecret`, the value of every variable is.
 */
function filledIn(text: string, { secrets, isSecret = false }: FilledIn) {
  for (const name of variablesIn(text)) {
    if (isSecret || isSecretName(name)) secrets.pin(process.env[name] ?? '');
  }
  const filled = fillVariables(text);
  if (isSecret) secrets.pin(filled);
  return filled;
}

interface FilledIn {
  secrets: Secrets;
  isSecret?: boolean;
}
