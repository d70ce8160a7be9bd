import type { PolicyTest } from '../../../src/cli/policy-test/compare';
import { policyTestLines } from '../../../src/cli/commands/policy';
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
    { name: SLY, then: 'ask', fits: 3 },
  ],
};

it('shows what would be otherwise, how often rules fit, and what was left out', () => {
  const lines = policyTestLines(found, testScreen(160));
  expect(lines[0]).toBe('2 turns, 60 calls: 8 as decided, 52 otherwise');
  expect(lines.find((line) => line.startsWith('t0/1.1'))).toMatch(/runs +refused +safety/);
  expect(lines.find((line) => line.startsWith('t1/1.1'))).toMatch(/asks, denied +runs +small/);
  expect(lines).toContain('… 2 more; --json has all');
  expect(lines.join('\n')).toMatch(/small +run +51 calls/);
  expect(lines.slice(-3).join('\n')).toMatch(/lacks the tool[^]*1 call\.[^]*1 fork/);
});

it('says so where there are no rules, and nothing is otherwise', () => {
  const none = { ...found, from: null, otherwise: [], rules: [], unknown: {}, invalid: 0, forks: 0 };
  expect(policyTestLines(none, testScreen())).toEqual([
    '2 turns, 60 calls: 8 as decided, 0 otherwise',
    'The config has no policy rules: this is what its code says today.',
  ]);
});

it('lets no text of a model or a person reach the terminal as it is', () => {
  expect(policyTestLines(found, testScreen(160)).join('\n')).not.toMatch(/[\u202e\u001b]/);
});
