import { ShownCalls, signableBy } from '../../src/server/shown-calls';
import type { SignableTurn } from '../../src/server/signer';
import { call, request } from '../cli/support';

const shownOf = (phase: 'request' | 'running' = 'request'): SignableTurn => ({
  ...{ turn: 't1', agent: 'clerk' },
  calls: [call({ callId: '1.1', phase, request: request({ seenDigest: 'seen', callKey: 'key' }) })],
});
const vote = { turn: 't1', callId: '1.1', decision: 'approved', seenDigest: 'seen', callKey: 'key' } as const;

test('a vote on what was shown finds it', () => {
  const shown = new ShownCalls();
  shown.keep(shownOf());
  expect(shown.of(vote)).toEqual(shownOf());
});

test.each([
  ['of another turn', { turn: 't2' }],
  ['of another call', { callId: '1.2' }],
  ['of another request', { callKey: 'other' }],
  ['with another digest', { seenDigest: 'other' }],
  ['that names no request', { callKey: undefined }],
  ['that names no digest', { seenDigest: undefined }],
  ['that runs a call again', { decision: 'run-again' as const }],
])('a vote %s does not find it', (_, other) => {
  const shown = new ShownCalls();
  shown.keep(shownOf());
  expect(shown.of({ ...vote, ...other })).toBeUndefined();
});

test('a call that no longer waits is forgotten', () => {
  const shown = new ShownCalls();
  shown.keep(shownOf());
  shown.keep(shownOf('running'));
  expect(shown.of(vote)).toBeUndefined();
});

test('only so many turns are kept, the latest ones', () => {
  const shown = new ShownCalls();
  for (let n = 0; n < 300; n++) shown.keep({ ...shownOf(), turn: `t${n}` });
  expect(shown.of({ ...vote, turn: 't0' })).toBeUndefined();
  expect(shown.of({ ...vote, turn: 't299' })).toBeDefined();
});

test('the turn is read where it was not shown', async () => {
  const shown = new ShownCalls();
  const reader = { view: jest.fn(async () => shownOf()), placeOf: jest.fn() };
  await signableBy(shown, reader, vote).view('t1');
  expect(reader.view).toHaveBeenCalledWith('t1');
  shown.keep(shownOf());
  await signableBy(shown, reader, vote).view('t1');
  expect(reader.view).toHaveBeenCalledTimes(1);
});
