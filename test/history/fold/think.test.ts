import type { PreparedCall } from '../../../src/contract/call';
import type { DecodedFailure } from '../../../src/history/decode/events';
import { proposedOf } from '../../../src/history/fold/think';
import { makeFailure } from '../../../src/contract/result';
import { ask, run, Script } from '../script';

const asked = () => new Script().started().task();

test('the model is asked, and the event says what was dropped or cut for it', () => {
  const script = asked();
  script.thinkScheduled(1, { droppedBefore: 4, cutTo: 100 });
  script.thinkScheduled(2);
  const [first, second] = script.told('thinking');
  expect(first).toMatchObject({ step: 1, droppedBefore: 4, cutTo: 100 });
  expect(second).not.toHaveProperty('droppedBefore', expect.anything());
  expect(second).not.toHaveProperty('cutTo', expect.anything());
});

test.each([
  [1, []],
  [3, [{ type: 'think_retried', step: 1, attempt: 3, lastFailure: 'slow' }]],
])('attempt %i of a model', (attempt, expected) => {
  const script = asked();
  const scheduledEventId = script.thinkScheduled(1);
  const lastFailure: DecodedFailure = { message: 'slow', kind: 'other', details: [] };
  script.add({ kind: 'activity_started', scheduledEventId, attempt, lastFailure });
  script.done(scheduledEventId, undefined);
  expect(script.told('think_retried')).toMatchObject(expected);
});

test('a reply that cannot be decoded is a step without calls that says so', () => {
  const script = asked();
  script.done(script.thinkScheduled(1), 'sealed');
  expect(script.told('step')).toMatchObject([{ step: 1, text: expect.stringContaining('codec'), calls: [] }]);
});

test('a model that fails for good says why', () => {
  const script = asked();
  script.fails(script.thinkScheduled(1), { message: 'no such key', type: 'auth' });
  expect(script.told('think_failed')).toMatchObject([
    { step: 1, message: 'no such key', failureType: 'auth' },
  ]);
});

const remote: PreparedCall = {
  kind: 'remote',
  callId: '1.1',
  id: 'c',
  tool: 'far',
  taskQueue: 'far',
  raw: '{"n":1}',
};

test('a call in short', () => {
  expect(proposedOf(remote)).toEqual({
    ...{ callId: '1.1', id: 'c', tool: 'far', kind: 'remote' },
    ...{ arguments: {}, raw: '{"n":1}' },
  });
  const result = makeFailure(
    { id: 'c', callId: '1.1', tool: 'far', arguments: {} },
    { code: 'validation', message: 'x' },
    { timestamp: '2026-11-21T12:00:00Z', safety: null },
  );
  const recorded = {
    kind: 'recorded',
    callId: '1.1',
    id: 'c',
    tool: 'far',
    proposed: {},
    raw: '{"n"',
    result,
  } as const;
  expect(proposedOf(recorded)).toMatchObject({ proposed: {}, raw: '{"n"' });
  expect(proposedOf(ask('1.1', { proposed: { n: 0 } }))).toMatchObject({ kind: 'ask', proposed: { n: 0 } });
  expect(proposedOf(run('1.1'))).not.toHaveProperty('proposed', expect.anything());
});
