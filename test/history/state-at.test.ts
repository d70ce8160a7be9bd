import fc from 'fast-check';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { turnEventsOfJson } from '../../src/history/from-json';
import { parsePoint } from '../../src/history/point';
import { stateAfter, stateAt } from '../../src/history/state-at';
import { exported } from './exports';

const names = readdirSync(join(__dirname, '..', 'histories')).map((name) => name.replace('.json', ''));

test('an edited call, before and after a person looked', async () => {
  const events = await turnEventsOfJson(exported('0.1.0-edited'));
  const asked = stateAt(events, parsePoint('1.1'));
  expect(asked.view).toMatchObject({
    status: 'waiting',
    requests: [{ callId: '1.1', arguments: { n: 500 } }],
    calls: [{ phase: 'requested', arguments: { n: 500 } }],
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
        const waiting = view.calls.filter((call) => call.phase === 'requested');
        expect(view.requests.map((request) => request.callId)).toEqual(waiting.map((call) => call.callId));
        expect(view.inDoubt).toHaveLength(view.calls.filter((call) => call.phase === 'in_doubt').length);
      }),
      { numRuns: 25 },
    );
  },
);
