import { clock, dateTime, day, expiry, relative, span } from '../../../src/contract/text/times';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('times for a person', () => {
  it.each([
    [0, '0 ms'],
    [340, '340 ms'],
    [3_400, '3.4 s'],
    [42_000, '42 s'],
    [5 * MINUTE, '5 min'],
    [119 * MINUTE, '119 min'],
    [3 * 60 * MINUTE, '3 h'],
    [7 * DAY, '7 days'],
  ])('%d ms is %s', (ms, text) => {
    expect(span(ms)).toBe(text);
  });

  it.each([
    [0, 'now'],
    [-3 * MINUTE, '3 min ago'],
    [7 * DAY, 'in 7 days'],
  ])('%d ms from now is %s', (ms, text) => {
    expect(relative(at(ms), NOW)).toBe(text);
  });

  it.each([
    [null, 'never'],
    [at(DAY), 'in 24 h'],
    [at(-MINUTE), 'expired 1 min ago'],
    [at(0), 'expired now'],
  ])('a deadline %s expires %s', (deadline, text) => {
    expect(expiry(deadline, NOW)).toBe(text);
  });

  it('tells the time of day of this machine', () => {
    const date = new Date(2026, 0, 2, 3, 4, 5);
    expect(clock(date.toISOString())).toBe('03:04:05');
    expect(day(date.toISOString())).toBe('2026-01-02');
  });
});

const LOCAL = new Date(2026, 0, 2, 3, 4, 5).toISOString();

it.each([
  [0, 'UTC'],
  [-60, 'UTC+1'],
  [180, 'UTC-3'],
  [-330, 'UTC+5:30'],
  [210, 'UTC-3:30'],
])('a moment names its zone, %d minutes before UTC', (offset, zone) => {
  const asked = jest.spyOn(Date.prototype, 'getTimezoneOffset').mockReturnValue(offset);
  expect(dateTime(LOCAL)).toMatch(new RegExp(`^2026-01-02 03:04:05 ${zone.replace('+', '[+]')}$`));
  asked.mockRestore();
});
