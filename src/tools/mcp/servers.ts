import { resolve } from 'node:path';
import type { Transport } from '@modelcontextprotocol/client' with { 'resolution-mode': 'import' };
import { errorMessage } from '../../contract/errors';
import { digestJson } from '../../contract/digest';
import { shellWord } from '../../contract/text/shell-word';
import { escapeHidden } from '../../contract/text/unsafe-text';
import { defineTool } from '../define-tool';
import type { Secrets } from '../secrets';
import type { CallContext, Tool } from '../types';
import { createConnection, type McpConnection } from './connection';
import { fillIn, type McpServer, type McpStart, type McpToolSettings, type McpValue } from './declare';
import { type Definition, type Listed, parametersOf, toolNames } from './definition';
import { httpTransport } from './http';
import {
  digestStart,
  isAgreed,
  type LockedServer,
  lockStart,
  type Standing,
  standings,
  whyNotStarted,
} from './lock';
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
    makeTransport: (signal) => makeTransport(start, (value) => valueOf(value, secrets, signal)),
  });
}

async function makeTransport(
  start: McpStart,
  valueIn: (value: McpValue) => Promise<string>,
): Promise<Transport & { lastWords?(): string }> {
  const why = whyNotStarted(start);
  if (why !== undefined) throw new Error(why);
  const library = await import('@modelcontextprotocol/client');
  if (start.kind === 'http') {
    const headers = await valuesIn(start.headers, valueIn);
    return httpTransport({ url: fillIn(start.url), headers }, library);
  }
  const { getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
  const env = { ...getDefaultEnvironment(), ...(await valuesIn(start.env, valueIn)) };
  const args = start.args.map((arg) => fillIn(arg));
  return stdioTransport({ command: fillIn(start.command), args, cwd: resolve(start.cwd), env }, library);
}

async function valuesIn(
  values: Readonly<Record<string, McpValue>>,
  valueIn: (value: McpValue) => Promise<string>,
): Promise<Record<string, string>> {
  const entries = Object.entries(values).map(async ([name, value]) => [name, await valueIn(value)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

function valueOf(value: McpValue, secrets: Secrets, signal: AbortSignal): Promise<string> {
  return typeof value === 'string' ? Promise.resolve(fillIn(value)) : secrets.get(value.secret, signal);
}

/** A server that a worker uses: the tools that were agreed to, and the way to them. */
export interface OpenServer {
  name: string;
  tools: Tool[];
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
  const usable = await stillAgreed(server, { locked, connection, warn: deps.warn });
  const names = toolNames(server.prefix, Object.keys(locked.tools));
  const origin = { server: name, identity: digestStart(lockStart(start)), about: describeStart(start) };
  const tools = usable.flatMap(({ definition, digest }) => {
    const ours = names.get(definition.name);
    if (ours === undefined)
      deps.warn(`the tool ${shown(definition.name)} of ${name} has no name of its own here`);
    const settings = deps.settings[ours ?? ''] ?? {};
    return ours === undefined ? [] : [toTool(definition, { ...origin, ours, digest, settings, connection })];
  });
  return { name, tools, close: () => connection.close() };
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

/** The tools that were agreed to and are the same still, as far as the server can be asked. */
async function stillAgreed({ name }: McpServer, { locked, connection, warn }: Agreed) {
  const agreed = Object.values(locked.tools);
  let listed: Listed[];
  try {
    listed = await connection.list(AbortSignal.timeout(LOOK_MS));
  } catch (error) {
    warn(`the tools of the MCP server ${name} could not be compared: ${errorMessage(error)}`);
    return agreed;
  }
  const found = standingsOf(locked, listed);
  const others = [...found].filter(([, standing]) => standing !== 'allowed');
  if (others.length > 0)
    warn(
      `tools of the MCP server ${name} are not used: ${others.map(([tool, standing]) => `${shown(tool)} (${standing})`).join(', ')}; look at them with \`countersign mcp allow ${name}\``,
    );
  return agreed.filter(({ definition }) => found.get(definition.name) === 'allowed');
}

/** How all tools of a server stand, by its own names. What cannot be used counts as `gone`. */
export function standingsOf(
  locked: Pick<LockedServer, 'tools'>,
  listed: readonly Listed[],
): Map<string, Standing> {
  return standings(
    locked,
    listed.flatMap((one) => ('definition' in one ? [one.definition] : [])),
  );
}

interface Origin {
  server: string;
  /** What names how the server is started. */
  identity: string;
  about: string;
  ours: string;
  digest: string;
  settings: McpToolSettings;
  connection: McpConnection;
}

function toTool(definition: Definition, origin: Origin): Tool {
  const { server, identity, about, ours, digest, settings, connection } = origin;
  const { name, title = name, description = title } = definition;
  const tool = defineTool({
    safety: 'dangerous',
    effect: 'unsafe',
    categories: ['mcp'],
    ...settings,
    name: ours,
    // What nobody can see would reach the model and not the person who allowed it.
    description: escapeHidden(description.trim() === '' ? name : description),
    parameters: parametersOf(definition),
    preview: () => `The tool ${shown(name)} of the MCP server ${server}: ${about}`,
    handler: async (args, context) => {
      const { signal } = context;
      const onProgress = progressOf(context);
      const answer = await connection.call({ tool: name, arguments: args, digest, signal, onProgress });
      return readAnswer(answer, { server, tool: name });
    },
  });
  // A decision is for this tool of this server, started in this way.
  return Object.freeze({ ...tool, server, digest: digestJson([tool.digest, digest, identity]) });
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
