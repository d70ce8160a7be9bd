import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { defined } from '../../contract/defined';
import { digestJson } from '../../contract/digest';
import { CountersignError, errnoOf, errorMessage } from '../../contract/errors';
import { parseJson } from '../../contract/json';
import { describeIssues } from '../options';
import { type McpOAuth, type McpStart, type McpValue, variablesIn } from './declare';
import { type Definition, definitionSchema, digestDefinition } from './definition';

/** Where the agreement is kept, unless the config says otherwise: beside the config, and reviewed like code. */
export const LOCK_FILE = 'countersign.mcp.lock';

/** How a server is started, as people agreed to it: names and sources of values, never the values. */
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

export type LockedStart = z.output<typeof startSchema>;

type LockedOAuth = NonNullable<Extract<LockedStart, { url: string }>['oauth']>;

const toolSchema = z.strictObject({ digest: z.string(), definition: definitionSchema });

const serverSchema = z.strictObject({
  start: startSchema,
  tools: z.record(z.string(), toolSchema),
  /** Digests of tools that people looked at and left out, by the server's own names. */
  refused: z.record(z.string(), z.string()).optional(),
});

/** What was agreed to of one server. */
export type LockedServer = z.output<typeof serverSchema>;

const lockSchema = z.strictObject({
  version: z.literal(1),
  servers: z.record(z.string(), serverSchema),
});

/** What was agreed to of all servers, by name. */
export type Lock = z.output<typeof lockSchema>;

/**
 * The agreement in a file; an empty one where there is no file.
 *
 * @throws CountersignError `config_invalid` for a file that cannot be read, or in which a tool is not the one of its digest.
 */
export async function readLock(path: string): Promise<Lock> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (errnoOf(cause) === 'ENOENT') return undefined;
    throw invalid(path, errorMessage(cause));
  });
  if (text === undefined) return { version: 1, servers: {} };
  const parsed = lockSchema.safeParse(parseJson(text));
  if (!parsed.success) throw invalid(path, describeIssues(parsed.error));
  for (const [server, { tools }] of Object.entries(parsed.data.servers))
    for (const [name, { digest, definition }] of Object.entries(tools))
      if (definition.name !== name || digestDefinition(definition) !== digest)
        throw invalid(path, `the tool ${name} of ${server} is not the one of its digest`);
  return parsed.data;
}

/** The text of a lock: sorted, so that a review shows what changed and nothing else. */
export function formatLock(lock: Lock): string {
  return `${JSON.stringify(sortKeys(lock), null, 2)}\n`;
}

/** A JSON value with the keys of its objects in order, as the lock has them. */
export function sortKeys(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(sortKeys);
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, below]) => [key, sortKeys(below)]));
}

/** What the lock keeps of a tool. */
export function lockTool(definition: Definition): LockedServer['tools'][string] {
  return { digest: digestDefinition(definition), definition };
}

/** How a server is started, as the lock keeps it. */
export function lockStart(start: McpStart): LockedStart {
  const asks = defined({ elicitation: start.elicitation });
  if (start.kind === 'http') {
    const { url, headers, oauth } = start;
    const login = oauth === undefined ? {} : { oauth: lockOAuth(oauth) };
    return { url, headers: sourcesOf(headers), ...login, ...asks };
  }
  const { command, args, cwd, env } = start;
  return { command, args: [...args], cwd, env: sourcesOf(env), ...asks };
}

/** The port is of the machine where somebody logs in. */
function lockOAuth({ clientId, clientSecret, issuer, scopes }: McpOAuth): LockedOAuth {
  return defined({
    clientId,
    clientSecret: clientSecret === undefined ? undefined : sourceOf(clientSecret),
    issuer,
    scopes: scopes === undefined ? undefined : [...scopes],
  });
}

function sourcesOf(values: Readonly<Record<string, McpValue>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, sourceOf(value)]));
}

