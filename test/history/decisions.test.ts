import type { Answered, DecisionMade, Resolved } from '../../src/history/events';
import {
  allowedBy,
  effectOfDecision,
  effectOfResolution,
  lastWordOn,
  takesEffect,
} from '../../src/history/decisions';
import { viewOf } from '../../src/history/view';
import {
  accepted,
  authority,
  doubtOfTwo,
  requested,
  runAgain,
  type Script,
  voidedAgain,
  waits,
} from './script';

const ACCEPTED: DecisionMade = {
  ...{ type: 'decision', at: '2026-03-01T12:00:00.000Z', eventId: 9, callId: '1.1' },
  ...{ approver: 'ann', channel: 'cli', door: 'update', identity: 'cli@host' },
  judgement: { accepted: true },
};

it.each<[string, Partial<DecisionMade>, ReturnType<typeof effectOfDecision>]>([
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

it.each<[string, Partial<Resolved>, ReturnType<typeof effectOfResolution>]>([
  ['happened', { resolution: 'happened' }, 'ends'],
  ['did-not', { resolution: 'did-not' }, 'ends'],
  ['run-again', { resolution: 'run-again' }, 'runs_again'],
  ['one vote of two to run it again', { resolution: 'run-again', stillWaits: true }, 'counts'],
  [
    'a refused resolution',
    { resolution: 'did-not', judgement: { accepted: false, code: 'already_decided' } },
    undefined,
  ],
])('what a resolution does: %s', (_, fields, effect) => {
  const event: Resolved = { ...ACCEPTED, type: 'resolved', ...fields };
  expect(effectOfResolution(event)).toBe(effect);
  expect(takesEffect(event)).toBe(effect !== undefined && effect !== 'counts');
});

it.each<[string, DecisionMade | Answered, boolean]>([
  ['an approval', { ...ACCEPTED, decision: 'approved' }, true],
  ['an edit that somebody has to look at', { ...ACCEPTED, decision: 'modified', asksAgain: true }, true],
  ['one vote of two', { ...ACCEPTED, decision: 'approved', stillWaits: true }, false],
  ['a withdrawn vote', { ...ACCEPTED, decision: 'withdrawn', stillWaits: true }, false],
  ['an answer', { ...ACCEPTED, type: 'answered', answer: 'answered' }, true],
  [
    'a refused answer',
    { ...ACCEPTED, type: 'answered', judgement: { accepted: false, code: 'expired' } },
    false,
  ],
])('%s ends the wait of its call: %p', (_, event, ends) => {
  expect(takesEffect(event)).toBe(ends);
});

it('a vote to run a call again lets nothing run until the other vote is there', () => {
  const one = runAgain(doubtOfTwo(), 'ann', waits);
  const [waiting] = viewOf(one.fold()).calls;
  expect(waiting && allowedBy(waiting)).toMatchObject({ type: 'decision', approver: 'ben' });
  const [allowed] = viewOf(runAgain(one, 'ben').fold()).calls;
  expect(allowed && allowedBy(allowed)).toMatchObject({ type: 'resolved', approver: 'ben' });
});

it('a resolution that the worker voids let nothing run, and the next decision does', () => {
  const script = voidedAgain();
  const lastOf = () => {
    const [call] = viewOf(script.fold()).calls;
    return call && { phase: call.phase, allowed: allowedBy(call), last: lastWordOn(call) };
  };
  expect(lastOf()).toEqual({ phase: 'request', allowed: undefined, last: undefined });
  const said = { callId: '1.1', decision: 'approved', approver: 'eve', decisionId: 'd-eve' };
  script.update('decide', said, accepted('1.1', 'approved', { approver: 'eve', decisionId: 'd-eve' }));
  const eve = { type: 'decision', approver: 'eve' };
  expect(lastOf()).toMatchObject({ phase: 'ready', allowed: eve, last: eve });
});

it('a vote that accepts no hunk is a vote against the call', () => {
  const said = { callId: '1.1', decision: 'approved', hunks: [], approver: 'ann' };
  const script = requested({ authority: authority(2, { denyNeeds: 2 }) });
  script.update('decide', said, accepted('1.1', 'approved', waits));
  const [call] = viewOf(script.fold()).calls;
  expect(call?.votes).toEqual([{ voter: 'ann', decision: 'denied', at: call?.decisions[0]?.at }]);
});

it('a person can take back a vote', () => {
  const script = requested({ authority: authority(2) });
  const say = (decision: string) =>
    script.update('decide', { callId: '1.1', decision, approver: 'ann' }, accepted('1.1', decision, waits));
  expect(viewOf(say('approved').fold()).calls[0]?.votes).toHaveLength(1);
  expect(viewOf(say('withdrawn').fold()).calls[0]?.votes).toEqual([]);
});

it('a vote that waits for another one does not end the wait of its call', () => {
  const ended = (script: Script) => viewOf(script.fold()).calls.map(lastWordOn)[0];
  const one = runAgain(doubtOfTwo(), 'ann', waits);
  expect(ended(one)).toMatchObject({ type: 'decision', approver: 'ben' });
  expect(ended(runAgain(one, 'ben'))).toMatchObject({ type: 'resolved', approver: 'ben' });
});

it('a person who asks again does not end the wait of a call', () => {
  const script = requested({ authority: authority(1) });
  const again = { callId: '1.1', decision: 'ask-again', approver: 'eve' };
  script.update('decide', again, accepted('1.1', 'ask-again', { asksAgain: true, approver: 'eve' }));
  expect(viewOf(script.fold()).calls.map(lastWordOn)).toEqual([undefined]);
});
