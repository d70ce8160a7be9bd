import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { digestJson } from '../../contract/digest';
import { CountersignError, errnoOf, errorMessage } from '../../contract/errors';
import { parseJson } from '../../contract/json';
import { checkedOptions } from '../option-values';
import { type McpOAuth, type McpStart, type McpValue, variablesIn } from './declare';
import { type Definition, definitionSchema, digestDefinition } from './definition';

/** How a server is started, as people allowed it: with the names and sources of values, never the values. */
const startSchema = z.union([
  z.strictObject({
    command: z.string(),
    args: z.array(z.string()),
    cwd: z.string(),
    env: z.record(z.string(), z.string()),
    elicitation: z.literal(true).optional(),
  }),
  z.strictObject({
    url: z.string(),
    headers: z.record(z.string(), z.string()),
    elicitation: z.literal(true).optional(),
    oauth: z
      .strictObject({
        clientId: z.string().optional(),
        clientSecret: z.string().optional(),
        issuer: z.string().optional(),
        scopes: z.array(z.string()).optional(),
      })
      .optional(),
  }),
]);

type LockedStart = z.output<typeof startSchema>;

type LockedOAuth = NonNullable<Extract<LockedStart, { url: string }>['oauth']>;

const toolSchema = z.strictObject({ digest: z.string(), definition: definitionSchema });

const serverSchema = z.strictObject({
  start: startSchema,
  tools: z.record(z.string(), toolSchema),
  /** Digests of tools that people looked at and did not allow, by the server's own names. */
  refused: z.record(z.string(), z.string()).optional(),
});

/** The part of the lock for one server: how it may be started, and its allowed tools. */
export type LockedServer = z.output<typeof serverSchema>;

const lockSchema = z.strictObject({
  version: z.literal(1),
  servers: z.record(z.string(), serverSchema),
});

/** The content of the lock file: the allowed servers and tools, by server name. */
export type Lock = z.output<typeof lockSchema>;

/**
 * Reads the lock from a file. Returns an empty lock if there is no file.
 *
 * @throws CountersignError `config_invalid` for a file that cannot be read, or if a tool does not match its digest.
 */
export async function readLock(path: string): Promise<Lock> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (errnoOf(cause) === 'ENOENT') return undefined;
    throw invalid(path, errorMessage(cause));
  });
  if (text === undefined) return { version: 1, servers: {} };
  const lock = checkedOptions(lockSchema, parseJson(text), (words) => invalid(path, words));
  for (const [server, { tools }] of Object.entries(lock.servers))
    for (const [name, { digest, definition }] of Object.entries(tools))
      if (definition.name !== name || digestDefinition(definition) !== digest)
        throw invalid(path, `the tool ${name} of ${server} is not the one of its digest`);
  return lock;
}

/** The text of a lock: sorted, so that a review shows what changed and nothing else. */
export function formatLock(lock: Lock): string {
  return `${JSON.stringify(sortKeys(lock), null, 2)}\n`;
}

/** A JSON value with the keys of its objects sorted, as in the lock. */
export function sortKeys(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(sortKeys);
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, below]) => [key, sortKeys(below)]));
}

/** The entry of a tool in the lock. */
export function lockTool(definition: Definition): LockedServer['tools'][string] {
  return { digest: digestDefinition(definition), definition };
}

/** How a server is started, in the form of the lock. */
export function lockStart(start: McpStart): LockedStart {
  const asks = { elicitation: start.elicitation };
  if (start.kind === 'http') {
    const { url, headers, oauth } = start;
    const login = oauth === undefined ? {} : { oauth: lockOAuth(oauth) };
    return { url, headers: sourcesOf(headers), ...login, ...asks };
  }
  const { command, args, cwd, env } = start;
  return { command, args: [...args], cwd, env: sourcesOf(env), ...asks };
}

/** The login settings in the form of the lock. The port is left out, because it depends on the machine of the login. */
function lockOAuth({ clientId, clientSecret, issuer, scopes }: McpOAuth): LockedOAuth {
  return {
    clientId,
    clientSecret: clientSecret === undefined ? undefined : sourceOf(clientSecret),
    issuer,
    scopes: scopes === undefined ? undefined : [...scopes],
  };
}

function sourcesOf(values: Readonly<Record<string, McpValue>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, sourceOf(value)]));
}

/** The source of a value. A value in the config itself may be a secret, so the lock has only its digest. */
function sourceOf(value: McpValue) {
  if (typeof value !== 'string') return `secret ${value.secret}`;
  return variablesIn(value).length > 0 ? value : `sha256 ${digestJson(value)}`;
}

/** The digest of how a server is started. It binds a decision about a call to this server. */
export function digestStart(start: LockedStart): string {
  return digestJson(start);
}

/** The lock's part for one server. Undefined if nobody has allowed the server. */
export function lockedServer({ servers }: Lock, name: string): LockedServer | undefined {
  return Object.hasOwn(servers, name) ? servers[name] : undefined;
}

/** Whether a server is started in the way that people allowed. */
export function isAgreed(start: LockedStart, locked: LockedServer | undefined): boolean {
  return locked !== undefined && digestStart(start) === digestStart(locked.start);
}

/** The state of a server's tool compared with the lock. */
export type Standing = 'allowed' | 'refused' | 'new' | 'changed' | 'gone';

/**
 * The state of each tool that a server lists or that the lock has, by the server's own names. A locked tool that the
 * server lists in an unusable form counts as `gone`.
 */
export function standings(
  locked: Pick<LockedServer, 'tools' | 'refused'>,
  listed: readonly Definition[],
): Map<string, Standing> {
  const found = new Map<string, Standing>(Object.keys(locked.tools).map((name) => [name, 'gone']));
  for (const definition of listed) found.set(definition.name, standingOf(definition, locked));
  return found;
}

function standingOf(
  definition: Definition,
  { tools, refused = {} }: Pick<LockedServer, 'tools' | 'refused'>,
): Standing {
  const { name } = definition;
  const digest = digestDefinition(definition);
  if (Object.hasOwn(tools, name)) return tools[name]?.digest === digest ? 'allowed' : 'changed';
  return Object.hasOwn(refused, name) && refused[name] === digest ? 'refused' : 'new';
}

function invalid(path: string, why: string) {
  return new CountersignError(
    'config_invalid',
    `${path}: ${why}`,
    'Restore the file from your repository, or remove it and run `countersign mcp allow`.',
  );
}
