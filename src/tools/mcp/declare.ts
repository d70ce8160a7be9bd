import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { CountersignError, errorMessage } from '../../contract/errors';
import { isObject, parseJson } from '../../contract/json';
import { requirePackage } from '../../system/missing-package';
import { toolOptions, type ToolOptions } from '../define-tool';
import { checkedOptions } from '../option-values';
import type { Secrets } from '../secrets';

const filled = z.string().min(1);

/**
 * A value of a server's environment or headers. Either text, in which `${NAME}` and `${NAME:-default}` stand for
 * variables of the worker's environment, or the name of a secret of the config's provider.
 */
export type McpValue = string | { secret: string };

/** Servers by name, or the path of a `.mcp.json`, relative to the current folder. */
export type McpServers = string | Readonly<Record<string, McpCommand | McpAddress>>;

/** The config's settings of a server's tool. Without them a tool is dangerous and unsafe, whatever the server says. */
export type McpToolSettings = Pick<ToolOptions, keyof typeof SETTINGS>;

const SETTINGS = {
  safety: true,
  effect: true,
  categories: true,
  timeout: true,
  retry: true,
  requestExpires: true,
  startWithin: true,
  noBatch: true,
  noGrant: true,
  outputLimit: true,
  jsonTexts: true,
} as const;

/** How a server is started or reached, with every default filled in. */
export type McpStart =
  | {
      kind: 'stdio';
      command: string;
      args: readonly string[];
      cwd: string;
      env: Readonly<Record<string, McpValue>>;
      elicitation?: true;
    }
  | McpHttpStart;

/** How a server is reached over HTTP. */
export interface McpHttpStart {
  kind: 'http';
  url: string;
  headers: Readonly<Record<string, McpValue>>;
  oauth?: McpOAuth;
  elicitation?: true;
}

/** A server that a config names. */
export interface McpServer {
  name: string;
  /** The first part of its tools' names, before `__`. */
  prefix: string;
  start: McpStart;
  /** Absent: all calls of a worker share one connection. */
  state?: 'turn' | 'session';
}

const value = z.union([z.string(), z.strictObject({ secret: filled })]);
const values = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]*$/, 'is not a name'), value).readonly();

/**
 * The calls that share a connection to a server, and so the server's memory: all calls of a worker, the calls of a
 * turn, or the calls of all turns of a session.
 */
const state = z.enum(['worker', 'turn', 'session']).optional();

const connected = {
  /**
   * Whether the server may ask a person for input in the middle of a call, by a question in the inbox. @default false
   */
  elicitation: z.boolean().optional(),
  /** The calls that share a connection. @default 'worker' */
  state,
};

// Other clients keep their own settings in the same file, so other fields are ignored and not refused.
const command = z.object({
  type: z.literal('stdio').optional(),
  /** A program, never a shell command line. With `npx` and `uvx` the package needs an exact version. */
  command: filled,
  args: z.array(z.string()).readonly().default([]),
  /** The server's environment: these variables, and HOME, LOGNAME, PATH, SHELL, TERM, USER of the worker; no others. */
  env: values.default({}),
  /** The server's working directory, relative to the current one. @default '.' */
  cwd: filled.default('.'),
  ...connected,
});

/** A server that the worker starts and talks to over its standard input and output. */
export interface McpCommand extends z.input<typeof command> {}

/** RFC 6749; a scope may become a word of a command line. */
const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, 'is not a scope');

const oauthSchema = z
  .object({
    /** The id of a client that somebody registered. @default one is registered at each login */
    clientId: filled.optional(),
    /**
     * The secret of the client `clientId`. If you set the secret, set `issuer` too: the secret is sent only to that
     * server.
     */
    clientSecret: value.optional(),
    /** The scopes to request. @default what the server asks for */
    scopes: z.array(scope).max(64).readonly().optional(),
    /** The only authorization server to log in at. @default the authorization server that the MCP server names */
    issuer: z.url({ protocol: /^https?$/ }).optional(),
    /** The port of the redirect to this machine, for a client registered with a port. @default any that is free */
    callbackPort: z.int().min(1).max(65_535).optional(),
  })
  .refine(({ clientId, clientSecret }) => clientSecret === undefined || clientId !== undefined, {
    message: '`clientSecret` needs `clientId`',
  })
  .refine(({ issuer, clientSecret }) => clientSecret === undefined || issuer !== undefined, {
    message: '`clientSecret` needs `issuer`: it goes to no other place',
  });

/** How people log in to a server. Most servers need none of this, because they register clients by themselves. */
export interface McpOAuth extends z.input<typeof oauthSchema> {}

const address = z.object({
  type: z.enum(['http', 'streamable-http']).optional(),
  /** A server with a command is never reached at an address instead, not even if its command does not fit. */
  command: z.undefined().optional(),
  url: filled,
  /** Headers of each request to `url`, never sent to another origin. With `Authorization` nobody logs in. */
  headers: values.default({}),
  ...connected,
  // We check this later, because zod does not report the errors inside a union.
  oauth: z.unknown().optional(),
});

