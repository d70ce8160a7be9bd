import { pastCalls } from '../../../src/cli/policy/past';
import { foldAll } from '../../../src/history/fold/fold';
import { viewOf } from '../../../src/history/view';
import { accepted, ask, item, Script } from '../../history/script';

const people = ['ann', 'bob', 'carla'].map((name) => ({ name, groups: [], delegates: [] }));
const rule = {
  ...{ name: 'two', then: 'ask' as const, rosters: [], need: 2, groups: [], notRequester: false },
  ...{ denyNeeds: 1, assurance: 'claimed' as const },
};
const authority = { fileDigest: 'f', ruleDigest: 'r', requesters: ['rita'], rule, people };
const MORE = { needs: { approvals: 1, who: [] } };
const WHY = 'the rules have changed';

/** What each person said, one after the other. The last decision settles the request. */
const approversAfter = (of: object, said: readonly [string, string][]): string[] => {
  const call = ask('1.1', of, { effect: 'idempotent' });
  const script = new Script()
    .started()
    .task()
    .think(1, [call])
    .open([item('1.1')]);
  for (const [index, [approver, decision]] of said.entries()) {
    if (decision === 'void') {
      script
        .done(script.call(call), { askAgain: WHY })
        .task()
        .open([item('1.1')]);
      continue;
    }
    const needs = index === said.length - 1 || said[index + 1]?.[1] === 'void' ? {} : MORE;
    const verdict = accepted('1.1', decision, { decisionId: `d${index}`, approver, ...needs });
    script.update('decide', { callId: '1.1', decision, approver }, verdict);
  }
  return pastCalls(viewOf(foldAll(script.events))).flatMap(({ approvers }) => approvers);
};

test.each<[string, object, [string, string][], string[]]>([
  ['one who decided alone', {}, [['ann', 'approved']], ['ann']],
  ['one who denied alone', {}, [['ann', 'denied']], []],
  [
    'one who approved after an approval that did not hold',
    {},
    [
      ['ann', 'approved'],
      ['', 'void'],
      ['bob', 'approved'],
    ],
    ['bob'],
  ],
  [
    'a vote against the others',
    { authority: { ...authority, rule: { ...rule, denyNeeds: 2 } } },
    [
      ['carla', 'denied'],
      ['ann', 'approved'],
      ['bob', 'approved'],
    ],
    ['ann', 'bob'],
  ],
  [
    'two votes',
    { authority },
    [
      ['ann', 'approved'],
      ['bob', 'approved'],
    ],
    ['ann', 'bob'],
  ],
  [
    'two votes, after one that was withdrawn',
    { authority },
    [
      ['ann', 'approved'],
      ['ann', 'withdrawn'],
      ['bob', 'approved'],
      ['carla', 'approved'],
    ],
    ['bob', 'carla'],
  ],
])('the approvers of a call: %s', (_, call, said, expected) => {
  expect(approversAfter(call, said)).toEqual(expected);
});
