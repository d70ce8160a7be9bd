import type { VoteRule, Voter } from '../../../src/contract/authority';

/** A rule by which one of finance decides, with changes. */
export const rule = (changes: Partial<VoteRule> = {}): VoteRule => ({
  rosters: [['group:finance']],
  need: 1,
  groups: [],
  notRequester: false,
  denyNeeds: 1,
  assurance: 'claimed',
  ...changes,
});

export const person = (name: string, groups: string[] = [], delegates: string[] = []): Voter => ({
  name,
  groups,
  delegates: delegates.map((one) => ({ name: one })),
});

/** People with groups and delegates, among whom a rule finds its voters. */
export const people = [
  person('anna', ['finance'], ['dora']),
  person('bob', ['finance', 'leads']),
  person('carl', ['finance']),
  person('dora', [], ['emil']),
  person('emil'),
];
