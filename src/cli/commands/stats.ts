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

async function stats(options: TurnFilters, { withClient, screen, print }: Context): Promise<void> {
  const { createStats } = await import('../../history/stats.js');
  const query = readTurnQuery(options, LIMIT);
  const fold = createStats({ tool: options.tool });
  await withClient((client) => readEachTurn({ client, screen }, query, (events) => fold.add(events)));
  const found = fold.stats();
  print(found, () => statsLines(found, screen));
}

/** Stats in sections: turns, calls, times and sizes. Decisions and doubts get a section if there are any. */
export function statsLines(stats: Stats, look: ScreenFormat): string[] {
  if (stats.turns.count === 0) return ['There are no turns.'];
  const { tools, all } = stats;
  const rows: Row[] = tools.length > 1 ? [...tools, { tool: '(all)', ...all }] : tools;
  return [
    ...factLines([...turnFacts(stats.turns), ...modelFacts(stats.model)], look),
    ...section('calls', callsTable(rows, look.style), look),
    ...section('times and sizes', timesTable(rows.filter(({ time }) => time.count > 0)), look),
    ...section('decisions', decisionsTable(rows.filter((row) => row.decisions.requests > 0)), look),
    ...section('in doubt', doubtsTable(rows.filter((row) => row.inDoubt.calls > 0)), look),
  ];
}

type Row = { tool: string } & ToolStats;

function section(title: string, table: Table, screen: ScreenFormat): string[] {
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

function callsTable(rows: readonly Row[], style: ScreenFormat['style']): Table {
  return {
    head: ['TOOL', 'CALLS', 'UNFINISHED', 'OK', 'RETRIED', 'FAILED BY'],
    rows: rows.map((row) => [
      escapeText(row.tool),
      String(row.calls),
      row.unfinished === 0 ? '' : String(row.unfinished),
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

function spreadCells({ p50, p95, max }: Spread, write: (value: number) => string): string[] {
  return [p50, p95, max].map((value) => (value === null ? '-' : write(value)));
}
