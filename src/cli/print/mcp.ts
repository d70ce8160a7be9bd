import { createTwoFilesPatch } from 'diff';
import { loginCommand } from '../../tools/mcp/authorization';
import type { McpServer } from '../../tools/mcp/declare';
import type { Definition } from '../../tools/mcp/definition';
import { lockStart, sortKeys } from '../../tools/mcp/lock-file';
import { describeStart } from '../../tools/mcp/servers';
import {
  countDecided,
  isFine,
  type NamedServer,
  othersIn,
  type ServerReport,
  type ToolReport,
} from '../mcp-servers';
import { diffLines } from './diff';
import { escapeJson, escapeLines, escapeText } from '../../contract/text/escape';
import type { ScreenFormat, Style } from './screen';
import { factLines, indented, tableLines } from './table';

const STATES = { allowed: 'allowed', not_allowed: 'not allowed', failed: 'failed' } as const;

/** Servers as a table, and the reasons why some may not be started. */
export function serverLines(reports: readonly ServerReport[], screen: ScreenFormat): string[] {
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
export function mcpTestLines(report: ServerReport, { style }: ScreenFormat): string[] {
  const { server, state, why, tools } = report;
  const head = `${isFine(report) ? style.good('ok ') : style.bad('bad')} ${escapeText(server)}`;
  if (why !== undefined) return [`${head}: ${STATES[state]}`, ...indented(escapeLines(why))];
  const others = othersIn(tools).map((tool) => otherLine(tool, style));
  return [`${head}: ${countDecided(tools)}`, ...indented(others)];
}

/** A server and all of its tools. */
export function inspectLines(report: ServerReport, screen: ScreenFormat): string[] {
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
  return [...facts, ...tools.flatMap((tool) => toolLines(tool, screen))];
}

function toolLines(report: ToolReport, { style }: ScreenFormat): string[] {
  const { tool, name, standing, why, definition } = report;
  const head = `${style.strong(escapeText(name ?? tool))}  ${standing}${why === undefined ? '' : `: ${escapeText(why)}`}`;
  return [
    '',
    head,
    ...noteLines(report, style),
    ...(definition === undefined ? [] : indented(definitionLines(definition))),
  ];
}

/** The exact command or address of a server, because a person who agrees agrees to exactly this. */
export function startLines({ name, start }: McpServer, isKnown: boolean, { style }: ScreenFormat): string[] {
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
export function differenceLines(
  report: ToolReport,
  { locked }: NamedServer,
  { style }: ScreenFormat,
): string[] {
  const { tool, standing, definition } = report;
  const head = ['', otherLine(report, style), ...noteLines(report, style)];
  if (definition === undefined || standing === 'gone') return head;
  const before = locked?.tools[tool]?.definition;
  if (before === undefined) return [...head, ...indented(definitionLines(definition))];
  const [was, is] = [before, definition].map((one) => `${definitionLines(one).join('\n')}\n`);
  const patch = createTwoFilesPatch('allowed', 'now', was ?? '', is ?? '');
  return [...head, ...indented(diffLines(patch.split('\n').slice(1).join('\n'), style))];
}

function noteLines({ notes = [] }: ToolReport, style: Style): string[] {
  return notes.map((note) => `  ${style.warn('note')} ${escapeText(note)}`);
}

/** A tool with its state compared to what was allowed. */
export function otherLine(
  { tool, standing, why }: Pick<ToolReport, 'tool' | 'why'> & { standing: string },
  style: Style,
): string {
  const reason = why === undefined ? '' : `: ${escapeText(why)}`;
  return `${style.warn(standing.padEnd(8))} ${escapeText(tool)}${reason}`;
}

function definitionLines(definition: Definition): string[] {
  return escapeJson(sortKeys(definition)).split('\n');
}
