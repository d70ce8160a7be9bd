import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { absolute, relative } from '../../bench/figure';
import { barOf, merged, rowsIn } from '../../bench/report';
import { ROWS } from '../../bench/rows';
import { root } from '../support/build';

const MONDAY = { day: '2026-11-23', machine: '2 × a, Node 20' };
const FRIDAY = { day: '2026-11-27', machine: '2 × a, Node 24' };

const step = (ms: number) => relative('step', { values: [ms], baselines: [40], unit: 'ms' }, { most: 1.05 });
const timeline = absolute('timeline of 4,000 events', 220, { most: 300, unit: 'ms' });
const shown = relative('the same with commitEvery 0', { values: [40], baselines: [10], unit: 's' }, {});
const sessions = absolute('200 sessions spoken to at once, answered', 200, { least: 200, unit: '' });
const start = absolute('worker ready, prebuilt bundle', 1.5, { most: 1.4, unit: 's' });

const PAGE = merged([], [sessions, step(40), timeline, shown], MONDAY);

describe('the figures of a run', () => {
  it('are rows of a table, in the order of the measurements', () => {
    expect(PAGE).toEqual([
      'Measured on',
      '',
      '- 2026-11-23: 2 × a, Node 20.',
      '',
      '| figure | value | baseline | ratio | to hold | holds | measured |',
      '| --- | --- | --- | --- | --- | --- | --- |',
      '| step | 40 ms | 40 | 1 | ≤ 1.05× | yes | 2026-11-23 |',
      '| the same with commitEvery 0 | 40 s | 10 | 4 | - | - | 2026-11-23 |',
      '| timeline of 4,000 events | 220 ms | - | - | ≤ 300 ms | yes | 2026-11-23 |',
      '| 200 sessions spoken to at once, answered | 200 | - | - | ≥ 200 | yes | 2026-11-23 |',
    ]);
  });

  it('take the place of rows of the same name, and leave all others with their day and machine', () => {
    const old = '| what it once was | 1 ms | - | - | - | - | 2026-11-23 |';
    const lines = merged([...PAGE, old], [step(50), start], FRIDAY);
    expect(lines.slice(2)).toEqual([
      '- 2026-11-23: 2 × a, Node 20.',
      '- 2026-11-27: 2 × a, Node 24.',
      ...PAGE.slice(3, 6),
      '| worker ready, prebuilt bundle | 1.5 s | - | - | ≤ 1.4 s | **no** | 2026-11-27 |',
      '| step | 50 ms | 40 | 1.25 | ≤ 1.05× | **no** | 2026-11-27 |',
      ...PAGE.slice(7),
      old,
    ]);
  });

  it('name a machine once, with all its days', () => {
    const lines = merged(PAGE, [step(50)], { ...FRIDAY, machine: MONDAY.machine });
    expect(lines.filter((line) => line.startsWith('- '))).toEqual([
      '- 2026-11-23, 2026-11-27: 2 × a, Node 20.',
    ]);
  });

  it('leave no day on which no row was measured', () => {
    const lines = merged(PAGE, [sessions, step(40), timeline, shown], FRIDAY);
    expect(lines.filter((line) => line.startsWith('- '))).toEqual(['- 2026-11-27: 2 × a, Node 24.']);
  });
});

it.each([step(40), step(50), timeline, sessions, start, shown])(
  'the chart is drawn from a row: %o',
  (figure) => {
    const [cells = []] = rowsIn(merged([], [figure], MONDAY));
    const { figure: name, limit, ok, share } = figure;
    const bar = barOf(cells);
    expect(bar).toMatchObject({ figure: name, limit: limit.trim(), ok });
    if (figure !== shown) expect(bar.share).toBeCloseTo(share, 5);
  },
);

describe('the page', () => {
  const text = readFileSync(join(root, 'docs', 'background', 'performance.md'), 'utf8');
  const [, part = ''] = /<!-- figures -->(.*)<!-- end of figures -->/s.exec(text) ?? [];
  const lines = part.trim().split('\n');

  it('has every row of every measurement, each once, in their order, and no others', () => {
    expect(rowsIn(lines).map(([name]) => name)).toEqual(Object.values(ROWS).flat());
  });

  it('is what a run without figures would leave', () => {
    const empty = { day: '2026-01-01', machine: 'none' };
    expect(merged(lines, [], empty)).toEqual(lines);
  });
});
