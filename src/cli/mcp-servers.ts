import { CountersignError, errorMessage } from '../contract/errors';
import { counted } from '../history/labels';
import type { Config } from '../tools/define-config';
import { LoginNeeded } from '../tools/mcp/authorization';
import { declaredServers, type McpServer, type McpStart, usesLogin } from '../tools/mcp/declare';
import {
  type Definition,
  definitionsIn,
  digestDefinition,
  type Listed,
  toolNames,
} from '../tools/mcp/definition';
import { lockedServer, type LockedServer, readLock, type Standing, standings } from '../tools/mcp/lock-file';
import { whyNotStarted } from '../tools/mcp/exact-version';
import { readLogin } from '../tools/mcp/logins';
import { accountOf, connectTo } from '../tools/mcp/reach';
import { describeStart, shownToModels, whyNotAgreed } from '../tools/mcp/servers';
import { estimateTokens } from '../tools/registry';
import { createSecrets } from '../tools/secrets';

/** The option of `mcp` that all its commands take. */
export interface McpOptions {
  config?: string;
}

/** A server that a config names, and its entry in the lock file. */
export interface NamedServer {
  server: McpServer;
  locked: LockedServer | undefined;
}

/** A tool of a server, with what a person needs to judge it. */
export interface ToolReport {
  /** The tool's name on the server. */
  tool: string;
  /** The tool's name here. Null if the tool cannot have a name here. */
  name: string | null;
  /** `unfit`: the tool breaks a limit, or has the same name as another tool. */
  standing: Standing | 'unfit';
  why?: string;
  /** What models do not get as the server says it, in words: defaults that do not fit, and what is not checked here. */
  notes?: string[];
  digest?: string;
  /**
   * The current definition of the tool. If the server was not asked or the tool is gone, this is the allowed
   * definition.
   */
  definition?: Definition;
}

/** A server and its known tools. */
export interface ServerReport {
  server: string;
  /** How the server is started or reached, in one line that hides nothing. */
  start: string;
  /** `failed`: the server is allowed, but could not be asked. */
  state: 'allowed' | 'not_allowed' | 'failed';
  why?: string;
  /** The estimated number of tokens that the definitions of the server's allowed tools take in a model's context. */
  tokens: number;
  /**
   * The login at a server over HTTP that has no `Authorization` in its headers. `none`: nobody has logged in, and the
   * server may not need a login. `needed`: the server asks for a login, or the config says how to log in.
   */
  login?: 'kept' | 'none' | 'needed' | 'unreadable';
  tools: ToolReport[];
}

/** @throws CountersignError `config_invalid` if a server cannot be started as it is declared. */
export function checkMcpStart(name: string, start: McpStart): void {
  const why = whyNotStarted(start);
  if (why === undefined) return;
  throw new CountersignError(
    'config_invalid',
    `MCP server ${name}: ${why}`,
    'Correct `mcpServers` of the config.',
  );
}

/**
 * The servers of a config, or the one server with the given name.
 *
 * @throws CountersignError `config_invalid`; `usage` for a name that the config does not have.
 */
export async function namedServers(config: Config, name?: string): Promise<NamedServer[]> {
  const servers = config.mcpServers === undefined ? [] : await declaredServers(config.mcpServers);
  const lock = await readLock(config.mcpLock);
  const all = servers.map((server) => ({ server, locked: lockedServer(lock, server.name) }));
  if (name === undefined || all.some(({ server }) => server.name === name))
    return all.filter(({ server }) => name === undefined || server.name === name);
  const known = servers.map((server) => server.name).join(', ') || 'none';
  throw new CountersignError('usage', `the config names no MCP server ${name}`, `It names: ${known}.`);
}

/** A report on a server from the lock file only. Nothing is started. */
export function reportAgreed({ server, locked }: NamedServer): ServerReport {
  const why = whyNotStarted(server.start) ?? whyNotAgreed(server, locked);
  const agreed = Object.values(locked?.tools ?? {}).map(({ definition }) => ({ definition }));
  const head = { server: server.name, start: describeStart(server.start), ...loginOf(server) };
  const tools = toolReports({ server, locked }, agreed);
  const tokens = tokensOf(tools);
  return why === undefined
    ? { ...head, state: 'allowed', tokens, tools }
    : { ...head, state: 'not_allowed', why, tokens, tools };
}

function tokensOf(tools: readonly ToolReport[]) {
  const shown = tools.flatMap(({ name, standing, definition }) =>
    name === null || standing !== 'allowed' || definition === undefined
      ? []
      : [{ type: 'function' as const, function: { name, ...shownToModels(definition) } }],
  );
  return estimateTokens(shown);
}

