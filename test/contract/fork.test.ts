import type { PreparedCall, RemoteCall } from '../../src/contract/call';
import { dryKindOf, dryResult } from '../../src/contract/dry';
import { askFirst, originOf } from '../../src/contract/fork';
import { thinkOutput } from '../history/script';
import { validCall, type CallShape } from '../support/calls';

test.each<[CallShape, string | undefined]>([
  [{ kind: 'run', effect: 'pure' }, undefined],
  [{ kind: 'run', effect: 'idempotent' }, 'would_run'],
  [{ kind: 'run', effect: 'unsafe' }, 'would_run'],
  [{ kind: 'ask', effect: 'pure' }, 'would_ask'],
  [{ kind: 'ask', effect: 'unsafe' }, 'would_ask'],
])('in a dry world a call %j is %s', (shape, kind) => {
  expect(dryKindOf(validCall(shape))).toBe(kind);
});

test.each(['would_run', 'would_ask'] as const)('%s: a result that says so to whoever reads it', (dry) => {
  const result = dryResult(validCall({ args: { amount: 3 } }), dry, '2026-01-01T00:00:00.000Z');
  expect(result).toMatchObject({
    callId: '1.1',
    arguments: { amount: 3 },
    success: true,
    content: expect.stringMatching(/^\[Not executed: .*dry world/),
    metadata: { dry, approved: false, execution_time_ms: 0, timestamp: '2026-01-01T00:00:00.000Z' },
  });
});

const asked: RemoteCall = { kind: 'remote', callId: '1.1', id: 'x', tool: 'pay', raw: '{}', taskQueue: 'q' };

test.each<[string, RemoteCall, PreparedCall, string]>([
  ['one with an effect', { ...asked, askFirst: 'again' }, validCall({ kind: 'run' }), 'ask'],
  ['a pure one', { ...asked, askFirst: 'again' }, validCall({ kind: 'run', effect: 'pure' }), 'run'],
  ['one that was never started', asked, validCall({ kind: 'run' }), 'run'],
  ['a dangerous one', { ...asked, askFirst: 'again' }, validCall(), 'ask'],
  ['one that is still to be prepared', { ...asked, askFirst: 'again' }, asked, 'remote'],
])('of calls that were started before, %s becomes', (_, remote, prepared, kind) => {
  const made = askFirst(remote, prepared);
  expect(made.kind).toBe(kind);
  expect('policyReason' in made).toBe(kind === 'ask' && prepared.kind === 'run');
});

test('what holds for all runs of a fork is all but its first step', () => {
  const origin = { of: 't', from: '1.1', world: 'dry', changed: 'reply', model: 'm' } as const;
  expect(originOf({ ...origin, given: thinkOutput([]) })).toEqual(origin);
});
