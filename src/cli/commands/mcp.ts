import type { Command } from 'commander';
import { resolve } from 'node:path';
import { CountersignError } from '../../contract/errors';
import { shellWord } from '../../contract/text/shell-word';
import { replaceFile } from '../../system/files';
import { counted } from '../../history/labels';
import type { Config } from '../../tools/define-config';
import type { McpServer } from '../../tools/mcp/declare';
import { formatLock, isAgreed, lockStart, lockTool, readLock, sortKeys } from '../../tools/mcp/lock-file';
import type { Context } from '../context';
import { EXIT } from '../exit-codes';
import { withFileErrors } from '../../system/named-files';
import { loadConfig } from '../load-config';
import {
  checkMcpStart,
  isFine,
  listTools,
  type McpOptions,
  type NamedServer,
  namedServers,
  reportAgreed,
  reportLive,
  type ToolReport,
  toolReports,
  countDecided,
  othersIn,
  type ServerReport,
} from '../mcp-servers';
import { escapeText, escapeJson, escapeLines } from '../../contract/text/escape';
import type { Screen, ScreenFormat, Style } from '../print/screen';
import { confirm } from '../review/confirm';
import { withTerminal } from '../review/terminal';
import { addGateway } from './mcp-gateway';
import { addLogin } from './mcp-login';
import { createTwoFilesPatch } from 'diff';
import { loginCommand } from '../../tools/mcp/authorization';
import type { Definition } from '../../tools/mcp/definition';
import { describeStart } from '../../tools/mcp/servers';
import { diffLines } from '../../history/preview-lines';
import { factLines, indented, tableLines } from '../print/table';

interface TestOptions extends McpOptions {
  schemas?: boolean;
}

interface AllowOptions extends McpOptions {
  yes?: boolean;
  only?: string[];
}

/** `mcp`, `mcp test`, `mcp allow`, `mcp login` and `mcp gateway`. */
export function addMcp(program: Command, context: Context): void {
  const mcp = program
    .command('mcp')
    .description('list the MCP servers of the config, and what was allowed; starts none')
    .option('--config <file>', 'the config (default: countersign.config.ts and the like)')
    .action((options: McpOptions) => list(options, context));
  mcp.configureHelp({ ...mcp.configureHelp(), showGlobalOptions: true });
  const config = () => mcp.opts<McpOptions>();
  mcp
    .command('test [server]')
    .description('start the allowed servers, and say what has changed')
    .option('--schemas', 'show all tools, with their schemas')
    .action((name: string | undefined, options: TestOptions) =>
      test(name, { ...options, ...config() }, context),
    );
  mcp
    .command('allow <server>')
    .description('show what is new or different, and write it to the lock if you agree')
    .option('--only <tools...>', 'allow these tools and refuse all others of the server')
    .option('-y, --yes', 'agree without being asked: what is written is reviewed elsewhere')
    .action((name: string, options: AllowOptions) => allow(name, { ...options, ...config() }, context));
  addLogin(mcp, context);
  addGateway(mcp, context);
}

async function list({ config: file }: McpOptions, { screen, print, typed }: Context) {
  const { config } = await loadConfig(file);
  const reports = (await namedServers(config)).map(reportAgreed);
  print(reports, () => serverLines(reports, screen).map(typed));
}

async function test(
  name: string | undefined,
  { config: file, schemas }: TestOptions,
  { screen, typed, exitWith, print }: Context,
) {
  const { config } = await loadConfig(file);
  const named = await namedServers(config, name);
  const reports = await Promise.all(named.map((one) => reportLive(one, config)));
  print(reports, () =>
    schemas === true
      ? reports.flatMap((report) => inspectLines(report, screen))
      : reports.flatMap((report) => mcpTestLines(report, screen)).map(typed),
  );
  if (!reports.every(isFine)) exitWith(EXIT.failed);
}