function loginOf({ name, start }: McpServer): Pick<ServerReport, 'login'> {
  if (start.kind !== 'http' || !usesLogin(start)) return {};
  try {
    const secrets = createSecrets();
    if (readLogin(accountOf(name, start, secrets), secrets) !== undefined) return { login: 'kept' };
    return { login: start.oauth ? 'needed' : 'none' };
  } catch {
    // A request to the server reports the reason.
    return { login: 'unreadable' };
  }
}

/** Whether a server has nothing that a person should look at. */
export function isFine({ state, tools }: ServerReport): boolean {
  return state === 'allowed' && othersIn(tools).every(({ standing }) => standing === 'unfit');
}

/** The tools that nobody has allowed or refused in their current form, and the tools that are gone. */
export function othersIn(tools: readonly ToolReport[]): ToolReport[] {
  return tools.filter(({ standing }) => standing !== 'allowed' && standing !== 'refused');
}

/** Says how many tools are allowed, and how many are refused. */
export function countDecided(tools: readonly ToolReport[]): string {
  const number = (wanted: ToolReport['standing']) =>
    tools.filter(({ standing }) => standing === wanted).length;
  const refused = number('refused');
  return `${counted(number('allowed'), 'tool')} as allowed${refused === 0 ? '' : `, ${refused} refused`}`;
}

const LOOK_MS = 60_000;

/**
 * A report on a server from the lock file, compared with the tools that the server lists now. A server that nobody
 * allowed is not started.
 */
export async function reportLive(named: NamedServer, config: Config): Promise<ServerReport> {
  const report = reportAgreed(named);
  if (report.state !== 'allowed') return report;
  try {
    const tools = toolReports(named, await listTools(named.server, config));
    return { ...report, tokens: tokensOf(tools), tools };
  } catch (error) {
    const isLogin = error instanceof CountersignError && error.code === 'sign_in_failed';
    return { ...report, state: 'failed', why: errorMessage(error), ...(isLogin ? { login: 'needed' } : {}) };
  }
}

/**
 * The tools that a server lists now. The server is started for this even if nobody allowed it, so a caller has to ask a
 * person first.
 *
 * @throws CountersignError `sign_in_failed` if the server asks for a login, `config_invalid` if the server could not be
 * asked.
 */
export async function listTools(server: McpServer, config: Config): Promise<Listed[]> {
  // Failures are returned as errors, so warnings are ignored.
  const secrets = createSecrets(config.secrets);
  const connection = connectTo(server, { secrets, warn: () => undefined });
  try {
    return await connection.list(AbortSignal.timeout(LOOK_MS));
  } catch (error) {
    if (!(error instanceof LoginNeeded))
      throw new CountersignError('config_invalid', secrets.hide(errorMessage(error)), {
        hint: 'Look whether its command or address in `mcpServers` is right, and whether it runs.',
        cause: error,
      });
    throw new CountersignError('sign_in_failed', error.message, 'Then look at the server again.');
  } finally {
    await connection.close();
  }
}

/** A report for each tool that a server lists or that the lock file has, by name. */
export function toolReports({ server, locked }: NamedServer, listed: readonly Listed[]): ToolReport[] {
  const usable = definitionsIn(listed);
  const found = standings(locked ?? { tools: {} }, usable);
  const definitions = new Map(usable.map((one) => [one.name, one]));
  const notes = new Map(
    listed.flatMap((one) => ('definition' in one && one.notes ? [[one.definition.name, one.notes]] : [])),
  );
  const names = toolNames(server.prefix, [...found.keys()]);
  const fit = [...found].map(([tool, standing]): ToolReport => {
    const definition = definitions.get(tool) ?? locked?.tools[tool]?.definition;
    const name = names.get(tool);
    const known = definition ? { digest: digestDefinition(definition), definition } : {};
    if (name !== undefined) return { tool, name, standing, notes: notes.get(tool), ...known };
    return {
      tool,
      name: null,
      standing: 'unfit',
      why: 'another tool has its name here, or it has none',
      ...known,
    };
  });
  const unfit = listed.flatMap((one): ToolReport[] =>
    'unfit' in one ? [{ tool: one.name, name: null, standing: 'unfit', why: one.unfit }] : [],
  );
  const unfitNames = unfit.map(({ tool }) => tool);
  return [...fit.filter(({ tool }) => !unfitNames.includes(tool)), ...unfit].sort((one, other) =>
    one.tool < other.tool ? -1 : 1,
  );
}
