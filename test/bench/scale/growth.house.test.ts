import { allHold, extrapolate, judge, predictSeconds, type Measured } from '../../../bench/scale/growth';
import { eachRow, PHASES, type Phase, type RowId, type Values } from '../../../bench/scale/rows';

const everyPhase = (seconds: number): Record<Phase, number> => ({
  ...{ cluster: seconds, start: seconds, size: seconds, inbox: seconds, watch: seconds },
  ...{ decide: seconds, kill: seconds, burst: seconds, expiry: seconds },
});

const measured = (size: number, values: Values, seconds = 1): Measured => ({
  ...{ size, values, seconds: everyPhase(seconds) },
});

describe('what a larger size takes', () => {
  it.each([
    // cluster, size, inbox, decide and kill stay; start, watch, burst and expiry grow
    [100, 1000, 5 + 4 * 10],
    [1000, 10_000, 5 + 10 + 10 + 1 + 10],
    [10_000, 100_000, 5 + 10 + 10 + 1 + 1],
    [1000, 1000, PHASES.length],
  ])('from %p turns to %p: %p seconds', (known, size, seconds) => {
    expect(predictSeconds(measured(known, {}), size)).toBeCloseTo(seconds);
  });
});

describe('a size that was not run', () => {
  it.each<[RowId, number, number, number]>([
    ['database', 100, 400, 1300],
    // No size is cheaper than a smaller one.
    ['database', 400, 100, 100],
    ['decide', 100, 100, 100],
    ['decide', 100, 130, 220],
    ['calls', 2, 2, 2],
    // 20 a second are 50 ms each, 10 are 100 ms: 250 ms are 4 a second.
    ['start', 20, 10, 4],
    ['start', 10, 20, 20],
  ])('%s of %p at 1,000 and %p at 4,000 is %p at 13,000', (id, small, large, expected) => {
    const columns = [measured(1000, { [id]: small }), measured(4000, { [id]: large })];
    const { size, values, seconds } = extrapolate(columns, 13_000);
    expect(size).toBe(13_000);
    expect(values[id]).toBeCloseTo(expected);
    expect(seconds).toBeUndefined();
  });

  it.each<[RowId, number, number]>([
    ['database', 100, 1000],
    ['decide', 100, 100],
    ['start', 20, 20],
    ['calls', 2, 2],
  ])('%s of %p at one size is %p at ten times that: what it is held to', (id, value, expected) => {
    expect(extrapolate([measured(1000, { [id]: value })], 10_000).values[id]).toBeCloseTo(expected);
  });

  it('needs one that was', () => {
    expect(() => extrapolate([], 1000)).toThrow('nothing was measured');
  });
});

describe('a row', () => {
  it.each<[RowId, number[], boolean | null, number | null]>([
    ['database', [100, 1000, 10_000], true, 100],
    ['database', [100, 1500, 15_000], true, 150],
    ['database', [100, 1501, 1501], false, 15.01],
    // What a small size costs anyway hides what sets in late.
    ['database', [100, 101, 1600], false, 16],
    ['decide', [100, 120, 150], true, 1.5],
    ['decide', [100, 120, 151], false, 1.51],
    ['decide', [100, 90, 80], true, 0.8],
    ['start', [30, 20, 20], true, 1.5],
    ['start', [30, 10, 30], false, 1],
    ['calls', [2, 1.9, 2], true, 1],
    ['calls', [2, 2.1, 2], false, 1],
    ['calls', [2.1], false, null],
    ['calls', [2], true, null],
    ['database', [100], null, null],
    ['decide', [100], null, null],
  ])('%s of %j at 1,000, 10,000 and 100,000 turns: %p', (id, values, ok, growth) => {
    const columns = values.map((value, index) => measured(10 ** (index + 3), { [id]: value }));
    const verdict = judge(id, columns);
    expect(verdict.ok).toBe(ok);
    if (growth === null) expect(verdict.growth).toBeNull();
    else expect(verdict.growth).toBeCloseTo(growth);
  });

  it('that was not measured does not hold', () => {
    expect(judge('decide', [measured(1000, {}), measured(10_000, {})]).ok).toBe(false);
  });

  it('that does not hold is enough for the run to fail', () => {
    const all = Object.fromEntries(eachRow((id) => [id, 1]));
    const columns = (decide: number): Measured[] => [
      measured(1000, all),
      measured(10_000, { ...all, decide }),
    ];
    expect(allHold(columns(1))).toBe(true);
    expect(allHold(columns(2))).toBe(false);
  });
});
