import { addAskAgain } from '../../../src/cli/commands/ask-again';
import type { RequestOpened } from '../../../src/history/events';
import { runCommand } from '../command';
import { call, request, turn } from '../support';
import type { RuleSnapshot } from '../../../src/contract/authority';

const taken = {
  status: 'accepted',
  verdict: { accepted: true, callId: '1.1', decision: 'ask-again', approver: 'dora', asksAgain: true },
};
const askAgain = (after: Partial<RequestOpened>, ...args: string[]) => {
  const asked = turn([call()]);
  const views = [
    asked,
    turn([call({ phase: 'preparing' })]),
    turn([call({ request: request({ eventId: 99, ...after }) })]),
  ];
  const answers = {
    decide: taken,
    get view() {
      return views.length > 1 ? views.shift() : views[0];
    },
  };
  return runCommand(addAskAgain, answers, 'ask-again', ...args);
};

it('waits for the new request, and says under which rule it is', async () => {
  const rule: RuleSnapshot = {
    ...{ name: 'new rule', then: 'ask', rosters: [], need: 1, groups: [] },
    ...{ notRequester: false, denyNeeds: 1, assurance: 'claimed' },
  };
  const today = { authority: { fileDigest: 'f', ruleDigest: 'r', requesters: [], rule } };
  const { printed, asked } = await askAgain(today, 't-1/1', '--reason', 'all left', '--as', 'dora');
  expect(printed).toEqual([
    't-1/1.1 is asked about anew, and has no votes yet',
    "It is under the rule 'new rule' now.",
  ]);
  expect(asked[1]).toMatchObject([
    'decide',
    't-1',
    { callId: '1.1', callKey: 'key:1.1', decision: 'ask-again', reason: 'all left', approver: 'dora' },
  ]);
});

it('fails where nothing came of it, with the reason', async () => {
  const note = { note: 'it was not asked again: ben is not an admin' };
  await expect(askAgain(note, 't-1/1', '--reason', 'x', '--as', 'ben')).rejects.toMatchObject({
    code: 'refused',
    message: 't-1/1.1: it was not asked again: ben is not an admin',
  });
});
