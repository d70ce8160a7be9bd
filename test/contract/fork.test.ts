import type { PreparedCall, RemoteCall } from '../../src/contract/call';
import { askFirst, originOf, type World } from '../../src/contract/fork';
import type { DryKind } from '../../src/contract/result';
import type { Effect } from '../../src/contract/tool';
import { thinkOutput } from '../history/script';
import { type CallShape, validCall } from '../support/calls';
import { dryKindOf, dryResult, isDry, resultWithoutRun } from '../../src/contract/dry-run';

test.each<[string, Parameters<typeof isDry>[0], boolean]>([
  ['a turn of its own', {}, false],
  ['a fork in a live world', { fork: { world: 'live' } }, false],
  ['a fork in a dry world', { fork: { world: 'dry' } }, true],
])('%s is dry or not', (_, turn, dry) => {
  expect(isDry(turn)).toBe(dry);
});

test.each<[Effect, boolean, DryKind | undefined]>([
  ['pure', false, undefined],
  ['idempotent', false, 'would_run'],
  ['unsafe', false, 'would_run'],
  ['pure', true, 'would_ask'],
  ['idempotent', true, 'would_ask'],
  ['unsafe', true, 'would_ask'],
])(
  'in a dry world a call, %s, that needs a decision (%s) is recorded as %s',
  (effect, needsDecision, kind) => {
    expect(dryKindOf(effect, needsDecision)).toBe(kind);
  },
);

test.each<[string, World | undefined, CallShape, DryKind | undefined]>([
  ['a turn that is not a fork runs a call', undefined, { kind: 'run' }, undefined],
  ['a live fork runs a call', 'live', { kind: 'run' }, undefined],
  ['a live fork waits for a decision', 'live', { kind: 'ask' }, undefined],
  ['a dry fork runs a pure call', 'dry', { kind: 'run', effect: 'pure' }, undefined],
  ['a dry fork records a call with an effect', 'dry', { kind: 'run' }, 'would_run'],
  ['a dry fork records a call that needs a decision', 'dry', { kind: 'ask', effect: 'pure' }, 'would_ask'],
])('%s', (_, world, shape, kind) => {
  const fork = world && { of: 't', from: '1.1', world };
  const result = resultWithoutRun(fork, validCall(shape), '2026-01-01T00:00:00.000Z');
  expect(result?.metadata.dry).toBe(kind);
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

test.each<[string, Partial<RemoteCall>, CallShape, RegExp | undefined]>([
  ['another tool', { toolDigest: 'pay-0' }, {}, /^\[The tool has changed/],
  [
    'another tool with a preview',
    { toolDigest: 'pay-0' },
    { preview: 'pays 10' },
    /has changed.*\n\npays 10$/s,
  ],
  ['the same tool', { toolDigest: 'pay-1' }, {}, undefined],
  ['a fork, which names no tool', {}, {}, undefined],
])('a call that waited on another build, with %s', (_, more, shape, text) => {
  const prepared = validCall(shape);
  const made = askFirst({ ...asked, ...more }, prepared);
  if (text === undefined) return expect(made).toEqual(prepared);
  expect(made).toMatchObject({ preview: { text: expect.stringMatching(text) } });
  // What is shown is another thing, so a decision of before does not fit.
  expect(made).toHaveProperty('previewDigest');
  expect(made).not.toHaveProperty('previewDigest', prepared.previewDigest);
});

test('what holds for all runs of a fork is all but its first step', () => {
  const origin = { of: 't', from: '1.1', world: 'dry', changed: 'reply', model: 'm' } as const;
  expect(originOf({ ...origin, given: thinkOutput([]) })).toEqual(origin);
});
