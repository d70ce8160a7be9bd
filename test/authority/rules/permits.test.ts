import { isAtLeast, isSeenBy, type Permit, ROLES } from '../../../src/authority/rules/permits';

type Owned = Parameters<typeof isSeenBy>[1];

it('has roles of which each may do what those before it may', () => {
  const allowed = ROLES.map((role) => ROLES.filter((needed) => isAtLeast(role, needed)));
  expect(allowed).toEqual([['viewer'], ['viewer', 'approver'], ['viewer', 'approver', 'admin']]);
});

it.each<[string, Permit['agents'], Owned, boolean]>([
  ['all of it to who sees all', 'all', { agent: 'a', callers: ['b', ''] }, true],
  ['an agent that is listed', ['a'], { agent: 'a' }, true],
  ['no other agent', ['a'], { agent: 'b' }, false],
  ['nothing to who sees nothing', [], { agent: 'a' }, false],
  ['what a listed agent called', ['a', 'b'], { agent: 'a', callers: ['b'] }, true],
  ['nothing that an agent called which is not listed', ['a'], { agent: 'a', callers: ['a', 'b'] }, false],
  ['nothing of an agent that is not known', [''], { agent: '' }, false],
  ['nothing that an agent called which is not known', ['a', ''], { agent: 'a', callers: [''] }, false],
  ['nothing to who sees an agent named all', ['all'], { agent: 'a' }, false],
])('shows %s', (_case, agents, owned, expected) => {
  expect(isSeenBy({ agents }, owned)).toBe(expected);
});
