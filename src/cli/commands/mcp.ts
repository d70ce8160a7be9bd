import type { Command } from 'commander';
import { createTwoFilesPatch } from 'diff';
import { resolve } from 'node:path';
import { CountersignError } from '../../contract/errors';
import { shellWord } from '../../contract/text/shell-word';
import { replaceFile } from '../../files';
import type { Config } from '../../tools/define-config';
import type { McpServer } from '../../tools/mcp/declare';
import type { Definition } from '../../tools/mcp/definition';
import {
  formatLock,
  isAgreed,
  lockStart,
  lockTool,
  readLock,
  sortKeys,
  whyNotStarted,
} from '../../tools/mcp/lock';
import { describeStart } from '../../tools/mcp/servers';
import type { Context } from '../context';
import { EXIT } from '../exit-codes';
import { withFile } from '../files';
import { loadConfig } from '../load-config';
import {
  isFine,
  listTools,
  type NamedServer,
  namedServers,
  reportAgreed,
  reportLive,
  type ServerReport,
  type ToolReport,
  toolReports,
} from '../mcp-servers';
import { diffLines } from '../print/diff';
import { escapeJson, escapeLines, escapeText } from '../print/escape';
import { count } from '../print/format';
import type { Screen, ScreenFormat, Style } from '../print/screen';
import { factLines, indented, tableLines } from '../print/table';
import { confirm, withTerminal } from '../review/terminal';

interface McpOptions {
  config?: string;
  json?: boolean;
}

/** `mcp list`, `mcp test`, `mcp allow` and `mcp inspect`. */
export function addMcp(program: Command, context: Context): void {
  const mcp = program
    .command('mcp')
    .description('look at MCP servers, and allow what workers may use of them');
  const add = (name: string, about: string): Command =>
    mcp
      .command(name)
      .description(about)
      .option('--config <file>', 'the config (default: countersign.config.ts and the like)')
      .option('--json', 'print JSON');
  add('list', 'show the servers of the config and what was allowed; starts none').action(
    (options: McpOptions) => list(options, context),
  );
  add('test [server]', 'start what was allowed, and say what is different now').action(
    (name: string | undefined, options: McpOptions) => test(name, options, context),
  );
  add('inspect <server>', 'show all tools of a server, with their schemas').action(
    (name: string, options: McpOptions) => inspect(name, options, context),
  );
  add('allow <server>', 'show what is new or different, and write it to the lock if you agree')
    .option('-y, --yes', 'agree without being asked: what is written is reviewed elsewhere')
    .action((name: string, options: McpOptions & { yes?: boolean }) => allow(name, options, context));
}

async function list({ config: file, json = false }: McpOptions, { screen }: Context): Promise<void> {
  const { config } = await loadConfig(file);
  const reports = (await namedServers(config)).map(reportAgreed);
  if (json) return screen.json(reports);
  if (reports.length === 0) return screen.line('The config names no MCP server.');
  const { style } = screen;
  const rows = reports.map(({ server, state, tools, start }) => [
    escapeText(server),
    { text: STATES[state], paint: state === 'allowed' ? style.good : style.warn },
    String(tools.length),
    escapeText(start),
  ]);
  screen.lines(tableLines({ head: ['SERVER', 'STATE', 'TOOLS', 'STARTED AS'], rows, flex: 3 }, screen));
  screen.lines(whyLines(reports));
}

const STATES = { allowed: 'allowed', not_allowed: 'not allowed', failed: 'failed' } as const;

function whyLines(reports: readonly ServerReport[]): string[] {
  return reports.flatMap(({ server, why }) =>
    why === undefined ? [] : ['', ...escapeLines(`${server}: ${why}`)],
  );
}

async function test(
  name: string | undefined,
  { config: file, json = false }: McpOptions,
  { screen, typed }: Context,
): Promise<void> {
  const { config } = await loadConfig(file);
  const named = await namedServers(config, name);
  const reports = await Promise.all(named.map((one) => reportLive(one, config)));
  if (json) screen.json(reports);
  else screen.lines(reports.flatMap((report) => testLines(report, screen)).map(typed));
  if (!reports.every(isFine)) process.exitCode = EXIT.failed;
}

function testLines(report: ServerReport, screen: ScreenFormat): string[] {
  const { server, state, why, tools } = report;
  const { style } = screen;
  const head = `${isFine(report) ? style.good('ok ') : style.bad('bad')} ${escapeText(server)}`;
  if (why !== undefined) return [`${head}: ${STATES[state]}`, ...indented(escapeLines(why))];
  const others = tools.filter(({ standing }) => standing !== 'allowed');
  const allowed = numbered(tools.length - others.length);
  return [`${head}: ${allowed} as allowed`, ...indented(others.map((tool) => otherLine(tool, style)))];
}

function numbered(tools: number): string {
  return `${count(tools)} ${tools === 1 ? 'tool' : 'tools'}`;
}

function otherLine({ tool, standing, why }: ToolReport, style: Style): string {
  const reason = why === undefined ? '' : `: ${escapeText(why)}`;
  return `${style.warn(standing.padEnd(8))} ${escapeText(tool)}${reason}`;
}

async function inspect(
  name: string,
  { config: file, json = false }: McpOptions,
  { screen }: Context,
): Promise<void> {
  const { config } = await loadConfig(file);
  const [named] = await namedServers(config, name);
  if (named === undefined) return;
  const report = await reportLive(named, config);
  if (json) return screen.json(report);
  const { server, start, state, why, tools } = report;
  const facts = factLines(
    [
      ['server', escapeText(server)],
      ['started as', escapeText(start)],
      ['state', STATES[state]],
      ['why', why === undefined ? undefined : escapeText(why)],
    ],
    screen,
  );
  screen.lines([...facts, ...tools.flatMap((tool) => toolLines(tool, screen))]);
}

