import { dateTime } from '../../../src/contract/text/date-time';

const AT = new Date(2026, 0, 2, 3, 4, 5).toISOString();

it.each([
  [0, 'UTC'],
  [-60, 'UTC+1'],
  [180, 'UTC-3'],
  [-330, 'UTC+5:30'],
  [210, 'UTC-3:30'],
])('a moment names its zone, %d minutes before UTC', (offset, zone) => {
  const asked = jest.spyOn(Date.prototype, 'getTimezoneOffset').mockReturnValue(offset);
  expect(dateTime(AT)).toMatch(new RegExp(`^2026-01-02 03:04:05 ${zone.replace('+', '[+]')}$`));
  asked.mockRestore();
});
