import { chart } from '../../bench/chart';
import { absolute, median, NO_LIMIT, relative } from '../../bench/figure';

describe('a figure', () => {
  it.each([
    [100, { most: 200, unit: 'ms' }, true, 0.5],
    [300, { most: 200, unit: 'ms' }, false, 1.5],
    [-3, { most: 10, unit: 'ms' }, true, 0],
    [10_000, { least: 5_000, unit: '/s' }, true, 0.5],
    [2_500, { least: 5_000, unit: '/s' }, false, 2],
    [NaN, { most: 200, unit: 'ms' }, false, NaN],
  ])('%p held to %p', (value, hold, ok, share) => {
    expect(absolute('x', value, hold)).toMatchObject({ value, ok, share, baseline: null, ratio: null });
  });

  it('is compared with its baseline round by round', () => {
    const measured = { values: [10, 40], baselines: [10, 20], unit: 'ms' };
    expect(relative('x', measured, { most: 1.05 })).toMatchObject({
      ratio: 1.5,
      ok: false,
      limit: '≤ 1.05×',
    });
    expect(relative('x', measured, { least: 0.95 })).toMatchObject({ ratio: 1.5, ok: true });
  });

  it('without a limit is only shown, and not in the chart of limits', () => {
    const shown = relative('only shown', { values: [40], baselines: [10], unit: 's' }, {});
    expect(shown).toMatchObject({ ratio: 4, ok: true, limit: NO_LIMIT });
    expect(chart([shown])).not.toContain('only shown');
  });
});

it.each([
  [[3, 1, 2], 2],
  [[4, 1, 2, 3], 2.5],
  [[], NaN],
])('the median of %p', (numbers, middle) => {
  expect(median(numbers)).toBe(middle);
});

const figures = [
  absolute('first < 100 & more', 100, { most: 200, unit: 'ms' }),
  absolute('too slow', 900, { most: 200, unit: 'ms' }),
];

it('is drawn as a bar that ends before the limit, or is cut behind it', () => {
  const drawn = chart(figures);
  expect(drawn).toContain('first &lt; 100 &amp; more');
  expect([...drawn.matchAll(/width="(\d+)" height="18"/g)].map(([, width]) => Number(width))).toEqual([
    160, 480,
  ]);
  expect(drawn).toContain('450 %');
});
