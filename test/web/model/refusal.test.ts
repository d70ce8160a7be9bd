import { REFUSAL_CODES, type Refused } from '../../../src/contract/decision';
import { clock } from '../../../src/contract/times';
import { refusalWords } from '../../../src/web/model/refusal';
import { REFUSAL_WORDS, phaseWords, stateWords } from '../../../src/web/model/words';

const refused = (extra: Partial<Refused> = {}): Refused => ({
  ...{ accepted: false, code: 'stale_args', message: 'the arguments are others', callId: '1.1' },
  ...extra,
});

it.each(REFUSAL_CODES)('%s is told in words, and by its code', (code) => {
  const words = refusalWords(refused({ code }));
  expect(words).toContain(REFUSAL_WORDS[code]);
  expect(words).toContain(`(${code})`);
});

it('says whose decision stands', () => {
  const at = '2026-11-21T12:00:00Z';
  const standing = { decision: 'denied', approver: 'ann', at };
  expect(refusalWords(refused({ code: 'already_decided', standing }))).toBe(
    `Somebody decided it before you. ann denied it at ${clock(at)}. (already_decided)`,
  );
});

it('says what could not be read', () => {
  expect(refusalWords(refused({ code: 'malformed', message: 'no such hunk' }))).toContain('no such hunk');
});

it.each([
  ['done', true, 'done', 'good'],
  ['done', false, 'failed', 'bad'],
  ['denied', false, 'denied', 'bad'],
  ['requested', undefined, 'waits for a decision', 'ask'],
] as const)('a call that is %s (success: %s) is shown as %s', (phase, success, words, tone) => {
  expect(phaseWords(phase, success)).toEqual([words, tone]);
});

it('asks where a person is waited for', () => {
  expect(stateWords('waiting')).toEqual(['waits for a person', 'ask']);
});
