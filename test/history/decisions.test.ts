import type { DecisionMade } from '../../src/history/events';
import { type DecisionEffect, effectOfDecision } from '../../src/history/decisions';

const ACCEPTED: DecisionMade = {
  ...{ type: 'decision', at: '2026-03-01T12:00:00.000Z', eventId: 9, callId: '1.1' },
  ...{ approver: 'ann', channel: 'cli', door: 'update', identity: 'cli@host' },
  judgement: { accepted: true },
};

it.each<[string, Partial<DecisionMade>, DecisionEffect | undefined]>([
  ['an approval', { decision: 'approved' }, 'approves'],
  ['an edit', { decision: 'modified', arguments: { n: 2 } }, 'approves'],
  ['an edit that somebody has to look at', { decision: 'modified', asksAgain: true }, 'asks_again'],
  ['a denial', { decision: 'denied' }, 'denies'],
  ['one approval of two', { decision: 'approved', stillWaits: true }, 'counts'],
  ['one denial of two', { decision: 'denied', stillWaits: true }, 'counts'],
  ['a withdrawn vote', { decision: 'withdrawn', stillWaits: true }, 'counts'],
  ['a request to ask again', { decision: 'ask-again', asksAgain: true }, 'asks_again'],
  [
    'a refused approval',
    { decision: 'approved', judgement: { accepted: false, code: 'already_decided' } },
    undefined,
  ],
  [
    'a verdict that is not in the record',
    { decision: 'approved', judgement: { accepted: 'unknown' } },
    undefined,
  ],
])('what a decision does: %s', (_, fields, effect) => {
  expect(effectOfDecision({ ...ACCEPTED, ...fields })).toBe(effect);
});
