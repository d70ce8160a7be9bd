import { turnEventsOfJson } from '../../src/history/from-json';
import { countAt, parsePoint, stopsOf } from '../../src/history/point';
import { exported } from './exports';
import { ask, item, run, Script } from './script';

test.each([
  ['2', { kind: 'step', step: 2 }],
  ['2.1', { kind: 'call', callId: '2.1' }],
  ['#57', { kind: 'event', eventId: 57 }],
  ['1#57', { kind: 'event', eventId: 57, run: 1 }],
])('%s is a point', (text, point) => {
  expect(parsePoint(text)).toEqual(point);
});

test.each([[''], ['x'], ['#'], ['#x'], ['1#'], ['-1'], ['1.x'], ['1 2'], ['2.']])('%j is none', (text) => {
  expect(() => parsePoint(text)).toThrow(expect.objectContaining({ code: 'usage' }));
});

const script = new Script()
  .started()
  .task()
  .think(1, [ask('1.1'), run('1.2'), ask('1.3')])
  .open([item('1.1'), item('1.3')]);
script.call(run('1.2'));
const events = script.fold();
const typesUpTo = (point: string) =>
  events.slice(0, countAt(events, parsePoint(point))).map((event) => event.type);

test.each([
  ['1', 'step'],
  ['1.1', 'request_opened'],
  ['1.2', 'call_started'],
  ['#1', 'turn_started'],
  ['#4', 'thinking'],
  ['#5', 'thinking'],
  ['1#6', 'step'],
])('%s is just after the last %s', (point, type) => {
  expect(typesUpTo(point).at(-1)).toBe(type);
});

test('everything that one history event made is in', () => {
  expect(typesUpTo('1.1').filter((type) => type === 'request_opened')).toHaveLength(2);
});

test('a step whose reply is not there is the moment when the model was asked', () => {
  const asked = new Script().started().task();
  asked.thinkScheduled(1);
  expect(countAt(asked.fold(), parsePoint('1'))).toBe(2);
});

test.each([
  ['9', 'there is no step 9 in this turn', 'its steps: 1'],
  ['9.9', 'there is no call 9.9 in this turn', 'its calls: 1.1, 1.2, 1.3'],
  ['#900', 'there is no event #900 in this turn', 'the last one on record is #'],
  ['#0', 'there is no event #0 in this turn', '#'],
  ['3#5', 'there is no event 3#5 in this turn', '#'],
])('%s is not in the turn', (point, message, hint) => {
  expect(() => countAt(events, parsePoint(point))).toThrow(
    expect.objectContaining({ code: 'point_not_found', message, hint: expect.stringContaining(hint) }),
  );
});

test('an event is looked for in the run that is named, or in the last one', async () => {
  const runs = [exported('0.1.0-continuing'), exported('0.1.0-continued')];
  const told = await turnEventsOfJson({ countersign: 1, runs });
  const second = told.findLastIndex((event) => event.type === 'turn_started');
  expect(countAt(told, parsePoint('#1'))).toBe(second + 1);
  expect(countAt(told, parsePoint('1#1'))).toBe(1);
  expect(countAt(told, parsePoint('2#1'))).toBe(second + 1);
});

test('a turn can be looked at after each history event, and where it ended', () => {
  const stops = stopsOf(events);
  expect(stops.at(-1)).toBe(events.length);
  const ids = stops.map((stop) => events[stop - 1]?.eventId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(stops).toEqual(ids.map((id) => countAt(events, { kind: 'event', eventId: id ?? 0 })));
  expect(stops.length).toBeLessThan(events.length);
});

test('the first event of a next run is a place of its own, though it repeats a number', () => {
  const run = new Script().started().fold();
  expect(stopsOf([...run, ...run])).toEqual([1, 2]);
});

test('a turn without events can be looked at nowhere', () => {
  expect(stopsOf([])).toEqual([]);
});
