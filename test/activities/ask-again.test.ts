import { renewalRefusal } from '../../src/activities/ask-again';
import { parseApprovers } from '../../src/authority/rules/approvers-file';

const file = (roles: string) =>
  parseApprovers(
    `installation: 0123456789abcdef0123456789abcdef
people: { anna: { mail: Anna@example.com }, bob: {}, vera: {} }
${roles}
rules: [{ name: default, then: by_safety }]
`,
    'a.yaml',
  );
const ROLES = file('roles: { admins: [anna], viewers: [vera] }');
const NO_ROLES = file('');
const CALL = { agent: 'a', callId: '1.1', id: 'i', tool: 'pay', raw: '{}' };

it.each<[string, ReturnType<typeof file> | undefined, string, boolean, RegExp | undefined]>([
  ['an admin', ROLES, 'anna', true, undefined],
  ['an admin by mail', ROLES, 'ANNA@example.com', true, undefined],
  ['an approver', ROLES, 'bob', true, /bob is not an admin by the approvers file; these are: anna/],
  ['a viewer', ROLES, 'vera', true, /vera is not an admin/],
  ['a stranger', ROLES, 'mallory', true, /mallory is not an admin/],
  ['a stranger, of a request without a rule', ROLES, 'mallory', false, /mallory is not an admin/],
  ['a name that objects have', ROLES, '__proto__', true, /is not an admin/],
  ['anybody, where there are no roles', NO_ROLES, 'mallory', true, undefined],
  ['anybody, where there is no file', undefined, 'mallory', false, undefined],
  ['an admin, where there is no file for a rule', undefined, 'anna', true, /has no approvers file/],
])('lets ask again as the file says: %s', async (_, approvers, by, isRuled, why) => {
  const source = approvers && { current: async () => approvers };
  const refused = await renewalRefusal(source, { ...CALL, askedAgain: { by, isRuled } });
  if (why === undefined) expect(refused).toBeUndefined();
  else
    expect(refused?.result).toMatchObject({
      error: { code: 'refused', message: expect.stringMatching(why) },
    });
});

it('says nothing where nobody asks again', async () => {
  expect(await renewalRefusal({ current: async () => ROLES }, CALL)).toBeUndefined();
});
