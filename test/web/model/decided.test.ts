import type { DecidedCall } from '../../../src/server/api';
import { decidedFits, type DecidedFilter } from '../../../src/web/model/decided';

const one = (callId: string, extra: Partial<DecidedCall> = {}): DecidedCall => ({
  ...{ turn: 't', agent: 'lab', callId, tool: 'pay', summary: '10 EUR to ann', values: '{"iban":"DE89"}' },
  ...{ what: 'approved', approver: 'ann', at: '', phase: 'done', outcome: 'done', ...extra },
});

const CALLS = [
  one('1'),
  one('2', { what: 'denied', reason: 'too much', outcome: 'denied', approver: 'bob' }),
  one('3', { what: 'modified' }),
  one('4', { hunks: ['1'] }),
  one('5', { outcome: 'transport', message: 'the line broke' }),
  one('6', { what: 'granted' }),
];

test.each<[string, Partial<DecidedFilter>, string]>([
  ['everything', {}, '123456'],
  ['denied', { facet: 'denied' }, '2'],
  ['failed', { facet: 'failed' }, '5'],
  ['edited', { facet: 'edited' }, '34'],
  ['by a grant', { facet: 'granted' }, '6'],
  ['of a person', { by: 'bob' }, '2'],
  ['by its reason', { text: 'TOO much' }, '2'],
  ['by why it failed', { text: 'line' }, '5'],
  ['by what it does and by an argument', { text: 'eur de89' }, '123456'],
  ['of words that no one has', { text: 'eur nobody' }, ''],
])('finds %s', (_, filter, found) => {
  const fits = decidedFits(CALLS, { facet: '', by: '', text: '', ...filter });
  expect(fits.map(({ callId }) => callId).join('')).toBe(found);
});
