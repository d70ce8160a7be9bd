import { resolve } from 'node:path';
import type { FetchLike, Transport } from '@modelcontextprotocol/client' with { 'resolution-mode': 'import' };
import { defined } from '../../contract/defined';
import { errorMessage } from '../../contract/errors';
import { digestJson } from '../../contract/digest';
import { isSecretName } from '../../contract/text/redact';
import { argumentsSummary } from '../../contract/text/call-summary';
import { shellWord } from '../../contract/text/shell-word';
import { escapeHidden } from '../../contract/text/unsafe-text';
import { contentDigest } from '../content-digest';
import { defineTool } from '../define-tool';
import type { Secrets } from '../secrets';
import type { CallContext, FunctionSchema, Tool } from '../types';
import { authorizedFetch } from './authorization';
import { createConnection, type McpConnection } from './connection';
import { createConnections, type McpConnections } from './connections';
import {
  fillIn,
  type McpHttpStart,
  type McpServer,
  type McpStart,
  type McpToolSettings,
  type McpValue,
  usesLogin,
  variablesIn,
} from './declare';
import { type Definition, definitionsIn, type Listed, parametersOf, toolNames } from './definition';
import { ASK_MS } from './elicitation';
import { httpTransport } from './http';
import type { Account } from './logins';
import { digestStart, isAgreed, type LockedServer, lockStart, standings, whyNotStarted } from './lock';
import { readAnswer } from './result';
import { stdioTransport } from './stdio';

/** What a server is opened with. */
export interface OpenDeps {
  secrets: Secrets;
  /** Takes lines for the worker's log. */
  warn(message: string): void;
}

/** A connection to a server, whatever was agreed: for people who look before they agree, and for workers after that. */
export function connectTo({ name, start }: McpServer, { secrets, warn }: OpenDeps): McpConnection {
  return createConnection({
    server: name,
    warn,
    mayAsk: start.elicitation === true,
    makeTransport: (signal) => makeTransport({ name, start }, { secrets, signal }),
  });
}

/** What a value is filled in with. */
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
  const fill = (text: string): string => filledIn(text, sources);
  if (start.kind === 'http') {
    const address = { url: fill(start.url), headers: await valuesIn(start.headers, sources) };
    if (!usesLogin(start)) return httpTransport(address, library);
    const account = accountOf(name, start, sources.secrets);
    const authorize = (base: FetchLike): FetchLike => authorizedFetch(base, account, sources);
    return httpTransport({ ...address, authorize }, library);
  }
  const { getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
  const env = { ...getDefaultEnvironment(), ...(await valuesIn(start.env, sources)) };
  const args = start.args.map(fill);
  return stdioTransport({ command: fill(start.command), args, cwd: resolve(start.cwd), env }, library);
}

