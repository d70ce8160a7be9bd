import { LIMITS } from '../../../src/contract/limits';
import type { TurnInput } from '../../../src/contract/turn';
import { addWords, originOfCall, takeUpWords } from '../../../src/workflows/session/words';
import { makeTurn, type Turn } from '../../../src/workflows/turn-state';
import { approvalsWith, validCall } from '../../support/calls';

const makeTestTurn = (more: Partial<TurnInput> = {}): Turn =>
  makeTurn({ agent: 'clerk', prompt: 'pay the bill', ...more }, 'run-1');

it.each([
  [LIMITS.sessionIds - 1, 1],
  [LIMITS.sessionIds, 0],
])('of a turn that took up words of %i messages, the next run knows at most so many ids', (took, added) => {
  const turn = makeTestTurn();
  turn.words.took = Array.from({ length: took }, (_, n) => `m${n}`);
  addWords(turn, { messageId: 'one more', text: 'go on' });
  addWords(turn, { messageId: 'two more', text: 'go on' });
  expect(turn.words.waiting).toHaveLength(added);
});

it('who edited a call asked for it, and for nothing else of its turn', () => {
  const approvals = approvalsWith({ preview: 'pays' });
  const turn = makeTestTurn({ origin: { requester: 'anna' } });
  expect(originOfCall(turn, approvals.call())).toEqual({ requester: 'anna' });
  for (const [amount, approver] of ['bob', 'cleo'].entries()) {
    const decision = { callId: '1.1', decision: 'modified', arguments: { amount }, approver };
    expect(approvals.say('decision', decision)).toMatchObject({ asksAgain: true });
    const prepared = validCall({ args: { amount }, preview: 'pays' });
    approvals.do({ type: 'prepared', callId: '1.1', prepared, at: 1 });
  }
  expect(originOfCall(turn, approvals.call())).toEqual({ requester: 'anna', others: ['bob', 'cleo'] });
  expect(turn.origin).toEqual({ requester: 'anna' });
});

describe('the people whose words a turn takes up', () => {
  const say = (turn: Turn, n: number, sender?: string): void =>
    addWords(turn, { messageId: `m${n}`, text: 'go on', ...(sender === undefined ? {} : { sender }) });
  /** A turn that anna asked for, with words of so many other people: taken up, and waiting. */
  const withSenders = (took: number, waiting: number): Turn => {
    const turn = makeTestTurn({ origin: { requester: 'anna' } });
    for (let n = 0; n < took; n++) say(turn, n, `p${n}`);
    takeUpWords(turn);
    for (let n = took; n < took + waiting; n++) say(turn, n, `p${n}`);
    return turn;
  };

  it.each([
    [LIMITS.turnSenders - 1, 0],
    [0, LIMITS.turnSenders - 1],
    [LIMITS.turnSenders / 2, LIMITS.turnSenders / 2 - 1],
  ])('are %i of before and %i who wait, and all of them count as requesters', (took, waiting) => {
    const turn = withSenders(took, waiting);
    takeUpWords(turn);
    expect(turn.origin?.others).toHaveLength(LIMITS.turnSenders - 1);
  });

  it.each([
    ['one person more', 'one more', 0],
    ['who asked for the turn', 'anna', 1],
    ['who sent words before', 'p7', 1],
    ['nobody who is named', undefined, 1],
  ])('are as many as can be noted: words of %s', (_, sender, taken) => {
    const turn = withSenders(LIMITS.turnSenders - 1, 0);
    say(turn, LIMITS.turnSenders, sender);
    expect(turn.words.waiting).toHaveLength(taken);
    takeUpWords(turn);
    expect(turn.origin?.others).toHaveLength(LIMITS.turnSenders - 1);
  });
});