async function allow(name: string, { config: file, yes = false, only }: AllowOptions, context: Context) {
  const { screen, json } = context;
  const { config } = await loadConfig(file);
  const [named] = await namedServers(config, name);
  if (named === undefined) return;
  checkMcpStart(name, named.server.start);
  if (json && !yes)
    throw new CountersignError('usage', 'with --json nobody is shown what would be allowed', 'Add --yes.');
  const ask = (question: string) =>
    yes
      ? Promise.resolve(true)
      : withTerminal(context.keyboard, 'Look at the server, then add --yes.', (one) =>
          confirm(one, question),
        );
  const isKnown = isAgreed(lockStart(named.server.start), named.locked);
  if (!json) screen.lines(startLines(named.server, isKnown, screen));
  if (!isKnown && !(await ask('Start it and look at its tools?'))) return screen.line('Nothing was allowed.');
  const tools = toolReports(named, await listTools(named.server, config));
  const choice = choose(tools, only);
  if (!json) screen.lines(choiceLines(choice, named, screen));
  const isSame = isKnown && isLocked(choice);
  if (!isSame && !(await ask(question(choice)))) return screen.line('Nothing was allowed.');
  if (!isSame) await write(named.server, choice, config);
  report({ name, tools, choice, isSame }, config, context);
}

/** The tools of a server that are allowed, refused or gone. */
interface Choice {
  allowed: readonly ToolReport[];
  refused: readonly ToolReport[];
  gone: readonly ToolReport[];
}

/** Chooses the tools to allow. Without names, all tools are allowed except the tools that were refused before. */
function choose(tools: readonly ToolReport[], only: readonly string[] | undefined): Choice {
  const there = tools.filter(({ standing }) => standing !== 'gone' && standing !== 'unfit');
  const strange = only?.filter((name) => !there.some((tool) => isCalled(tool, name))) ?? [];
  if (strange.length > 0)
    throw new CountersignError(
      'usage',
      `the server has no usable tool ${strange.join(', ')}`,
      `It has: ${there.map(({ tool }) => tool).join(', ') || 'none'}.`,
    );
  const unclear = only?.find((name) => there.filter((tool) => isCalled(tool, name)).length > 1);
  if (unclear !== undefined)
    throw new CountersignError(
      'usage',
      `two tools of the server are called ${unclear}`,
      'Allow the server without --only, or not at all: one tool takes the name of another.',
    );
  const isAllowed = (tool: ToolReport) =>
    only?.some((name) => isCalled(tool, name)) ?? tool.standing !== 'refused';
  return {
    // A tool that was refused before has to be looked at like a new tool.
    allowed: there
      .filter(isAllowed)
      .map((tool) => (tool.standing === 'refused' ? { ...tool, standing: 'new' } : tool)),
    refused: there.filter((tool) => !isAllowed(tool)),
    gone: tools.filter(({ standing }) => standing === 'gone'),
  };
}

function isCalled({ tool, name }: ToolReport, called: string) {
  return tool === called || name === called;
}

function isLocked({ allowed, refused, gone }: Choice) {
  return (
    allowed.every(({ standing }) => standing === 'allowed') &&
    refused.every(({ standing }) => standing === 'refused') &&
    gone.length === 0
  );
}

/** The changes to the lock file. Allowed tools are shown in full, refused tools by their names. */
function choiceLines({ allowed, refused, gone }: Choice, named: NamedServer, screen: Screen): string[] {
  const left = refused.filter(({ standing }) => standing !== 'refused');
  const different = [...allowed.filter(({ standing }) => standing !== 'allowed'), ...gone];
  return [
    ...toolSummaryLines(different, screen),
    ...different.flatMap((tool) => differenceLines(tool, named, screen)),
    ...(left.length === 0 ? [] : ['']),
    ...left.map(({ tool }) => otherLine({ tool, standing: 'refused' }, screen.style)),
  ];
}

function question({ allowed, refused, gone }: Choice) {
  const number = (wanted: ToolReport['standing']) =>
    allowed.filter(({ standing }) => standing === wanted).length;
  const others = refused.length === 0 ? '' : `, ${refused.length} refused`;
  return `Allow this server, with ${number('new')} new and ${number('changed')} changed tools, and ${gone.length} gone${others}?`;
}

