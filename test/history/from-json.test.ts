import { turnEventsOfJson } from '../../src/history/from-json';

test.each([
  ['not JSON'],
  ['{}'],
  ['[]'],
  ['null'],
  [7],
  [{ events: [{}] }],
  [{ events: 'x' }],
  [{ events: [] }],
])('%j is no history, and the error says how to export one', async (json) => {
  await expect(turnEventsOfJson(json)).rejects.toMatchObject({
    code: 'bad_history',
    hint: expect.stringContaining('temporal workflow show'),
  });
});
