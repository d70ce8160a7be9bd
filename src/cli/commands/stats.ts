import type { Command } from 'commander';
import type { Context } from '../context';
import { readEachTurn } from '../progress';
import { addTurnFilters, readTurnQuery, type TurnFilters } from '../flags';
import { costText, describeTokens } from '../../history/labels';
import { percentText, spreadText } from '../../history/stats-text';
import type { ModelStats, Spread, Stats, ToolStats, TurnStats } from '../../history/stats';
import { count } from '../../contract/text/columns';
import type { ScreenFormat } from '../print/screen';
import { type Cell, type TableFact, factLines, type Table, tableLines } from '../print/table';
import { sizeText } from '../../contract/text/bytes';
import { span } from '../../contract/text/times';
import { escapeText } from '../../contract/text/escape';

const LIMIT = 500;

/** `stats`. */
export function addStats(program: Command, context: Context): void {
  const command = program
    .command('stats')
    .description('show success and failure by tool, times, sizes and decisions of past turns');
  addTurnFilters(command, LIMIT).action((options: TurnFilters) => stats(options, context));
}

async function stats(options: TurnFilters, { withClient, screen, print }: Context) {
  const { createStats } = await import('../../history/stats.js');
  const query = readTurnQuery(options, LIMIT);
  const fold = createStats({ tool: options.tool });
  await withClient((client) => readEachTurn({ client, screen }, query, (events) => fold.add(events)));
  const found = fold.stats();
  print(found, () => statsLines(found, screen));
}

const BAR = { wide: 24, narrow: 10, narrowBelow: 80 } as const;

/** Stats in sections: turns, calls, times and sizes. Decisions and doubts get a section if there are any. */
export function statsLines(stats: Stats, look: ScreenFormat): string[] {
  if (stats.turns.count === 0) return ['There are no turns.'];
  const rows = rowsOf(stats);
  return [
    ...factLines([...turnFacts(stats.turns), ...modelFacts(stats.model)], look),
    ...section('calls, █ succeeded ░ failed · unfinished', callsTable(rows, look), look),
    ...section('times and sizes', timesTable(rows.filter(({ time }) => time.count > 0)), look),
    ...section('decisions', decisionsTable(rows.filter((row) => row.decisions.requests > 0)), look),
    ...section('in doubt', doubtsTable(rows.filter((row) => row.inDoubt.calls > 0)), look),
  ];
}

type Row = { tool: string } & ToolStats;

/** The rows of tools. With more than one tool, a last row has the totals. */
function rowsOf({ tools, all }: Stats): Row[] {
  return tools.length > 1 ? [...tools, { tool: '(all)', ...all }] : tools;
}

function section(title: string, table: Table, screen: ScreenFormat) {
  return table.rows.length === 0 ? [] : ['', screen.style.strong(title), ...tableLines(table, screen)];
}

function turnFacts({ count: turns, ends, time }: TurnStats): TableFact[] {
  const each = Object.entries(ends).map(([end, some]) => `${count(some)} ${end.replaceAll('_', ' ')}`);
  return [
    ['turns', `${count(turns)}: ${each.join(', ')}`],
    ['took', spreadText(time)],
  ];
}

function modelFacts(model: ModelStats): TableFact[] {
  const { replies, retried, failed, time } = model;
  const trouble = Object.entries({ retried, failed }).filter(([, some]) => some > 0);
  const parts = [
    count(replies),
    ...trouble.map(([what, some]) => `${count(some)} ${what}`),
    spreadText(time),
  ];
  return [
    ['replies', parts.join(', ')],
    ['tokens', describeTokens(model)],
    ['cost', costText(model) || undefined],
  ];
}

function callsTable(rows: readonly Row[], { width, style }: ScreenFormat): Table {
  const columns = width < BAR.narrowBelow ? BAR.narrow : BAR.wide;
  const most = Math.max(...rows.filter(({ tool }) => tool !== '(all)').map(({ calls }) => calls));
  return {
    head: ['TOOL', 'CALLS', '', 'OK', 'RETRIED', 'FAILED BY'],
    rows: rows.map((row) => [
      escapeText(row.tool),
      String(row.calls),
      row.tool === '(all)' ? '' : barOf([row.succeeded, row.failed, row.unfinished], most, columns),
      rateCell(row.successRate, style),
      row.retried === 0 ? '' : String(row.retried),
      Object.entries(row.errors)
        .map(([code, times]) => `${escapeText(code)} ${times}`)
        .join(', '),
    ]),
    flex: 5,
  };
}

function rateCell(rate: number | null, style: ScreenFormat['style']): Cell | string {
  if (rate === null) return '-';
  const paint = rate === 1 ? style.good : rate < 0.9 ? style.bad : style.warn;
  return { text: percentText(rate), paint };
}

function timesTable(rows: readonly Row[]): Table {
  return {
    head: ['TOOL', 'TIME P50', 'P95', 'MAX', 'SIZE MEAN', 'P50', 'P95', 'MAX'],
    rows: rows.map(({ tool, time, size }) => {
      const mean = size.mean === null ? '-' : sizeText(size.mean);
      return [escapeText(tool), ...spreadCells(time, span), mean, ...spreadCells(size, sizeText)];
    }),
    flex: 0,
  };
}

function decisionsTable(rows: readonly Row[]): Table {
  const states = ['requests', 'approved', 'edited', 'denied', 'expired', 'refused'] as const;
  return {
    head: ['TOOL', ...states.map((state) => state.toUpperCase()), 'WAIT P50', 'P95', 'MAX'],
    rows: rows.map(({ tool, decisions }) => {
      const counts = states.map((state) => String(decisions[state]));
      return [escapeText(tool), ...counts, ...spreadCells(decisions.wait, span)];
    }),
    flex: 0,
  };
}

function doubtsTable(rows: readonly Row[]): Table {
  return {
    head: ['TOOL', 'CALLS', 'HAPPENED', 'DID NOT', 'RUN AGAIN'],
    rows: rows.map(({ tool, inDoubt: { calls, resolved } }) => {
      const counts = [calls, resolved.happened, resolved['did-not'], resolved['run-again']];
      return [escapeText(tool), ...counts.map(String)];
    }),
    flex: 0,
  };
}

function spreadCells({ p50, p95, max }: Spread, write: (value: number) => string) {
  return [p50, p95, max].map((value) => (value === null ? '-' : write(value)));
}

/** The characters for the parts of a bar, which must differ even without colours. */
const SHADES = ['█', '░', '·'] as const;

/**
 * Counts as one bar. A total of `most` is as long as `columns`. A part that is not 0 is never left out, so that one
 * failure among thousands shows.
 */
export function barOf(parts: readonly number[], most: number, columns: number): string {
  const total = parts.reduce((sum, part) => sum + part, 0);
  if (total === 0 || most === 0) return '';
  const lengths = parts.map((part) => (part === 0 ? 0 : Math.max(1, Math.round((part / most) * columns))));
  const over = lengths.reduce((sum, length) => sum + length, 0) - columns;
  const longest = lengths.indexOf(Math.max(...lengths));
  return lengths
    .map((length, at) => (at === longest ? length - Math.max(0, over) : length))
    .map((length, at) => (SHADES[at] ?? '·').repeat(Math.max(0, length)))
    .join('');
}
