import { LIMITS } from '../../src/contract/limits';
import { nothingDone, stopped, ToolError, TransportError } from '../../src/tools/errors';
import { failureResult, markLate, toOutcome, type OutcomeFacts } from '../../src/tools/outcome';
import type { Ending, Finished } from '../../src/tools/run-handler';

const head = { callId: '1.1', id: 'm1', tool: 'pay', arguments: {}, server: 'local' };
const factsOf = (change: Partial<OutcomeFacts> = {}): OutcomeFacts => ({
  head,
  facts: { executionTimeMs: 7, safety: 'dangerous', approved: true, attempt: 1 },
  limitBytes: 1024,
  timeoutMs: 30_000,
  unsafe: true,
  ranBefore: false,
  hide: (text) => text,
  ...change,
});

const returned = (value: unknown): Finished => ({ kind: 'returned', value });
const threw = (error: unknown): Finished => ({ kind: 'threw', error });
const interrupted = (
  kind: 'timeout' | 'cancelled',
  finished?: Finished,
  { started = true, partial = '' } = {},
): Ending => ({ kind, started, partial, finished, late: new Promise(() => undefined) });

const networkError = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

it.each<[string, Ending, object, string | undefined]>([
  ['a return', returned('paid'), { outcomeKnown: true, retryable: false, handler: 'ended' }, undefined],
  ['a throw', threw(new Error('bug')), { outcomeKnown: true, retryable: false, handler: 'ended' }, 'tool'],
  [
    'a throw that may be retried',
    threw(new ToolError('busy', { retryable: true })),
    { outcomeKnown: true, retryable: true },
    'tool',
  ],
  [
    'a broken transport',
    threw(new TransportError('cut')),
    { outcomeKnown: false, retryable: true },
    'transport',
  ],
  [
    'a transport that need not be tried again',
    threw(new TransportError('refused', { nothingSent: true, retryable: false })),
    { outcomeKnown: true, retryable: false },
    'transport',
  ],
  [
    'a transport that sent nothing',
    threw(new TransportError('cut', { nothingSent: true })),
    { outcomeKnown: true, retryable: true },
    'transport',
  ],
  ['a network error', threw(networkError), { outcomeKnown: false, retryable: false }, 'tool'],
  [
    'time that is over while the handler goes on',
    interrupted('timeout'),
    { outcomeKnown: false, handler: 'running' },
    'timeout',
  ],
  [
    'a throw after the abort',
    interrupted('timeout', threw(new Error('aborted'))),
    { outcomeKnown: false, handler: 'ended' },
    'timeout',
  ],
  [
    'a throw after the abort that proves that nothing was done',
    interrupted('cancelled', threw(nothingDone('not sent'))),
    { outcomeKnown: true, handler: 'ended' },
    'cancelled',
  ],
  [
    'a throw after the abort that proves that it was stopped',
    interrupted('cancelled', threw(stopped('killed'))),
    { outcomeKnown: true },
    'cancelled',
  ],
  ['a return after the abort', interrupted('timeout', returned('paid')), { outcomeKnown: true }, undefined],
  [
    'a cancellation before the start',
    interrupted('cancelled', threw(new Error('stop')), { started: false }),
    { outcomeKnown: true, handler: 'unstarted' },
    'cancelled',
  ],
])('%s', (_, ending, outcome, code) => {
  const found = toOutcome(ending, factsOf());
  expect(found).toMatchObject(outcome);
  expect(found.result.error?.code).toBe(code);
  expect(found.result.success).toBe(code === undefined);
});

it.each<[string, Ending, Partial<OutcomeFacts>, string]>([
  [
    'an unsafe call without a known end',
    interrupted('timeout'),
    {},
    'timed out after 30000 ms; whether it took effect is not known',
  ],
  ['a call that may run again', interrupted('timeout'), { unsafe: false }, 'timed out after 30000 ms'],
  [
    'a proof',
    interrupted('cancelled', threw(stopped('killed'))),
    {},
    'cancelled while it ran; it was stopped, and a part of its work may be done; killed',
  ],
  [
    'a call that never started',
    interrupted('cancelled', undefined, { started: false }),
    {},
    'cancelled before it started; nothing ran',
  ],
  [
    'a transport that broke below an unsafe call',
    threw(new TransportError('cut')),
    {},
    'cut; whether it took effect is not known',
  ],
  [
    'a call that could not start',
    threw(nothingDone('There is no sandbox. Nothing ran.')),
    {},
    'There is no sandbox. Nothing ran.',
  ],
  [
    'a call that could not start again',
    threw(nothingDone('There is no sandbox. Nothing ran.')),
    { ranBefore: true },
    'There is no sandbox. An earlier attempt of it may have run.',
  ],
  [
    'a call that could not start again, and proves only that',
    threw(nothingDone('the image was still starting; nothing ran')),
    { ranBefore: true },
    'the image was still starting; an earlier attempt of it may have run.',
  ],
  [
    'a tool that says what it found, at a further attempt',
    threw(new ToolError('The log says: nothing ran.')),
    { ranBefore: true },
    'The log says: nothing ran.',
  ],
  [
    'a proof of one attempt of several',
    interrupted('cancelled', threw(nothingDone('All were busy. Nothing ran.'))),
    { ranBefore: true },
    'cancelled while it ran; this attempt did nothing; All were busy. An earlier attempt of it may have run.',
  ],
])('the message of %s', (_, ending, change, message) => {
  expect(toOutcome(ending, factsOf(change)).result.error?.message).toBe(message);
});

it('keeps partial output of a call that ended early, within the limit', () => {
  const { result } = toOutcome(
    interrupted('timeout', undefined, { partial: 'row\n'.repeat(10_000) }),
    factsOf(),
  );
  expect(result.content).toContain('row');
  expect(Buffer.byteLength(result.content)).toBeLessThan(4096);
});

it('cuts a result to what a record may hold', () => {
  const { result } = toOutcome(returned('x'.repeat(10_000_000)), factsOf({ limitBytes: 10_000_000 }));
  expect(Buffer.byteLength(result.content)).toBeLessThanOrEqual(LIMITS.resultContentBytes);
});

it('marks a late success once', () => {
  const { result } = toOutcome(returned('paid'), factsOf());
  const late = markLate(result, 'it was given up');
  expect(late.content).toBe('[Late: this call succeeded, but only after it was given up.]\n\npaid');
  expect(late.metadata.late).toBe(true);
  expect(markLate(late, 'its time was over')).toBe(late);
});

it('a failure carries its facts and the time', () => {
  expect(failureResult(head, { code: 'denied', message: 'no' }, { safety: 'dangerous' })).toMatchObject({
    success: false,
    error: { code: 'denied', message: 'no' },
    metadata: { safety_level: 'dangerous', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) },
  });
});
