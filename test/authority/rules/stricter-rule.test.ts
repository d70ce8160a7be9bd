import {
  actionFor,
  approvalsNeeded,
  isAssured,
  stricterAction,
  stricterRule,
} from '../../../src/authority/rules/stricter-rule';
import { rule } from '../votes/support';

describe('the stricter of two', () => {
  it('holds on every point', () => {
    const one = rule({
      ...{ need: 2, assurance: 'signed', expiresMs: 9 },
      escalate: { afterMs: 5, to: ['bob', 'anna'] },
    });
    const other = rule({
      ...{ rosters: [['bob'], ['group:finance']], groups: ['leads'], notRequester: true, denyNeeds: 2 },
      ...{ assurance: 'signed_in', expiresMs: 4, escalate: { afterMs: 7, to: ['anna', 'eve'] } },
    });
    expect(stricterRule(one, other)).toEqual({
      ...{
        rosters: [['group:finance'], ['bob']],
        need: 2,
        groups: ['leads'],
        notRequester: true,
        denyNeeds: 1,
      },
      ...{ assurance: 'signed', expiresMs: 4, escalate: { afterMs: 7, to: ['anna'] } },
    });
  });

  it.each([
    ['only one of them does', undefined],
    ['they bring in different people', { afterMs: 5, to: ['bob'] }],
  ])('brings in nobody later where %s', (_, escalate) => {
    const late = rule({ escalate: { afterMs: 5, to: ['anna'] } });
    const other = rule(escalate && { escalate });
    expect(stricterRule(late, other)).not.toHaveProperty('escalate', expect.anything());
    expect(stricterRule(other, late)).not.toHaveProperty('escalate', expect.anything());
  });

  it.each([
    ['run', 'dangerous', 'ask'],
    ['run', 'safe', 'run'],
    ['by_safety', 'dangerous', 'ask'],
    ['by_safety', 'cautious', 'run'],
    ['ask', 'safe', 'ask'],
    ['refuse', 'safe', 'refuse'],
  ] as const)('%s for a %s tool is %s', (action, safety, expected) => {
    expect(actionFor(action, safety)).toBe(expected);
    expect(stricterAction(action, 'run', safety)).toBe(expected);
    expect(stricterAction('refuse', action, safety)).toBe('refuse');
  });

  it.each([
    [1, [], 1],
    [2, ['finance'], 2],
    [1, ['finance', 'leads'], 2],
  ])('needs so many people of %j and the groups %j: %j', (need, groups, expected) => {
    expect(approvalsNeeded({ need, groups })).toBe(expected);
  });

  it('knows which assurance is more', () => {
    expect(isAssured('signed_in', 'signed')).toBe(false);
    expect(isAssured('signed_ssh', 'signed')).toBe(true);
  });
});
