import { percentText, spreadText } from '../../src/history/stats-text';

test.each([
  [1, '100 %'],
  [0.999, '99 %'],
  [0.29, '29 %'],
  [0, '0 %'],
])('a rate of %d is %s', (rate, text) => {
  expect(percentText(rate)).toBe(text);
});

test('a spread says what was not measured', () => {
  const spread = { count: 2, mean: 5, p50: 5, p95: null, max: 2000 };
  expect(spreadText(spread)).toBe('p50 5 ms, p95 -, max 2.0 s');
  expect(spreadText(spread, (bytes) => `${bytes} B`)).toBe('p50 5 B, p95 -, max 2000 B');
});
