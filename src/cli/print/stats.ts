import type { ModelStats, Spread, Stats, ToolStats, TurnStats } from '../../history/stats';
import { barOf } from './bar';
import { bytes, count } from './numbers';
import type { Screen } from './screen';
import { factLines, tableLines, type Cell, type Table } from './table';
import { span } from '../../contract/times';
import { visible } from './visible';

type Look = Pick<Screen, 'width' | 'style'>;

const BAR = { wide: 24, narrow: 10, narrowBelow: 80 } as const;

/** Stats in sections: turns, calls, times and sizes, and, where there are any, decisions and doubts. */
export function statsLines(stats: Stats, look: Look): string[] {
  if (stats.turns.count === 0) return ['There are no turns.'];
  const facts = [...turnFacts(stats.turns), ...modelFacts(stats.model)];
  const rows = rowsOf(stats);
  return [
    ...factLines(facts, { width: look.width, quiet: look.style.quiet }),
    ...section('calls, █ succeeded ░ failed · unfinished', callsTable(rows, look), look),
    ...section('times and sizes', timesTable(rows.filter(({ time }) => time.count > 0)), look),
    ...section('decisions', decisionsTable(rows.filter((row) => row.decisions.requests > 0)), look),
    ...section('in doubt', doubtsTable(rows.filter((row) => row.inDoubt.calls > 0)), look),
  ];
}

type Row = { tool: string } & ToolStats;

/** One row alone says already what all of them come to. */
function rowsOf({ tools, all }: Stats): Row[] {
  return tools.length > 1 ? [...tools, { tool: '(all)', ...all }] : tools;
}

function section(title: string, table: Table, { width, style }: Look): string[] {
  if (table.rows.length === 0) return [];
  return ['', style.strong(title), ...tableLines(table, { width, quiet: style.quiet })];
}

function turnFacts({ count: turns, ends, time }: TurnStats): [string, Cell][] {
  const each = Object.entries(ends).map(([end, some]) => `${count(some)} ${end.replaceAll('_', ' ')}`);
  return [
    ['turns', { text: `${count(turns)}: ${each.join(', ')}` }],
    ['took', { text: spreadText(time, span) }],
  ];
}

function modelFacts({
  replies,
  retried,
  failed,
  inputTokens,
  outputTokens,
  time,
}: ModelStats): [string, Cell][] {
  const trouble = [counted(retried, 'retried'), counted(failed, 'failed')].filter((text) => text !== '');
  return [
    ['replies', { text: [count(replies), ...trouble, spreadText(time, span)].join(', ') }],
    ['tokens', { text: `${count(inputTokens)} in, ${count(outputTokens)} out` }],
  ];
}

function callsTable(rows: readonly Row[], { width, style }: Look): Table {
  const columns = width < BAR.narrowBelow ? BAR.narrow : BAR.wide;
  const most = Math.max(...rows.filter(({ tool }) => tool !== '(all)').map(({ calls }) => calls));
  return {
    head: ['TOOL', 'CALLS', '', 'OK', 'RETRIED', 'FAILED BY'],
    rows: rows.map((row) => [
      { text: visible(row.tool) },
      { text: String(row.calls) },
      { text: row.tool === '(all)' ? '' : barOf([row.succeeded, row.failed, row.unfinished], most, columns) },
      rateCell(row.successRate, style),
      { text: row.retried === 0 ? '' : String(row.retried) },
      {
        text: Object.entries(row.errors)
          .map(([code, times]) => `${code} ${times}`)
          .join(', '),
      },
    ]),
    flex: 5,
  };
}

function rateCell(rate: number | null, style: Look['style']): Cell {
  if (rate === null) return { text: '-' };
  const paint = rate === 1 ? style.good : rate < 0.9 ? style.bad : style.warn;
  // Rounding up would hide the one that failed.
  return { text: `${Math.floor(rate * 100)} %`, paint };
}

function timesTable(rows: readonly Row[]): Table {
  return {
    head: ['TOOL', 'TIME P50', 'P95', 'MAX', 'SIZE MEAN', 'P50', 'P95', 'MAX'],
    rows: rows.map(({ tool, time, size }) =>
      [visible(tool), ...spreadCells(time, span), mean(size), ...spreadCells(size, bytes)].map((text) => ({
        text,
      })),
    ),
    flex: 0,
  };
}

function decisionsTable(rows: readonly Row[]): Table {
  return {
    head: [
      'TOOL',
      'REQUESTS',
      'APPROVED',
      'EDITED',
      'DENIED',
      'EXPIRED',
      'REFUSED',
      'WAIT P50',
      'P95',
      'MAX',
    ],
    rows: rows.map(({ tool, decisions }) => {
      const { requests, approved, edited, denied, expired, refused, wait } = decisions;
      const counts = [requests, approved, edited, denied, expired, refused].map(String);
      return [visible(tool), ...counts, ...spreadCells(wait, span)].map((text) => ({ text }));
    }),
    flex: 0,
  };
}

function doubtsTable(rows: readonly Row[]): Table {
  return {
    head: ['TOOL', 'CALLS', 'HAPPENED', 'DID NOT', 'RUN AGAIN'],
    rows: rows.map(({ tool, inDoubt: { calls, resolved } }) =>
      [visible(tool), calls, resolved.happened, resolved['did-not'], resolved['run-again']].map((one) => ({
        text: String(one),
      })),
    ),
    flex: 0,
  };
}

function spreadCells({ p50, p95, max }: Spread, write: (value: number) => string): string[] {
  return [p50, p95, max].map((value) => (value === null ? '-' : write(value)));
}

function spreadText(spread: Spread, write: (value: number) => string): string {
  const [p50, p95, max] = spreadCells(spread, write);
  return `p50 ${p50 ?? '-'}, p95 ${p95 ?? '-'}, max ${max ?? '-'}`;
}

function mean({ mean: value }: Spread): string {
  return value === null ? '-' : bytes(value);
}

function counted(some: number, what: string): string {
  return some === 0 ? '' : `${count(some)} ${what}`;
}
