import { type CallEvent, evolve } from '../../src/lifecycle/events';
import type { CallState } from '../../src/lifecycle/state';
import { result } from '../history/script';
import { approvalsWith, validCall } from '../support/calls';

const callId = '1.1';
const decision = { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '' } as const;
const standing = { decision: 'approved', approver: 'ann', at: '' };

/** One event of each kind that changes a call from one state to another. */
const EVENTS: readonly CallEvent[] = [
  { type: 'edited', callId, arguments: {}, digest: '', approver: 'ann', isPrepared: true },
  { type: 'renewed', callId, by: 'ann' },
  { type: 'prepared', callId, prepared: validCall(), at: 1 },
  { type: 'allowed', callId, decision, standing, isOld: false },
  { type: 'allowed', callId, decision, standing, isOld: false, runsAgain: true },
  { type: 'started', callId },
  { type: 'voided', callId, said: { askAgain: 'look again' }, at: 1 },
  { type: 'lost', callId, doubt: { message: 'lost' }, at: 1 },
  { type: 'closed', callId, result: result('1.1'), at: 1 },
];

const reached = (): Record<CallState['phase'], CallState> => {
  const asked = approvalsWith({});
  const request = asked.call();
  asked.say('decision', { callId, decision: 'approved' });
  const ready = asked.call();
  asked.start();
  const running = asked.call();
  asked.lose();
  const doubted = asked.call();
  asked.do({ type: 'prove', callId, result: result(callId) });
  const edited = approvalsWith({ preview: 'pays' });
  edited.say('decision', { callId, decision: 'modified', arguments: { amount: 1 } });
  return {
    ...{ request, ready, running, in_doubt: doubted, done: asked.call() },
    question: approvalsWith({ question: true }).call(),
    preparing: edited.call(),
  };
};

/** The state after each event, in the order of `EVENTS`; `=` leaves the call as it is. */
it.each<[CallState['phase'], string]>([
  ['request', 'preparing preparing = ready = = = = done'],
  ['question', '= = = = = = = = done'],
  ['preparing', '= = request = = = = = done'],
  ['ready', '= = = = = running = in_doubt done'],
  ['running', '= = = = = = request in_doubt done'],
  ['in_doubt', '= = = = ready = = = done'],
  ['done', '= = = = = = = = ='],
])('takes a call that is %s to: %s', (phase, line) => {
  const state = reached()[phase];
  const after = EVENTS.map((event) => {
    const next = evolve(state, event);
    return next === state ? '=' : next.phase;
  });
  expect(after.join(' ')).toBe(line);
});

it('changes nothing of a call that has its result, whatever is said of it', () => {
  const { done } = reached();
  const more: CallEvent[] = [
    { type: 'voted', callId, vote: { voter: 'ann', decision: 'approved', decisionId: 'd', at: '' } },
    { type: 'escalated', callId },
    { type: 'noted', callId, note: 'late' },
    { type: 'outdated', callId },
  ];
  for (const event of more) expect(evolve(done, event)).toBe(done);
});
