/** How some numbers are spread; all null where there are none. */
export interface Spread {
  count: number;
  mean: number | null;
  p50: number | null;
  p95: number | null;
  max: number | null;
}

/** The spread of some numbers. A percentile is the smallest number that so many of them do not exceed. */
export function spreadOf(numbers: readonly number[]): Spread {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  const sum = sorted.reduce((total, one) => total + one, 0);
  const mean = sorted.length === 0 ? null : sum / sorted.length;
  return { count: sorted.length, mean, p50: at(0.5), p95: at(0.95), max: at(1) };
}