/** Where a value comes from. One that stands in the config itself may be a secret: it is bound by its digest only. */
function sourceOf(value: McpValue): string {
  if (typeof value !== 'string') return `secret ${value.secret}`;
  return variablesIn(value).length > 0 ? value : `sha256 ${digestJson(value)}`;
}

/** What names how a server is started: a decision about a call holds for this server only. */
export function digestStart(start: LockedStart): string {
  return digestJson(start);
}

/** What was agreed to of one server; undefined where nothing was. */
export function lockedServer({ servers }: Lock, name: string): LockedServer | undefined {
  return Object.hasOwn(servers, name) ? servers[name] : undefined;
}

/** Whether a server is started as people agreed to. */
export function isAgreed(start: LockedStart, locked: LockedServer | undefined): boolean {
  return locked !== undefined && digestStart(start) === digestStart(locked.start);
}

/** How a tool of a server stands to the agreement. */
export type Standing = 'allowed' | 'refused' | 'new' | 'changed' | 'gone';

/** How all tools stand that a server lists or that were agreed to, by the server's own names. What cannot be used counts as `gone`. */
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

/** Programs that fetch what they run: what says nothing of the package, what names it, and how it is named. */
const FETCHERS: Readonly<Record<string, { flags: readonly string[]; package: RegExp }>> = {
  npx: { flags: ['-y', '--yes', '-q', '--quiet'], package: /^(@[^/@]+\/)?[^/@]+@\d+\.\d+\.\d+(-[\w.]+)?$/ },
  bunx: { flags: [], package: /^(@[^/@]+\/)?[^/@]+@\d+\.\d+\.\d+(-[\w.]+)?$/ },
  uvx: { flags: ['-q', '--quiet'], package: /^[\w.-]+(\[[\w,-]+\])?(==|@)\d+(\.\d+)+[abrc.\w]*$/ },
};

const NAMING = ['-p', '--package', '--from'];

/** Other ways to the same programs, by their first argument. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  npm: ['exec', 'x'],
  pnpm: ['dlx'],
  yarn: ['dlx'],
  bun: ['x'],
  uv: ['tool', 'x'],
  pipx: ['run'],
};

/**
 * Why a server may not be started as it is declared, whoever agreed; undefined where it may. What is fetched without an
 * exact version is another program tomorrow.
 */
export function whyNotStarted(start: McpStart): string | undefined {
  if (start.kind === 'http') return whyNotReached(start.url);
  const file = start.command.replaceAll('\\', '/').split('/').at(-1) ?? '';
  const program = file.replace(/\.(cmd|exe|ps1)$/i, '').toLowerCase();
  const [first = ''] = start.args;
  if (Object.hasOwn(ALIASES, program) && ALIASES[program]?.includes(first) === true)
    return `${program} ${first} cannot be checked; write it with npx or uvx`;
  const fetcher = Object.hasOwn(FETCHERS, program) ? FETCHERS[program] : undefined;
  if (fetcher === undefined) return undefined;
  const packages = packagesIn(start.args, fetcher.flags);
  const isExact = packages.length > 0 && packages.every((one) => fetcher.package.test(one));
  return isExact ? undefined : `${program} needs a package with an exact version, such as name@1.2.3`;
}

/** What a fetching program is asked to fetch. Empty where it has an option that we do not know. */
function packagesIn(args: readonly string[], flags: readonly string[]): string[] {
  const named: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (NAMING.includes(word)) named.push(args[++at] ?? '');
    else if (!word.startsWith('-')) return named.length > 0 ? named : [word];
    else if (!flags.includes(word)) return [];
  }
  return named;
}

function whyNotReached(url: string): string | undefined {
  if (variablesIn(url).length > 0) return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol))
    return 'its address is not one of http or https';
  const hasCredentials = parsed.username !== '' || parsed.password !== '';
  return hasCredentials ? 'its address holds a name or a password; use `headers`' : undefined;
}

function invalid(path: string, why: string): CountersignError {
  return new CountersignError('config_invalid', `${path}: ${why}`, {
    hint: 'Restore the file from your repository, or remove it and run `countersign mcp allow`.',
  });
}
