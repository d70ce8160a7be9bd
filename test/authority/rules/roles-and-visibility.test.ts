import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { CountersignError } from '../../../src/contract/errors';

const file = (more: string) => `installation: 0123456789abcdef0123456789abcdef
people:
  anna: { groups: [leads, support], mail: Anna@example.com }
  bob: { groups: [support] }
  cleo: { groups: [audit] }
  dora: {}
groups: { night: nobody yet }
rules: [{ name: default, then: by_safety }]
${more}`;
const permitsIn = (more: string) => {
  const approvers = parseApprovers(file(more), 'a.yaml');
  return (name: string) => {
    const { role, agents } = approvers.permitOf(name);
    return [role, agents];
  };
};
const ROLES = 'roles: { admins: [group:leads], viewers: [group:audit] }\n';
const VISIBILITY = `visibility:
  group:support: [support, triage]
  bob: [billing, support]
  group:audit: all
`;

it('lets everybody do and see everything without them, strangers too', () => {
  const permitOf = permitsIn('');
  for (const name of ['anna', 'dora', 'a stranger', '__proto__'])
    expect(permitOf(name)).toEqual(['admin', 'all']);
});

it.each<[string, unknown[]]>([
  ['anna', ['admin', 'all']],
  ['ANNA@example.com', ['admin', 'all']],
  ['bob', ['approver', ['billing', 'support', 'triage']]],
  ['cleo', ['viewer', 'all']],
  ['dora', ['approver', []]],
  ['a stranger', ['viewer', []]],
  ['group:leads', ['viewer', []]],
  ['constructor', ['viewer', []]],
])('works out what %s may do and sees', (name, expected) => {
  expect(permitsIn(ROLES + VISIBILITY)(name)).toEqual(expected);
});

it('has roles alone, with which everybody sees everything', () => {
  const permitOf = permitsIn(ROLES);
  expect([permitOf('bob'), permitOf('stranger')]).toEqual([
    ['approver', 'all'],
    ['viewer', 'all'],
  ]);
});

it('has visibility alone, with which everybody does what they see', () => {
  const permitOf = permitsIn(VISIBILITY);
  expect([permitOf('anna'), permitOf('stranger')]).toEqual([
    ['admin', ['support', 'triage']],
    ['admin', []],
  ]);
});

it.each<[string, string, string]>([
  ['a person who is not there', 'roles: { admins: [eve] }', "9:19: there is no person 'eve'"],
  [
    'a group that is not there',
    'roles: { admins: [anna], viewers: [group:ops] }',
    "9:36: there is no group 'ops'",
  ],
  ['an empty list', 'roles: { admins: [] }', '9:18: `roles.admins` must not be empty'],
  ['no admins', 'roles: { viewers: [anna] }', '`roles.admins` is missing'],
  ['admins of a group that nobody is in', 'roles: { admins: [group:night] }', '9:18: nobody is an admin'],
  [
    'a person who is both',
    'roles: { admins: [anna], viewers: [group:support] }',
    "9:35: 'anna' is an admin, too",
  ],
  ['an entry twice', 'roles: { admins: [anna, anna] }', "9:25: 'anna' is listed twice"],
  ['an unknown role', 'roles: { admins: [anna], owners: [bob] }', '9:34: `roles` has no field `owners`'],
  ['visibility of nobody', 'visibility: {}', '9:13: `visibility` must not be empty'],
  ['visibility of a person who is not there', 'visibility:\n  eve: [a]', "10:8: there is no person 'eve'"],
  ['visibility of a group that is not there', 'visibility:\n  group:ops: [a]', "there is no group 'ops'"],
  ['no agents', 'visibility:\n  bob: []', '10:8: `visibility.bob` must not be empty'],
  ['a word that is not all', 'visibility:\n  bob: every', '10:8: `visibility.bob` must be `all`'],
  ['an agent twice', 'visibility:\n  bob: [a, b, a]', "10:15: 'a' is listed twice"],
  ['one person twice', 'visibility:\n  bob: [a]\n  bob: [b]', '11:3: Map keys must be unique'],
])('refuses %s, with line and column', (_case, more, expected) => {
  const parse = (): unknown => parseApprovers(file(more), 'a.yaml');
  expect(parse).toThrow(CountersignError);
  expect(parse).toThrow(expected);
});
