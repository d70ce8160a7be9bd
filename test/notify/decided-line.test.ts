import { lookAgain } from '../../src/notify/decided-line';
import { CountersignError } from '../../src/contract/errors';
import { AT, call, question, request, turn } from '../cli/support';
import { notice } from './support';

const about = { notice: notice('a'), asked: AT };
const later = '2026-11-21T12:05:00.000Z';
const outcomeOf = async (calls: Parameters<typeof turn>[0]) =>
  (await lookAgain({ view: () => Promise.resolve(turn(calls)) }, about)).over;
const decided = (approver: string, decision: 'approved' | 'denied' | 'ask-again') =>
  ({
    ...{ type: 'decision', eventId: 11, at: later, callId: '1.1', approver, channel: 'cli', decision },
    ...{ decisionId: 'd', judgement: { accepted: true, at: later } },
  }) as never;

it.each([
  ['waits', call(), undefined],
  ['waits as a question', question(), undefined],
  ['is approved', call({ phase: 'running', decisions: [decided('ann', 'approved')] }), 'approved by ann'],
  [
    'is denied',
    call({ phase: 'done', outcome: 'denied', decisions: [decided('ann', 'denied')] }),
    'denied by ann',
  ],
  ['expired', call({ phase: 'done', outcome: 'expired' }), 'expired'],
  [
    'is sent back',
    call({ phase: 'preparing', decisions: [decided('eve', 'ask-again')] }),
    'sent back to be asked again by eve',
  ],
  [
    'expired with a vote',
    call({ phase: 'done', outcome: 'expired', decisions: [decided('ann', 'approved')] }),
    'expired; approved by ann',
  ],
  ['closed with its turn', call({ phase: 'done' }), 'closed with its turn'],
  ['is asked about again', call({ request: request({ at: later }) }), /asked about again/],
] as const)('says what became of a call that %s', async (_name, one, expected) => {
  const said = await outcomeOf([one]);
  if (expected instanceof RegExp) expect(said).toMatch(expected);
  else expect(said).toBe(expected);
});

it('is gone with the turn', async () => {
  expect(await outcomeOf([])).toMatch(/does not have this call/);
});

it('is looked up again', async () => {
  const view = turn([call({ phase: 'done', outcome: 'expired' })]);
  expect(await lookAgain({ view: () => Promise.resolve(view) }, about)).toEqual({ view, over: 'expired' });
  const gone = new CountersignError('not_found', 'no such turn');
  expect(await lookAgain({ view: () => Promise.reject(gone) }, about)).toEqual({
    over: 'the turn is not there any more',
  });
  const away = new Error('no server');
  await expect(lookAgain({ view: () => Promise.reject(away) }, about)).rejects.toBe(away);
});