async function write(server: McpServer, { allowed, refused }: Choice, config: Config) {
  const path = resolve(config.mcpLock);
  // The file is read again, because the person may have taken a long time.
  const lock = await readLock(path);
  const tools = allowed.flatMap(({ tool, definition }) =>
    definition ? [[tool, lockTool(definition)] as const] : [],
  );
  const digests = refused.flatMap(({ tool, digest }) =>
    digest === undefined ? [] : [[tool, digest] as const],
  );
  const entry = {
    start: lockStart(server.start),
    tools: Object.fromEntries(tools),
    refused: digests.length === 0 ? undefined : Object.fromEntries(digests),
  };
  const text = formatLock({ ...lock, servers: { ...lock.servers, [server.name]: entry } });
  // The lock file is reviewed and deployed like code, so others may read it.
  await withFileErrors(`writing ${path}`, () => replaceFile(path, text, 0o644));
}

interface Allowed {
  name: string;
  tools: readonly ToolReport[];
  choice: Choice;
  isSame: boolean;
}

function report({ name, tools, choice, isSame }: Allowed, { mcpLock }: Config, { print }: Context) {
  const { allowed, refused } = choice;
  const number = counted(allowed.length, 'tool');
  const others = refused.length === 0 ? '' : `, ${refused.length} refused`;
  print({ server: name, lock: mcpLock, tools }, () => [
    '',
    isSame
      ? `Nothing is different: ${number}${others}.`
      : `Allowed ${escapeText(name)} with ${number}${others}, in ${shellWord(mcpLock)}.`,
    ...(refused.length === 0
      ? []
      : ['`--only` names the tools to allow, also those that were refused before.']),
    ...(isSame ? [] : ['Commit that file, and start the workers again.']),
  ]);
}

const STATES = { allowed: 'allowed', not_allowed: 'not allowed', failed: 'failed' } as const;

/** Servers as a table, and the reasons why some may not be started. */
function serverLines(reports: readonly ServerReport[], screen: ScreenFormat): string[] {
  if (reports.length === 0) return ['The config names no MCP server.'];
  const { style } = screen;
  const rows = reports.map(({ server, state, tools, tokens, start }) => [
    escapeText(server),
    { text: STATES[state], paint: state === 'allowed' ? style.good : style.warn },
    String(tools.length),
    `~${tokens.toLocaleString('en')}`,
    escapeText(start),
  ]);
  return [
    ...tableLines({ head: ['SERVER', 'STATE', 'TOOLS', 'TOKENS', 'STARTED AS'], rows, flex: 4 }, screen),
    ...reports.flatMap(({ server, why, login }) =>
      [why, loginText(login, server)].flatMap((text) =>
        text === undefined ? [] : ['', ...escapeLines(`${server}: ${text}`)],
      ),
    ),
  ];
}

/** The login state in words. Undefined if nobody has logged in, because most servers say when they need a login. */
function loginText(login: ServerReport['login'], server: string): string | undefined {
  if (login === 'kept') return 'somebody is logged in on this machine';
  if (login === 'needed') return `nobody is logged in on this machine; run \`${loginCommand(server)}\``;
  return login === 'unreadable'
    ? `its login cannot be read; \`countersign mcp test ${server}\` says why`
    : undefined;
}

/**
 * Says whether a server is unchanged since a person allowed it, and lists the tools that nobody has allowed or refused.
 */
function mcpTestLines(report: ServerReport, { style }: ScreenFormat): string[] {
  const { server, state, why, tools } = report;
  const head = `${isFine(report) ? style.good('ok ') : style.bad('bad')} ${escapeText(server)}`;
  if (why !== undefined) return [`${head}: ${STATES[state]}`, ...indented(escapeLines(why))];
  const others = othersIn(tools).map((tool) => otherLine(tool, style));
  return [`${head}: ${countDecided(tools)}`, ...indented(others)];
}

