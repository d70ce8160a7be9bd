import { callIdOf, effectiveEvents, type TurnEvent } from '../../src/history/events';

const event = (eventId: number, type: string, fields: object = {}): TurnEvent =>
  JSON.parse(JSON.stringify({ eventId, at: '2026-01-01T00:00:00.000Z', type, ...fields }));

const ids = (events: readonly TurnEvent[]): string[] =>
  events.map(({ type, eventId }) => `${type} ${eventId}`);

test('without a reset all events count', () => {
  const events = [event(1, 'turn_started'), event(5, 'thinking')];
  expect(effectiveEvents(events)).toEqual(events);
});

test('a reset takes back what came at its event or later, and stays', () => {
  const events = [
    event(1, 'turn_started'),
    event(5, 'thinking'),
    event(9, 'step'),
    event(9, 'reset'),
    event(12, 'thinking'),
  ];
  expect(ids(effectiveEvents(events))).toEqual(['turn_started 1', 'thinking 5', 'reset 9', 'thinking 12']);
});

test('a reset leaves earlier runs as they are', () => {
  const events = [
    event(1, 'turn_started'),
    event(30, 'continued_as_new'),
    event(1, 'turn_started'),
    event(8, 'thinking'),
    event(6, 'reset'),
  ];
  expect(ids(effectiveEvents(events))).toEqual([
    'turn_started 1',
    'continued_as_new 30',
    'turn_started 1',
    'reset 6',
  ]);
});

test.each<[TurnEvent, string | undefined]>([
  [event(1, 'call_started', { callId: '1.1' }), '1.1'],
  [event(1, 'call_prepared', { callId: '1.2', call: { callId: '1.2' } }), '1.2'],
  [event(1, 'thinking'), undefined],
])('the call of %j', (one, callId) => {
  expect(callIdOf(one)).toBe(callId);
});