/** A server that runs elsewhere and speaks streamable HTTP. */
export interface McpAddress extends Omit<z.input<typeof address>, 'command'> {
  /** Settings for `countersign mcp login`. @default the server says how */
  oauth?: McpOAuth;
}

// This union has its own error message, because zod does not report the errors inside a union.
const server = z.union([command, address], {
  error: ({ input }) =>
    isObject(input) && !state.safeParse(input['state']).success
      ? "`state` is 'worker', 'turn' or 'session'"
      : 'needs `command`, or `url` with streamable HTTP',
});

/** A server's name, in the usual forms of clients: `github`, `My Server`, `files-2`. */
const NAME = /^[A-Za-z](?:[ ._-]?[A-Za-z0-9]){0,31}$/;

const record = z.record(z.string().regex(NAME, 'is not a name of a server'), server);

/** The schema of a config's option `mcpServers`. */
export const serversSchema = z.union([filled, record]);

/** The schema of a config's option `mcpTools`. */
export const settingsSchema = z.record(z.string(), toolOptions.pick(SETTINGS));

const fileSchema = z.looseObject({ mcpServers: record });

/** The dependencies of connections to servers. */
export interface OpenDeps {
  secrets: Secrets;
  /** Receives lines for the worker's log. */
  warn(message: string): void;
  /**
   * Set: nobody waits for the servers, which are asked after `when`. All locked tools are there at once, and `gone` gets
   * our names of those that a server turns out not to have as they were allowed. Absent: the servers are asked first.
   */
  later?: { when: Promise<void>; gone(tools: readonly string[]): void };
}

/**
 * The servers that a config names, in its order.
 *
 * @throws CountersignError `not_installed`; `config_invalid` if the file cannot be read or is wrong, or two names are too
 * much alike.
 */
export async function declaredServers(given: McpServers): Promise<McpServer[]> {
  requirePackage('@modelcontextprotocol/client');
  const declared = typeof given === 'string' ? await readServers(given) : record.parse(given);
  const servers = Object.entries(declared).map(([name, one]) => ({
    name,
    prefix: prefixOf(name),
    start: toStart(name, one),
    state: one.state === 'worker' ? undefined : one.state,
  }));
  const prefixes = servers.map(({ prefix }) => prefix);
  const twice = servers.find(({ prefix }, at) => prefixes.indexOf(prefix) !== at);
  if (twice === undefined) return servers;
  throw invalid(
    `two MCP servers are called \`${twice.prefix}\``,
    'Their names may not differ by signs only.',
  );
}

async function readServers(path: string) {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw invalid(`${path} cannot be read: ${errorMessage(cause)}`, 'Name a file such as .mcp.json.');
  }
  return checkedOptions(fileSchema, parseJson(text), (words) =>
    invalid(`${path}: ${words}`, 'Write `{ "mcpServers": { … } }` as JSON.'),
  ).mcpServers;
}

/** The prefix of a server's tool names: `my_server` for `My Server`. It has no `__`, so the first `__` ends it. */
function prefixOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '_').toLowerCase();
}

function toStart(name: string, one: z.output<typeof server>): McpStart {
  const elicitation = one.elicitation || undefined;
  if (one.command !== undefined) {
    const { command, args, cwd, env } = one;
    return { kind: 'stdio', command, args, cwd, env, elicitation };
  }
  const { url, headers, oauth } = one;
  const login = oauth === undefined ? undefined : toOAuth(name, oauth);
  return { kind: 'http', url, headers, oauth: login, elicitation };
}

function toOAuth(name: string, oauth: unknown): McpOAuth {
  return checkedOptions(oauthSchema, oauth, (words) =>
    invalid(`\`oauth\` of the MCP server ${name}: ${words}`, 'See docs/mcp.md for what it may hold.'),
  );
}

/** Whether people log in to a server: false if the config sets the header `Authorization` itself. */
export function usesLogin({ headers }: McpHttpStart): boolean {
  return !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * A text with its variables filled in.
 *
 * @throws CountersignError `config_invalid` for a variable that is not set and has no default.
 */
export function fillVariables(text: string): string {
  return text.replace(VARIABLE, (_, name: string, otherwise: string | undefined) => {
    const found = process.env[name] ?? otherwise;
    if (found !== undefined) return found;
    throw invalid(`the variable ${name} is not set`, 'Set it for the worker, or write ${NAME:-default}.');
  });
}

/** The variables that a text names. A text with a variable shows where a value comes from, but not the value. */
export function variablesIn(text: string): string[] {
  return [...text.matchAll(VARIABLE)].flatMap(([, name]) => name ?? []);
}

function invalid(message: string, hint: string) {
  return new CountersignError('config_invalid', `config: ${message}`, hint);
}
