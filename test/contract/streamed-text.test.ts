import { BEAT_MS, SILENT_MS, streamRetryMs } from '../../src/contract/streamed-text';

it.each([
  [1, 500],
  [2, 1_000],
  [5, 8_000],
  [6, 15_000],
  [1_000, 15_000],
])('streamRetryMs after %i failures is %i ms', (failures, ms) => {
  expect(streamRetryMs(failures)).toBe(ms);
});

it('allows three lost beats, and less than the tabs to which another tab relays', () => {
  expect(SILENT_MS).toBeGreaterThan(3 * BEAT_MS);
  expect(SILENT_MS).toBeLessThan(4 * BEAT_MS);
});
