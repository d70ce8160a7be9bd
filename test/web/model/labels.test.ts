import { type Accepted, REFUSAL_CODES, type Refused } from '../../../src/contract/decision';
import { dateTime } from '../../../src/contract/text/times';
import {
  connectionStatus,
  countdown,
  errorText,
  noticeText,
  REFUSAL_LABELS,
  refusalText,
  urgencyOf,
} from '../../../src/web/model/labels';

const refused = (extra: Partial<Refused> = {}): Refused => ({
  ...{ accepted: false, code: 'stale_args', message: 'the arguments are others', callId: '1.1' },
  ...extra,
});

it.each(REFUSAL_CODES)('%s is shown in words, and by its code', (code) => {
  const words = refusalText(refused({ code }));
  expect(words).toContain(REFUSAL_LABELS[code]);
  expect(words).toContain(`(${code})`);
});

it('says whose decision stands', () => {
  const at = '2026-11-21T12:00:00Z';
  const standing = { decision: 'denied', approver: 'ann', at };
  expect(refusalText(refused({ code: 'already_decided', standing }))).toBe(
    `It is decided already. ann denied it at ${dateTime(at)}. (already_decided)`,
  );
});

it('does not call the person themselves another one', () => {
  const at = '2026-11-21T12:00:00Z';
  const standing = { decision: 'approved', approver: 'Ann', at };
  expect(refusalText(refused({ code: 'already_decided', standing }), 'ann')).toBe(
    `You approved it at ${dateTime(at)} already. (already_decided)`,
  );
});

it('says what could not be read', () => {
  expect(refusalText(refused({ code: 'malformed', message: 'no such hunk' }))).toContain('no such hunk');
});

it.each([
  ['one without a hint', { message: 'gone' }, 'gone'],
  ['one of the web inbox', { message: 'gone', hint: 'look again' }, 'gone; look again'],
  ['a sentence', { message: 'It is gone.', hint: 'Look again.' }, 'It is gone. Look again.'],
])('%s', (_, error, words) => {
  expect(errorText({ code: 'x', ...error })).toBe(words);
});

it.each<[string, Partial<Accepted>, string]>([
  ['that decides', {}, 'Changed 1.1.'],
  ['that asks again', { asksAgain: true }, 'Changed 1.1. Nothing ran: it comes here again for a decision.'],
  [
    'that needs other votes',
    { needs: { approvals: 1, who: ['ben'] } },
    'Changed 1.1. It still waits: 1 more approval needed; ben may vote.',
  ],
])('tells a person about a decision %s', (_, extra, words) => {
  const at = '2026-11-21T12:00:00Z';
  const verdict = { decisionId: 'd', callId: '1.1', decision: 'modified', approver: 'ann', at } as const;
  expect(
    noticeText({ status: 'accepted', verdict: { accepted: true, ...verdict, ...extra } }, 'Changed 1.1'),
  ).toBe(words);
});

const NOW = Date.parse('2026-11-21T12:00:00Z');
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();

it.each([
  [null, 'none', 'no deadline'],
  [at(3 * 3600), 'none', 'in 3 h'],
  [at(901), 'none', 'in 15 min'],
  [at(900), 'soon', 'in 15:00'],
  [at(245), 'soon', 'in 4:05'],
  [at(0.4), 'soon', 'in 0:01'],
  [at(0), 'past', 'expired now'],
  [at(-180), 'past', 'expired 3 min ago'],
])('%s is %s: %s', (deadline, urgency, words) => {
  expect(urgencyOf(deadline, NOW)).toBe(urgency);
  expect(countdown(deadline, NOW)).toBe(words);
});

describe('the state of the connection', () => {
  const gone = { code: 'no_server', message: 'it has not answered yet', hint: 'is it up?' };
  const unread = { code: 'not_ready', message: 'no search attributes' };

  it.each([
    ['the web inbox is reached', 'live', undefined, { state: 'live', label: 'live', title: 'live' }],
    ['it is not', 'lost', undefined, { state: 'lost', label: 'connection lost, trying again' }],
    [
      'there is no server behind it',
      'live',
      gone,
      {
        ...{ state: 'lost', label: 'no Temporal server, trying again' },
        title: 'it has not answered yet; is it up?',
      },
    ],
    [
      'the server cannot be read',
      'live',
      unread,
      { state: 'lost', label: 'the inbox cannot be read', title: 'no search attributes' },
    ],
    ['neither is known', 'lost', gone, { state: 'lost', label: 'connection lost, trying again' }],
  ] as const)('%s', (_, connection, trouble, standing) => {
    expect(connectionStatus(connection, trouble)).toMatchObject(standing);
  });
});