/** A server and all of its tools. */
function inspectLines(report: ServerReport, screen: ScreenFormat): string[] {
  const { server, start, state, why, tools } = report;
  const facts = factLines(
    [
      ['server', escapeText(server)],
      ['started as', escapeText(start)],
      ['state', STATES[state]],
      ['why', why && escapeText(why)],
    ],
    screen,
  );
  return [...facts, ...tools.flatMap((tool) => toolLines(tool, screen))];
}

function toolLines(report: ToolReport, { style }: ScreenFormat): string[] {
  const { tool, name, standing, why, definition } = report;
  const head = `${style.strong(escapeText(name ?? tool))}  ${standing}${why === undefined ? '' : `: ${escapeText(why)}`}`;
  return [
    '',
    head,
    ...noteLines(report, style),
    ...(definition ? indented(definitionLines(definition)) : []),
  ];
}

/** The exact command or address of a server, because a person who agrees agrees to exactly this. */
function startLines({ name, start }: McpServer, isKnown: boolean, { style }: ScreenFormat): string[] {
  const values = Object.entries(lockStart(start)).filter(([key]) => VALUES.includes(key));
  return [
    `${style.strong(escapeText(name))} ${style.quiet(isKnown ? '(started as was allowed)' : '(nobody has allowed this yet)')}`,
    ...indented(escapeLines(describeStart(start))),
    ...values.flatMap(([key, of]) =>
      Object.entries(of).map(
        ([variable, source]) => `  ${key} ${escapeText(variable)}: ${escapeText(String(source))}`,
      ),
    ),
    ...(start.elicitation === true ? ['  elicitation: in a call it may ask people for input'] : []),
  ];
}

const VALUES: readonly string[] = ['env', 'headers', 'oauth'];

/**
 * The tools that would be allowed, one in a line, because a person cannot judge many definitions at once. Empty for a
 * single tool.
 */
export function toolSummaryLines(tools: readonly ToolReport[], screen: ScreenFormat): string[] {
  if (tools.length < 2) return [];
  const head = ['TOOL', 'IS', 'SAYS IT', 'DESCRIPTION'];
  const rows = tools.map(({ tool, standing, definition }) => [
    escapeText(tool),
    standing,
    definition?.annotations?.['readOnlyHint'] === true ? 'only reads' : '',
    escapeText(definition?.description ?? ''),
  ]);
  return ['', ...tableLines({ head, rows, flex: 3 }, screen), '', 'In full:'];
}

/** A tool that would be allowed: its whole definition if it is new, otherwise the difference. */
function differenceLines(report: ToolReport, { locked }: NamedServer, { style }: ScreenFormat): string[] {
  const { tool, standing, definition } = report;
  const head = ['', otherLine(report, style), ...noteLines(report, style)];
  if (definition === undefined || standing === 'gone') return head;
  const before = locked?.tools[tool]?.definition;
  if (before === undefined) return [...head, ...indented(definitionLines(definition))];
  const [was, is] = [before, definition].map((one) => `${definitionLines(one).join('\n')}\n`);
  const patch = createTwoFilesPatch('allowed', 'now', was ?? '', is ?? '');
  return [...head, ...indented(diffLines(patch.split('\n').slice(1).join('\n'), style))];
}

function noteLines({ notes = [] }: ToolReport, style: Style) {
  return notes.map((note) => `  ${style.warn('note')} ${escapeText(note)}`);
}

/** A tool with its state compared to what was allowed. */
function otherLine(
  { tool, standing, why }: Pick<ToolReport, 'tool' | 'why'> & { standing: string },
  style: Style,
) {
  const reason = why === undefined ? '' : `: ${escapeText(why)}`;
  return `${style.warn(standing.padEnd(8))} ${escapeText(tool)}${reason}`;
}

function definitionLines(definition: Definition) {
  return escapeJson(sortKeys(definition)).split('\n');
}
