import {
  asksAgainAfterEdit,
  DECISION,
  isCallId,
  isDenial,
  RESOLUTION,
  voteOf,
} from '../../src/contract/decision';
import { soundCheck } from '../../src/contract/schema/message';

test.each<[Parameters<typeof isDenial>[0], boolean]>([
  [{ decision: 'denied' }, true],
  [{ decision: 'approved', hunks: [] }, true],
  [{ decision: 'approved', hunks: ['1'] }, false],
  [{ decision: 'approved' }, false],
  [{ decision: 'modified' }, false],
  [{}, false],
])('%j is a denial: %s', (decision, denial) => {
  expect(isDenial(decision)).toBe(denial);
});

test.each<[Parameters<typeof voteOf>[0], ReturnType<typeof voteOf>]>([
  [{ decision: 'denied' }, 'denied'],
  [{ decision: 'approved', hunks: [] }, 'denied'],
  [{ decision: 'approved', hunks: ['1'] }, 'approved'],
  [{ decision: 'approved' }, 'approved'],
  [{ decision: 'modified' }, undefined],
  [{ decision: 'withdrawn' }, undefined],
  [{ decision: 'ask-again' }, undefined],
])('%j casts the vote %s', (decision, vote) => {
  expect(voteOf(decision)).toBe(vote);
});

test.each([
  ['1.1', true],
  ['a_B-2', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['1 1', false],
  ['1.1\n', false],
  ['', false],
])('%j is the id of a call: %s', (text, isOne) => {
  expect(isCallId(text)).toBe(isOne);
});

test.each<[Parameters<typeof asksAgainAfterEdit>[0], boolean]>([
  [{}, false],
  [{ preview: { text: 'pays' } }, true],
  [{ authority: { fileDigest: 'f' } }, true],
  [{ preview: { text: 'pays' }, authority: { fileDigest: 'f' } }, true],
])('an edit of a call with %j leads to a new request: %s', (call, asksAgain) => {
  expect(asksAgainAfterEdit(call)).toBe(asksAgain);
});

const decision = { callId: '1.1', decision: 'approved' };

test.each<[string, unknown, boolean]>([
  ['a bare approval', decision, true],
  ['one with all fields', { ...decision, hunks: ['1'], reason: '', seenDigest: 'a'.repeat(64) }, true],
  ['no call', { decision: 'approved' }, false],
  ['a call id with a blank', { ...decision, callId: '1 1' }, false],
  ['another word', { ...decision, decision: 'yes' }, false],
  ['a digest that is too short', { ...decision, seenDigest: 'ab' }, false],
  ['a field nobody knows', { ...decision, force: true }, false],
  ['authenticated: false', { ...decision, authenticated: false }, false],
  ['a text', 'approved', false],
  ['nothing', undefined, false],
])('as a decision, %s fits: %s', (_, message, fits) => {
  expect(soundCheck(DECISION)(message).length === 0).toBe(fits);
});

test.each<[string, unknown, boolean]>([
  ['run-again', { callId: '1.1', resolution: 'run-again' }, true],
  ['what it returned', { callId: '1.1', resolution: 'happened', content: 'paid' }, true],
  ['a decision', decision, false],
  ['a reason that is too long', { callId: '1.1', resolution: 'did-not', reason: 'x'.repeat(1e6) }, false],
])('as a resolution, %s fits: %s', (_, message, fits) => {
  expect(soundCheck(RESOLUTION)(message).length === 0).toBe(fits);
});
