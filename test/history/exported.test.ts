import fc from 'fast-check';
import { parseExport } from '../../src/history/exported';
import { exported, exportedText } from './exports';

test.each([
  ['text', exportedText('0.1.0-edited'), 1],
  ['parsed', exported('0.1.0-edited'), 1],
  [
    'of a turn in two runs',
    { countersign: 1, runs: [exported('0.1.0-continuing'), exported('0.1.0-continued')] },
    2,
  ],
  ['with more in it', { countersign: 1, redacted: ['x'], runs: [exported('0.1.0-plain')] }, 1],
])('reads an export as %s', (_, json, runs) => {
  const parsed = parseExport(json);
  expect(parsed).toHaveLength(runs);
  for (const { events } of parsed) expect(events?.[0]?.eventId?.toString()).toBe('1');
});

const whole = exported('0.1.0-edited');
const without = (at: number) => ({ events: whole.events.filter((_, index) => index !== at) });

test.each<[string, unknown, RegExp]>([
  ['other text', 'not JSON', /no JSON/],
  ['nothing', '', /no JSON/],
  ['half a file', exportedText('0.1.0-edited').slice(0, 5000), /cut off/],
  ['an empty object', '{}', /no exported history/],
  ['a list', '[]', /no exported history/],
  ['null', 'null', /no exported history/],
  ['a number', 7, /no exported history/],
  ['events that are none', { events: [{}] }, /./],
  ['no list of events', { events: 'x' }, /no exported history/],
  ['no events', { events: [] }, /no events/],
  ['a gap', without(7), /event 8 is missing/],
  ['no beginning', without(0), /event 1 is missing/],
  ['another beginning', { events: [{ ...whole.events[1], eventId: '1' }] }, /does not start a workflow/],
  ['a gap in the second run', { countersign: 1, runs: [whole, without(3)] }, /event 4 of run 2 is missing/],
  [
    'events after the end',
    { events: [...whole.events, { ...whole.events[4], eventId: '36' }] },
    /after the end/,
  ],
  ['a bundle without runs', { countersign: 1, runs: [] }, /no file of countersign export/],
  ['a bundle of something else', { countersign: 'yes', runs: 'x' }, /no file of countersign export/],
])('%s is no history, and the error says how to export one', (_, json, message) => {
  expect(() => parseExport(json)).toThrow(
    expect.objectContaining({
      code: 'bad_history',
      message: expect.stringMatching(message),
      hint: expect.stringContaining('temporal workflow show'),
    }),
  );
});

test('a format of a later version is said to be one', () => {
  expect(() => parseExport({ countersign: 2, runs: [{ anything: true }] })).toThrow(
    expect.objectContaining({ code: 'newer_version', message: expect.stringContaining('format 2') }),
  );
});

test('cut anywhere it is refused or is the same', () => {
  const text = exportedText('0.1.0-denied');
  fc.assert(
    fc.property(fc.nat(text.trimEnd().length - 1), (length) => {
      expect(() => parseExport(text.slice(0, length))).toThrow(
        expect.objectContaining({ code: 'bad_history' }),
      );
    }),
    { numRuns: 30 },
  );
});
