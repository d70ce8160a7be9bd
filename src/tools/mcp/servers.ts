import { errorMessage } from '../../contract/errors';
import { digestJson } from '../../contract/digest';
import { GATEWAY_AGENT } from '../../contract/names';
import { argumentsSummary } from '../../contract/text/call-summary';
import { shellWord } from '../../contract/text/shell-word';
import { escapeHidden } from '../../contract/text/unsafe-text';
import { sha256 } from '../../system/sha256';
import { defineTool } from '../define-tool';
import { Pool } from '../pool';
import type { CallContext, FunctionSchema, Tool } from '../types';
import type { McpCall, McpConnection } from './connection';
import type { McpServer, McpStart, McpToolSettings, OpenDeps } from './declare';
import { readForModels, type Definition, definitionsIn, type Listed, toolNames } from './definition';
import { ELICITATION_MS } from './elicitation';
import { digestStart, isAgreed, type LockedServer, lockStart, standings } from './lock-file';
import { whyNotStarted } from './exact-version';
import { connectTo } from './reach';
import { keepAnswer, readAnswer } from './result';

/** A server that a worker uses, with its allowed tools. */
export interface OpenServer {
  name: string;
  prefix: string;
  tools: Tool[];
  /** Our names of listed or locked tools that cannot be used. Undefined if the server did not answer. */
  others: string[] | undefined;
  close(): Promise<void>;
}

/** The time that a starting worker waits for its servers. Without an answer, the worker uses the locked tools. */
const LOOK_MS = 10_000;

/**
 * Opens a server for a worker. The worker gets the locked tools, except tools that the server now lists differently or
 * not at all. A server that nobody has allowed is not started. Never rejects: a worker also starts without a server.
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
  const look = () => stillAgreed(server, { locked, connection, warn: deps.warn });
  // A connection of a state is closed below, so it is asked first.
  const later = server.state === undefined ? deps.later : undefined;
  void later?.when.then(look).then(({ others }) => later.gone(others ?? []));
  const all = { usable: Object.values(locked.tools), others: undefined };
  const { usable, others } = later === undefined ? await look() : all;
  const link = await linkTo(server, connection, deps);
  const names = toolNames(server.prefix, Object.keys(locked.tools));
  const origin = { server: name, identity: digestStart(lockStart(start)), start, state: server.state };
  const tools = usable.flatMap(({ definition, digest }) => {
    const ours = names.get(definition.name);
    if (ours === undefined)
      deps.warn(`the tool ${shown(definition.name)} of ${name} has no name of its own here`);
    const settings = deps.settings[ours ?? ''] ?? {};
    return ours === undefined ? [] : [toTool(definition, { ...origin, ours, digest, settings, link })];
  });
  return { name, prefix: server.prefix, tools, others, close: link.close };
}

/** Sends calls to a server, over one connection or several. */
interface Link {
  call(call: McpCall, state: CallContext['state']): Promise<unknown>;
  close(): Promise<void>;
}

/** The connection of a state is closed after this time without a call. */
const IDLE_MS = 30 * 60 * 1000;
/** The most open connections of states to one server. */
const MOST = 32;

/** Sends all calls over the given connection, or the calls of each state over a connection of their own. */
async function linkTo(server: McpServer, connection: McpConnection, deps: OpenDeps): Promise<Link> {
  if (server.state === undefined)
    return { call: (call) => connection.call(call), close: () => connection.close() };
  await connection.close();
  const pool = new Pool({
    what: `connections to the MCP server ${server.name}`,
    open: () => connectTo(server, deps),
    close: (one) => one.close().then(() => true),
    idleMs: IDLE_MS,
    most: MOST,
  });
  return {
    call: async (call, state) => {
      const { one, why, release } = await pool.take(state?.key ?? '');
      const onLost = () => state?.declareLost();
      if (why !== undefined) onLost();
      return one.call({ ...call, onLost }).finally(release);
    },
    close: () => pool.close(),
  };
}

/** Why a worker may not start a server. Undefined if the worker may start the server. */
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

/**
 * The locked tools that have not changed, and our names of the other tools. If the server does not answer, all locked
 * tools.
 */
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
  /** The digest of how the server is started. */
  identity: string;
  start: McpStart;
  ours: string;
  digest: string;
  settings: McpToolSettings;
  link: Link;
  state: McpServer['state'];
}

function toTool(definition: Definition, origin: Origin): Tool {
  const { server, identity, ours, digest, settings, link, start, state } = origin;
  const { name } = definition;
  const { description, parameters, unchecked } = shownToModels(definition);
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
      // Lists of requests show only the first line, so this line has the text of the model and nothing else.
      const what = argumentsSummary(args);
      return `${what === '' ? '' : `with ${what}\n`}The tool ${shown(name)} of the MCP server ${server}: ${describeStart(start)}`;
    },
    handler: async (args, context) => {
      const { signal, ask } = context;
      const onProgress = progressOf(context);
      const call = { tool: name, arguments: args, digest, signal, onProgress };
      const answer = await link.call({ ...call, ask }, context.state);
      const text = readAnswer(answer, { server, tool: name });
      return context.agent === GATEWAY_AGENT ? keepAnswer(answer, text) : text;
    },
  });
  // A decision counts for this digest only: for this tool of this server, started in this way.
  return Object.freeze({
    ...tool,
    server,
    ...(unchecked.length > 0 ? { unchecked } : {}),
    ...(start.elicitation === true ? { askMs: ELICITATION_MS } : {}),
    digest: digestJson([tool.digest, digest, identity], sha256),
  });
}

/** The parts of a tool that a model reads, apart from its name. */
export function shownToModels(
  definition: Definition,
): Pick<FunctionSchema['function'], 'description' | 'parameters'> & { unchecked: string[] } {
  const { description, schema, unchecked } = readForModels(definition);
  // Invisible characters would reach the model, but the person who allowed the tool could not see them.
  return { description: escapeHidden(description), parameters: schema, unchecked };
}

type Progress = Parameters<Parameters<McpConnection['call']>[0]['onProgress']>[0];

function progressOf({ progress: report }: CallContext): (said: Progress) => void {
  return ({ progress, total, message }) => {
    if (total !== undefined && total > 0) report(progress / total, message);
    else report(message ?? String(progress));
  };
}

/** How a server is started or reached, in one line without hidden characters. */
export function describeStart(start: McpStart): string {
  if (start.kind === 'http') return escapeHidden(start.url);
  const line = [start.command, ...start.args].map(shellWord).join(' ');
  return start.cwd === '.' ? line : `${line} (in ${shellWord(start.cwd)})`;
}

function shown(name: string) {
  return escapeHidden(JSON.stringify(name));
}
