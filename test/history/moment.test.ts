import fc from 'fast-check';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { turnEventsOfJson } from '../../src/history/exported';
import { parsePoint, stateAfter, stateAt, stopsOf } from '../../src/history/moment';
import { exported } from './exports';
import { ask, item, run, Script } from './script';
import { runs } from '../support/properties';

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
  events.slice(0, stateAt(events, parsePoint(point)).count).map((event) => event.type);

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
  expect(stateAt(asked.fold(), parsePoint('1')).count).toBe(2);
});

test.each([
  ['9', 'there is no step 9 in this turn', 'its steps: 1'],
  ['9.9', 'there is no call 9.9 in this turn', 'its calls: 1.1, 1.2, 1.3'],
  ['#900', 'there is no event #900 in this turn', 'the last one on record is #'],
  ['#0', 'there is no event #0 in this turn', '#'],
  ['3#5', 'there is no event 3#5 in this turn', '#'],
])('%s is not in the turn', (point, message, hint) => {
  expect(() => stateAt(events, parsePoint(point)).count).toThrow(
    expect.objectContaining({ code: 'not_found', message, hint: expect.stringContaining(hint) }),
  );
});

test('an event is looked for in the run that is named, or in the last one', async () => {
  const runs = [exported('continuing'), exported('continued')];
  const told = await turnEventsOfJson({ countersign: 1, runs });
  const second = told.findLastIndex((event) => event.type === 'turn_started');
  expect(stateAt(told, parsePoint('#1')).count).toBe(second + 1);
  expect(stateAt(told, parsePoint('1#1')).count).toBe(1);
  expect(stateAt(told, parsePoint('2#1')).count).toBe(second + 1);
});

test('a turn can be looked at after each history event, and where it ended', () => {
  const stops = stopsOf(events);
  expect(stops.at(-1)).toBe(events.length);
  const ids = stops.map((stop) => events[stop - 1]?.eventId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(stops).toEqual(ids.map((id) => stateAt(events, { kind: 'event', eventId: id ?? 0 }).count));
  expect(stops.length).toBeLessThan(events.length);
});

test('the first event of a next run is a place of its own, though it repeats a number', () => {
  const run = new Script().started().fold();
  expect(stopsOf([...run, ...run])).toEqual([1, 2]);
});

test('a turn without events can be looked at nowhere', () => {
  expect(stopsOf([])).toEqual([]);
});

describe('stateAt', () => {
  const names = readdirSync(join(__dirname, '..', 'histories')).map((name) => name.replace('.json', ''));

  test('an edited call, before and after a person looked', async () => {
    const events = await turnEventsOfJson(exported('edited'));
    const asked = stateAt(events, parsePoint('1.1'));
    expect(asked.view).toMatchObject({
      status: 'waiting',
      requests: [{ callId: '1.1', arguments: { n: 500 } }],
      calls: [{ phase: 'request', arguments: { n: 500 } }],
    });
    expect(asked.view.calls[0]?.approved).toBeUndefined();
    expect(asked.transcript).toMatchObject({ known: 1, entries: [{ kind: 'words' }, { kind: 'reply' }] });
    const later = stateAt(events, parsePoint('2'));
    expect(later.view.calls[0]).toMatchObject({
      phase: 'done',
      arguments: { n: 500 },
      approved: { n: 50 },
      effective: { n: 50 },
    });
    expect(later.transcript.known).toBe(3);
  });

  test('before the first event there is nothing', () => {
    expect(stateAfter([], 0)).toMatchObject({ count: 0, eventId: 0, at: '', view: { calls: [] } });
  });

  test.each(names)(
    '%s: at every moment what is open and what is known only grows from the record',
    async (name) => {
      const events = await turnEventsOfJson(exported(name));
      const whole = stateAfter(events, events.length);
      fc.assert(
        fc.property(fc.nat(events.length), (count) => {
          const { view, transcript } = stateAfter(events, count);
          expect(transcript.known).toBeLessThanOrEqual(transcript.entries.length);
          expect(transcript.entries).toEqual(whole.transcript.entries.slice(0, transcript.entries.length));
          const waiting = view.calls.filter((call) => call.phase === 'request');
          expect(view.requests.map((request) => request.callId)).toEqual(waiting.map((call) => call.callId));
          expect(view.inDoubt).toHaveLength(
            view.calls.filter((call) => call.phase === 'in_doubt' && call.doubt).length,
          );
        }),
        { numRuns: runs(25) },
      );
    },
  );
});
