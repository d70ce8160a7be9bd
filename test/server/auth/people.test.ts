import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { createDirectory, type Identity } from '../../../src/server/auth/people';

const FILE = `
installation: 0123456789abcdef0123456789abcdef
people:
  anna: { mail: Anna@example.com, groups: [leads] }
  bob: { mail: bob@example.com, oidc: b0b }
  cleo@example.com: {}
  dora: {}
rules: [{ name: default, then: by_safety }]
`;
const people = parseApprovers(FILE, 'approvers.yaml');
const directory = createDirectory({
  people: () => Promise.resolve(people),
  access: { mayFork: ['group:leads', 'dora'], mayConverse: ['group:support'] },
});
const find = (identity: Partial<Identity>) => directory.find({ groups: [], ...identity });

it.each<[string, Partial<Identity>, string]>([
  ['a mail', { mail: 'anna@example.com' }, 'anna'],
  ['a mail in other case', { mail: 'ANNA@EXAMPLE.COM' }, 'anna'],
  ['a name that is a mail', { mail: 'cleo@example.com' }, 'cleo@example.com'],
  ['a subject', { subject: 'b0b' }, 'bob'],
  ['a subject, whatever the mail', { subject: 'b0b', mail: 'anna@example.com' }, 'bob'],
  ['a mail beside a subject that is nobody’s', { subject: 'x', mail: 'anna@example.com' }, 'anna'],
])('finds a person by %s', async (_case, identity, user) => {
  expect(await find(identity)).toMatchObject({ user });
});

it.each<[string, Partial<Identity>]>([
  ['nothing', {}],
  ['a name in place of a mail', { mail: 'anna' }],
  ['a name as subject', { subject: 'anna' }],
  ['a subject in other case', { subject: 'B0B' }],
  ['the mail of a person who has a subject', { mail: 'bob@example.com' }],
  ['the mail of a person who has another subject', { mail: 'bob@example.com', subject: 'new' }],
  ['a mail of nobody', { mail: 'eve@example.com' }],
  ['a property of all objects', { subject: '__proto__' }],
])('finds nobody by %s', async (_case, identity) => {
  await expect(find(identity)).rejects.toEqual(expect.objectContaining({ code: 'not_allowed' }));
});

it.each<[string, Partial<Identity>, string[]]>([
  ['a group of the file', { mail: 'anna@example.com' }, ['fork-live']],
  ['a group of the issuer', { subject: 'b0b', groups: ['support'] }, ['converse']],
  ['none', { subject: 'b0b' }, []],
  [
    'a group of the issuer with the name of a person',
    { subject: 'b0b', groups: ['dora', 'group:leads'] },
    [],
  ],
])('gives the rights of %s', async (_case, identity, rights) => {
  expect(await find(identity)).toMatchObject({ rights });
});

it('takes groups of an issuer for rights alone: nobody joins a group of the file by them', async () => {
  await find({ subject: 'b0b', groups: ['leads'] });
  expect(people.groupsOf('bob')).toEqual([]);
  expect(people.people.find(({ name }) => name === 'bob')?.groups).toEqual([]);
});

it.each<[string[], boolean]>([
  [[], false],
  [['anna'], true],
  [['group:ops'], true],
  [['ops'], false],
])('looks a person of the group ops up in %j', async (mayFork, isThere) => {
  const access = { mayFork, mayConverse: [] };
  const listed = createDirectory({ people: () => Promise.resolve(people), access });
  const { rights } = await listed.find({ mail: 'anna@example.com', groups: ['ops'] });
  expect(rights.includes('fork-live')).toBe(isThere);
});
