import { chart } from '../../../bench/scale/chart';
import { extrapolate, type Measured } from '../../../bench/scale/growth';
import { headOf, table } from '../../../bench/scale/report';
import { eachRow } from '../../../bench/scale/rows';

const column = (size: number, value: number): Measured => ({
  size,
  values: { ...Object.fromEntries(eachRow((id) => [id, 1])), database: value, decide: value },
  seconds: {
    ...{ cluster: 1, start: 1, size: 1, inbox: 1, watch: 1, decide: 1, kill: 1, burst: 1, expiry: 1 },
  },
});

const small = column(1000, 50);
const large = column(10_000, 200);
const guessed = extrapolate([small, large], 100_000);

it('marks what was not run in the table, and judges by what was', () => {
  const lines = table([small, large, guessed]);
  expect(lines[0]).toBe(
    '| waiting turns | 1,000 | 10,000 | 100,000, extrapolated | growth | to hold | holds |',
  );
  expect(lines).toContain('| database | 50 MB | 200 MB | (1700 MB) | 4× | linear | yes |');
  expect(lines).toContain('| decision → effect, p50 | 50 ms | 200 ms | (1700 ms) | 4× | ≤ 1.5× | **no** |');
  expect(lines).toHaveLength(2 + eachRow(() => 0).length);
});

it('says of one size nothing about growth', () => {
  const lines = table([small]);
  expect(lines).toContain('| database | 50 MB | - | linear | - |');
  expect(lines).toContain('| its questions to visibility while people watch | 1 /s | - | ≤ 2 /s | yes |');
});

it('says when it was measured, and what else the machine did', () => {
  const head = headOf({ day: '2026-11-26', load: 3.456 });
  expect(head).toMatch(/^Measured on 2026-11-26: \d+ × /);
  expect(head).toContain('The load of the machine was 3.5 before the bench began.');
  expect(head).not.toContain('in memory');
  const cached = headOf({ day: '2026-11-26', load: 1, cached: 2000 });
  expect(cached).toContain('Each worker kept 2,000 turns in memory. The load');
});

describe('the chart', () => {
  it('has a curve a row, and marks the size that was not run', () => {
    const svg = chart([small, large, guessed]);
    for (const name of eachRow((_, row) => row.name)) expect(svg).toContain(`>${name}</text>`);
    expect(svg).toContain('>100,000 extrapolated</text>');
    expect(svg).toContain('>10,000</text>');
    const rows = eachRow(() => 0).length;
    expect(svg.match(/stroke-dasharray="2 4"/g)).toHaveLength(rows);
    expect(svg.match(/<circle [^>]*fill="#fff"/g)).toHaveLength(rows);
    expect(svg.match(/<circle /g)).toHaveLength(3 * rows);
    expect(svg).not.toContain('NaN');
  });

  it('can be drawn of one size', () => {
    const svg = chart([small]);
    expect(svg).not.toContain('NaN');
    expect(svg).not.toContain('extrapolated');
  });
});