function toolLines({ tool, name, standing, why, definition }: ToolReport, { style }: ScreenFormat): string[] {
  const head = `${style.strong(escapeText(name ?? tool))}  ${standing}${why === undefined ? '' : `: ${escapeText(why)}`}`;
  return ['', head, ...(definition === undefined ? [] : indented(definitionLines(definition)))];
}

function definitionLines(definition: Definition): string[] {
  return escapeJson(sortKeys(definition)).split('\n');
}

async function allow(
  name: string,
  { config: file, yes = false, json = false }: McpOptions & { yes?: boolean },
  context: Context,
): Promise<void> {
  const { config } = await loadConfig(file);
  const [named] = await namedServers(config, name);
  if (named === undefined) return;
  const why = whyNotStarted(named.server.start);
  if (why !== undefined)
    throw new CountersignError('config_invalid', `MCP server ${name}: ${why}`, { hint: HINT });
  if (json && !yes)
    throw new CountersignError('usage', 'with --json nobody is shown what would be allowed', {
      hint: 'Add --yes.',
    });
  const ask = (question: string): Promise<boolean> =>
    yes
      ? Promise.resolve(true)
      : withTerminal(context.keyboard, 'Look at the server, then add --yes.', (one) =>
          confirm(one, question),
        );
  const { screen } = context;
  const isKnown = isAgreed(lockStart(named.server.start), named.locked);
  if (!json) screen.lines(startLines(named.server, isKnown, screen));
  if (!isKnown && !(await ask('Start it and look at its tools?'))) return screen.line('Nothing was allowed.');
  const tools = toolReports(named, await listTools(named.server, config));
  const changed = tools.filter(({ standing }) => standing !== 'allowed');
  if (!json) screen.lines(changed.flatMap((tool) => differenceLines(tool, named, screen)));
  const isSame = isKnown && changed.every(({ standing }) => standing === 'unfit');
  if (!isSame && !(await ask(question(changed)))) return screen.line('Nothing was allowed.');
  if (!isSame) await write(named.server, tools, config);
  report({ name, tools, json, isSame }, config, screen);
}

const HINT = 'Correct `mcpServers` of the config.';

/** The exact command or address: whoever agrees agrees to this. */
function startLines({ name, start }: McpServer, isKnown: boolean, screen: Screen): string[] {
  const { quiet } = screen.style;
  const values = Object.entries(lockStart(start)).filter(([key]) => key === 'env' || key === 'headers');
  return [
    `${screen.style.strong(escapeText(name))} ${quiet(isKnown ? '(started as was allowed)' : '(nobody has allowed this yet)')}`,
    ...indented(escapeLines(describeStart(start))),
    ...values.flatMap(([key, of]) =>
      Object.entries(of).map(
        ([variable, source]) => `  ${key} ${escapeText(variable)}: ${escapeText(String(source))}`,
      ),
    ),
  ];
}

function differenceLines(report: ToolReport, { locked }: NamedServer, screen: Screen): string[] {
  const { tool, standing, definition } = report;
  const head = ['', otherLine(report, screen.style)];
  if (definition === undefined || standing === 'gone' || standing === 'unfit') return head;
  if (standing === 'new') return [...head, ...indented(definitionLines(definition))];
  const before = definitionLines(locked?.tools[tool]?.definition ?? definition).join('\n');
  const patch = createTwoFilesPatch(
    'allowed',
    'now',
    `${before}\n`,
    `${definitionLines(definition).join('\n')}\n`,
  );
  return [...head, ...indented(diffLines(patch.split('\n').slice(1).join('\n'), screen.style))];
}

function question(changed: readonly ToolReport[]): string {
  const numberOf = (wanted: ToolReport['standing']): number =>
    changed.filter(({ standing }) => standing === wanted).length;
  return `Allow this server, with ${numberOf('new')} new and ${numberOf('changed')} changed tools, and ${numberOf('gone')} gone?`;
}

async function write(server: McpServer, tools: readonly ToolReport[], config: Config): Promise<void> {
  const path = resolve(config.mcpLock);
  // Read again: a person may have taken their time.
  const lock = await readLock(path);
  const kept = tools.flatMap(({ tool, standing, definition }) =>
    definition === undefined || standing === 'gone' || standing === 'unfit'
      ? []
      : [[tool, lockTool(definition)] as const],
  );
  const entry = { start: lockStart(server.start), tools: Object.fromEntries(kept) };
  const text = formatLock({ ...lock, servers: { ...lock.servers, [server.name]: entry } });
  await withFile(`writing ${path}`, () => replaceFile(path, text));
}

interface Allowed {
  name: string;
  tools: readonly ToolReport[];
  json: boolean;
  isSame: boolean;
}

function report({ name, tools, json, isSame }: Allowed, { mcpLock }: Config, screen: Screen): void {
  if (json) return screen.json({ server: name, lock: mcpLock, tools });
  const number = numbered(tools.filter(({ standing }) => standing !== 'gone' && standing !== 'unfit').length);
  screen.lines([
    '',
    isSame
      ? `Nothing is different: ${number}.`
      : `Allowed ${escapeText(name)} with ${number}, in ${shellWord(mcpLock)}.`,
    ...(isSame ? [] : ['Commit that file, and start the workers again.']),
  ]);
}
