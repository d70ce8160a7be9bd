import { releaseChild, reserveChild } from '../../src/workflows/child-turn';
import { makeTurn } from '../../src/workflows/turn';
import { approvalsWith } from '../support/calls';

it('counts a child turn once, however often its call is given back before it starts', () => {
  const approvals = approvalsWith({});
  const state = approvals.calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  state.call.settings.child = { agent: 'helper', outputBytes: 1000 };
  const turn = { ...makeTurn({ agent: 'clerk', prompt: 'p', budget: { steps: 10 } }, 'run-1'), approvals };
  for (let round = 0; round < 3; round++) {
    reserveChild(turn, state);
    // A call that waits for a worker, or for the end of a pause, keeps its place.
    reserveChild(turn, state);
    expect(turn.children).toBe(1);
    expect(state.child).toMatchObject({ before: 0, given: { steps: 10 - round } });
    releaseChild(turn, state);
    releaseChild(turn, state);
    expect(turn.children).toBe(0);
    turn.spending.spent.steps += 1;
  }
});