/** Who logs in to a server. */
export function accountOf(name: string, { url, oauth = {} }: McpHttpStart, secrets: Secrets): Account {
  const { clientId, clientSecret, issuer } = oauth;
  const fill = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : filledIn(text, { secrets });
  return {
    name,
    url: new URL(filledIn(url, { secrets })).href,
    ...defined({ clientId: fill(clientId), issuer: fill(issuer) }),
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

async function pinnedSecret(name: string, { secrets, signal }: Sources): Promise<string> {
  const value = await secrets.get(name, signal);
  secrets.pin(value);
  return value;
}

/** What is secret by the name that it stands under, or by that of its variable, is kept out of all that leaves the worker. */
function filledIn(text: string, { secrets, isSecret = false }: FilledIn): string {
  for (const name of variablesIn(text)) {
    if (isSecret || isSecretName(name)) secrets.pin(process.env[name] ?? '');
  }
  const filled = fillIn(text);
  if (isSecret) secrets.pin(filled);
  return filled;
}

interface FilledIn {
  secrets: Secrets;
  isSecret?: boolean;
}

/** A server that a worker uses: the tools that were agreed to, and the way to them. */
export interface OpenServer {
  name: string;
  prefix: string;
  tools: Tool[];
  /** Names here of tools that it lists or that were agreed to and that cannot be used. Undefined where it did not answer. */
  others: string[] | undefined;
  close(): Promise<void>;
}

/** How long a worker that starts waits for its servers; what was agreed to holds without them. */
const LOOK_MS = 10_000;

/**
 * Opens a server for a worker: its tools are those that were agreed to, unless it lists another one by that name now.
 * A server that was not agreed to is not started. Never rejects: a worker starts without a server, too.
 */
export async function openServer(
  server: McpServer,
  locked: LockedServer | undefined,
  deps: OpenDeps & { settings: Readonly<Record<string, McpToolSettings>> },
): Promise<OpenServer | undefined> {
  const { name, start } = server;
  const why = whyNotStarted(start) ?? whyNotAgreed(server, locked);
  if (why !== undefined || locked === undefined) {
    deps.warn(`the MCP server ${name} is not used: ${why ?? ''}`);
    return undefined;
  }
  const connection = connectTo(server, deps);
  const { usable, others } = await stillAgreed(server, { locked, connection, warn: deps.warn });
  // Who has connections of their own needs this one no more.
  if (server.state !== undefined) await connection.close();
  const shared = () => (server.state === undefined ? connection : connectTo(server, deps));
  const connections = createConnections(shared);
  const names = toolNames(server.prefix, Object.keys(locked.tools));
  const origin = { server: name, identity: digestStart(lockStart(start)), start, state: server.state };
  const tools = usable.flatMap(({ definition, digest }) => {
    const ours = names.get(definition.name);
    if (ours === undefined)
      deps.warn(`the tool ${shown(definition.name)} of ${name} has no name of its own here`);
    const settings = deps.settings[ours ?? ''] ?? {};
    return ours === undefined ? [] : [toTool(definition, { ...origin, ours, digest, settings, connections })];
  });
  return {
    name,
    prefix: server.prefix,
    tools,
    others,
    close: () => Promise.all([connection.close(), connections.close()]).then(() => undefined),
  };
}

/** Why a server may not be started by a worker; undefined where it may. */
export function whyNotAgreed(
  { name, start }: McpServer,
  locked: LockedServer | undefined,
): string | undefined {
  const todo = `look at it with \`countersign mcp allow ${name}\``;
  if (locked === undefined) return `nobody has allowed it; ${todo}`;
  return isAgreed(lockStart(start), locked) ? undefined : `it is started otherwise than was allowed; ${todo}`;
}

interface Agreed {
  locked: LockedServer;
  connection: McpConnection;
  warn(message: string): void;
}

/** The tools that were agreed to and are the same still, as far as the server can be asked; and the names of its others. */
async function stillAgreed(
  { name, prefix }: McpServer,
  { locked, connection, warn }: Agreed,
): Promise<{ usable: LockedServer['tools'][string][]; others: string[] | undefined }> {
  const agreed = Object.values(locked.tools);
  let listed: Listed[];
  try {
    listed = await connection.list(AbortSignal.timeout(LOOK_MS));
  } catch (error) {
    warn(`the tools of the MCP server ${name} could not be compared: ${errorMessage(error)}`);
    return { usable: agreed, others: undefined };
  }
  const found = standings(locked, definitionsIn(listed));
  const others = [...found].filter(([, standing]) => standing !== 'allowed');
  const unseen = others.filter(([, standing]) => standing !== 'refused');
  if (unseen.length > 0)
    warn(
      `tools of the MCP server ${name} are not used: ${unseen.map(([tool, standing]) => `${shown(tool)} (${standing})`).join(', ')}; look at them with \`countersign mcp allow ${name}\``,
    );
  return {
    usable: agreed.filter(({ definition }) => found.get(definition.name) === 'allowed'),
    others: [
      ...toolNames(
        prefix,
        others.map(([tool]) => tool),
      ).values(),
    ],
  };
}

interface Origin {
  server: string;
  /** What names how the server is started. */
  identity: string;
  start: McpStart;
  ours: string;
  digest: string;
  settings: McpToolSettings;
  connections: McpConnections;
  state: McpServer['state'];
}

function toTool(definition: Definition, origin: Origin): Tool {
  const { server, identity, ours, digest, settings, connections, start, state } = origin;
  const { name } = definition;
  const { description, parameters } = shownToModels(definition);
  const tool = defineTool({
    safety: 'dangerous',
    effect: 'unsafe',
    categories: ['mcp'],
    ...settings,
    ...(state === undefined ? {} : { state, stateGroup: `mcp ${server}` }),
    name: ours,
    description,
    parameters,
    preview: (args) => {
      // Lists of requests show the first line. What the model wrote stands on that line alone.
      const what = argumentsSummary(args);
      return `${what === '' ? '' : `with ${what}\n`}The tool ${shown(name)} of the MCP server ${server}: ${describeStart(start)}`;
    },
    handler: async (args, context) => {
      const { signal, ask } = context;
      const onProgress = progressOf(context);
      const call = { tool: name, arguments: args, digest, signal, onProgress };
      const held = context.state;
      const lost = (): void => held?.declareLost();
      const answer = await connections.call(held?.key ?? '', { ...call, ...defined({ ask }) }, lost);
      return readAnswer(answer, { server, tool: name });
    },
  });
  // A decision is for this tool of this server, started in this way.
  return Object.freeze({
    ...tool,
    server,
    ...(start.elicitation === true ? { askMs: ASK_MS } : {}),
    digest: digestJson([tool.digest, digest, identity], contentDigest),
  });
}

/** What a model reads of a tool beside its name. */
export function shownToModels(
  definition: Definition,
): Pick<FunctionSchema['function'], 'description' | 'parameters'> {
  const { name, title = name, description = title } = definition;
  return {
    // What nobody can see would reach the model and not the person who allowed it.
    description: escapeHidden(description.trim() === '' ? name : description),
    parameters: parametersOf(definition),
  };
}

type Progress = Parameters<Parameters<McpConnection['call']>[0]['onProgress']>[0];

function progressOf({ progress: report }: CallContext): (said: Progress) => void {
  return ({ progress, total, message }) => {
    if (total !== undefined && total > 0) report(progress / total, message);
    else report(message ?? String(progress));
  };
}

/** How a server is started or reached, in one line that hides nothing. */
export function describeStart(start: McpStart): string {
  if (start.kind === 'http') return escapeHidden(start.url);
  const line = [start.command, ...start.args].map(shellWord).join(' ');
  return start.cwd === '.' ? line : `${line} (in ${shellWord(start.cwd)})`;
}

function shown(name: string): string {
  return escapeHidden(JSON.stringify(name));
}
