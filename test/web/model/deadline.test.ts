import { countdown, urgencyOf } from '../../../src/web/model/deadline';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();

it.each([
  [null, 'none', 'no deadline'],
  [at(3 * 3600), 'none', 'in 3 h'],
  [at(901), 'none', 'in 15 min'],
  [at(900), 'soon', 'in 15:00'],
  [at(245), 'soon', 'in 4:05'],
  [at(0.4), 'soon', 'in 0:01'],
  [at(0), 'past', 'expired now'],
  [at(-180), 'past', 'expired 3 min ago'],
])('%s is %s: %s', (deadline, urgency, words) => {
  expect(urgencyOf(deadline, NOW)).toBe(urgency);
  expect(countdown(deadline, NOW)).toBe(words);
});
