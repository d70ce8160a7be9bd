import type { PolicyTest } from '../../../src/cli/policy/compare';
import { suggestLines, policyTestLines } from '../../../src/cli/policy/lines';
import type { Suggestion } from '../../../src/cli/policy/suggest';
import { testScreen } from '../support';

const SLY = 'pay \u202e\u001b[31mred';
const found: PolicyTest = {
  ...{ from: 'policy.yaml', turns: 2, calls: 60, same: 8, invalid: 1, forks: 1, unknown: { [SLY]: 2 } },
  otherwise: Array.from({ length: 52 }, (_, n) => ({
    ...{ turn: `t${n}`, callId: '1.1', agent: 'a', tool: 'pay', summary: SLY, outcome: 'denied' },
    ...(n === 0
      ? ({ was: 'run', would: 'refuse' } as const)
      : ({ was: 'ask', would: 'run', rule: 'small' } as const)),
  })),
  rules: [
    { name: 'small', then: 'run', fits: 51 },
    { name: SLY, then: 'ask', fits: 3, shadow: { otherwise: 2 } },
  ],
};

it('shows what would be otherwise, how often rules fit, and what was left out', () => {
  const lines = policyTestLines(found, testScreen(160));
  expect(lines[0]).toBe('2 turns, 60 calls: 8 as decided, 52 otherwise');
  expect(lines.find((line) => line.startsWith('t0/1.1'))).toMatch(/runs +refused +safety/);
  expect(lines.find((line) => line.startsWith('t1/1.1'))).toMatch(/asks, denied +runs +small/);
  expect(lines).toContain('… 2 more; --json has all');
  expect(lines.join('\n')).toMatch(/small +run +51 calls/);
  expect(lines.join('\n')).toContain('would decide 2 otherwise');
  expect(lines.slice(-3).join('\n')).toMatch(/lacks the tool[^]*1 call\.[^]*1 fork/);
});

it('says so where there are no rules, and nothing is otherwise', () => {
  const none = { ...found, from: null, otherwise: [], rules: [], unknown: {}, invalid: 0, forks: 0 };
  expect(policyTestLines(none, testScreen())).toEqual([
    '2 turns, 60 calls: 8 as decided, 0 otherwise',
    'The config has no policy rules: this is what its code says today.',
  ]);
});

const one: Suggestion = {
  rule: { name: 'pay as approved', then: 'run' },
  yaml: `- name: pay as approved\n  when: args.to == "${SLY}"`,
  ...{ covers: 3, of: 5, people: [SLY], first: '2026-11-21T12:00:00.000Z', last: '2026-11-22T12:00:00.000Z' },
  free: ['text'],
};

it('prints suggestions to paste, each with what speaks for it', () => {
  const lines = suggestLines([one], { turns: 4, calls: 9, screen: testScreen() });
  expect(lines.slice(1, 2)).toEqual(['rules:']);
  expect(lines[2]).toMatch(/^ {2}# 3 of 5 requests, all approved as they were by .*; it takes any text$/);
  expect(lines[3]).toBe('  - name: pay as approved');
  expect(suggestLines([], { turns: 4, calls: 9, screen: testScreen() })[0]).toBe(
    'There is nothing to suggest in 9 calls in 4 turns.',
  );
});

it('lets no text of a model or a person reach the terminal as it is', () => {
  const printed = [
    ...policyTestLines(found, testScreen(160)),
    ...suggestLines([one], { turns: 1, calls: 1, screen: testScreen() }),
  ];
  expect(printed.join('\n')).not.toMatch(/[\u202e\u001b]/);
});
