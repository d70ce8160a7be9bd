import type { Refused } from '../../src/contract/decision';
import {
  parseAbandonment,
  parseDecision,
  parseOutcome,
  parseResolution,
  readNew,
  refuse,
} from '../../src/lifecycle/messages';
import { digestJson } from '../../src/contract/digest';
import { makeApprovals, type SpentId } from '../../src/lifecycle/state';
import { result } from '../history/script';

const SEEN = 'a'.repeat(64);
const approve = { callId: '1.1', decision: 'approved' };

describe('a decision', () => {
  it.each<[string, object]>([
    ['an approval', approve],
    ['a denial', { ...approve, decision: 'denied', reason: 'no' }],
    ['new arguments', { ...approve, decision: 'modified', arguments: {} }],
    ['some hunks', { ...approve, hunks: ['1'], seenDigest: SEEN }],
    ['no hunk', { ...approve, hunks: [], seenDigest: SEEN }],
  ])('is understood: %s', (_, value) => {
    expect(parseDecision(value)).toEqual({ ok: true, value });
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /JSON object, this is null/],
    ['a list', [approve], /JSON object, this is a list/],
    ['a number', 7, /JSON object, this is a number/],
    ['no call', { decision: 'approved' }, /^not a decision: .*callId/],
    ['new arguments without any', { ...approve, decision: 'modified' }, /needs the whole new arguments/],
    ['an approval with arguments', { ...approve, arguments: {} }, /only goes with "modified"/],
    ['a denial with hunks', { ...approve, decision: 'denied', hunks: ['1'] }, /only goes with "approved"/],
    ['asking again without why', { ...approve, decision: 'ask-again' }, /needs a "reason"/],
    [
      'asking again because of nothing',
      { ...approve, decision: 'ask-again', reason: ' ' },
      /needs a "reason"/,
    ],
    ['hunks of nothing that was seen', { ...approve, hunks: ['1'] }, /needs "seenDigest"/],
  ])('is not understood, and says why: %s', (_, value, message) => {
    expect(parseDecision(value)).toEqual({ ok: false, message: expect.stringMatching(message) });
  });
});

describe('a resolution', () => {
  it.each<[string, unknown, boolean]>([
    ['happened', { callId: '1.1', resolution: 'happened', content: 'receipt' }, true],
    ['did not', { callId: '1.1', resolution: 'did-not' }, true],
    ['content of what did not happen', { callId: '1.1', resolution: 'did-not', content: 'x' }, false],
    ['another word', { callId: '1.1', resolution: 'perhaps' }, false],
    ['nothing', null, false],
  ])('%s', (_, value, isOk) => {
    expect(parseResolution(value).ok).toBe(isOk);
  });
});

describe('a late outcome', () => {
  const outcome = { callKey: 'k:1.1', generation: 0, secret: 's', result: result('1.1') };

  it('is understood, and cut to the most that a tool may return', () => {
    expect(parseOutcome(outcome)).toEqual({ ok: true, value: outcome });
    const long = { ...outcome, result: result('1.1', { content: 'x'.repeat(1_100_000) }) };
    const parsed = parseOutcome(long);
    expect(parsed.ok && parsed.value.result.content.endsWith('bytes]')).toBe(true);
  });

  it.each<[string, unknown]>([
    ['no secret', { ...outcome, secret: undefined }],
    ['an empty secret', { ...outcome, secret: '' }],
    ['half a generation', { ...outcome, generation: 0.5 }],
    ['no result', { ...outcome, result: undefined }],
    ['a result without a call', { ...outcome, result: {} }],
    ['a result without content', { ...outcome, result: { callId: '1.1' } }],
    ['a text', 'it worked'],
  ])('is not understood with %s', (_, value) => {
    expect(parseOutcome(value)).toEqual({ ok: false, message: expect.stringMatching(/outcome/) });
  });
});

it.each<[string, unknown, object]>([
  ['a reason', { reason: 'moved' }, { reason: 'moved' }],
  ['nothing', undefined, {}],
  ['a reason that is a number', { reason: 7 }, {}],
])('an abandonment is read as far as it can be: %s', (_, value, expected) => {
  expect(parseAbandonment(value)).toEqual(expected);
});

it.each<[string, unknown, Partial<Refused>]>([
  ['a message', { callId: '1.1', decisionId: 'd' }, { callId: '1.1', decisionId: 'd' }],
  ['a message without an id', { callId: '1.1' }, { callId: '1.1' }],
  ['fields that are not texts', { callId: 7, decisionId: {} }, { callId: '' }],
  ['fields that are too long', { callId: 'x'.repeat(300) }, { callId: 'x'.repeat(200) }],
  ['nothing', undefined, { callId: '' }],
])('a refusal names the call and the id of %s', (_, message, named) => {
  expect(refuse('malformed', 'no', message)).toEqual({
    accepted: false,
    code: 'malformed',
    message: 'no',
    ...named,
  });
});

describe('a decision id', () => {
  const accepted = {
    accepted: true,
    decisionId: 'd',
    callId: '1.1',
    decision: 'approved',
    approver: 'a',
    at: '',
  } as const;
  const refused = refuse('stale_args', 'look again', { callId: '1.1', decisionId: 'd' });

  const read = (spent: SpentId, message: { decisionId?: string; content: string }) =>
    readNew(
      makeApprovals([['d', spent]]),
      { ok: true, value: message },
      { message, newId: () => 'drawn', runId: 'run', isAgain: false, now: 1 },
    );
  const digest = digestJson({ content: 'x' });

  it.each<[string, object, object]>([
    ['that is new', { decisionId: 'e', content: 'x' }, { message: { content: 'x' } }],
    ['that is missing', { content: 'x' }, { message: { content: 'x' } }],
    [
      'with the same content is a repeat',
      { decisionId: 'd', content: 'x' },
      { decided: { events: [], verdict: accepted } },
    ],
    [
      'with other content is malformed',
      { decisionId: 'd', content: 'y' },
      { decided: { refused: { code: 'malformed' } } },
    ],
  ])('%s', (_, message, expected) => {
    expect(read({ digest, verdict: accepted }, { content: '', ...message })).toMatchObject(expected);
  });

  it('whose decision no longer holds is refused again', () => {
    const message = { decisionId: 'd', content: 'x' };
    expect(read({ digest, verdict: refused }, message)).toEqual({ decided: { refused } });
  });
});
