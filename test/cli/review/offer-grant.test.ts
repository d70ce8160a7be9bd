import type { Countersign, GrantOptions, GrantPlan } from '../../../src/client';
import { addApprove } from '../../../src/cli/commands/approve';
import { type GrantFlags, grantFlags, planned } from '../../../src/cli/review/offer-grant';
import type { Signer } from '../../../src/cli/review/sign';
import type { VoteSignature } from '../../../src/contract/decision';
import type { GrantAsked } from '../../../src/authority/grants/grant';
import { runCommand, testContext } from '../command';
import { call, testScreen, turn } from '../support';

const TERMS = {
  id: '0a1b2c3d-0000-4000-8000-000000000001',
  ...{ agent: 'clerk', tool: 'pay', toolDigest: 'a'.repeat(64), ruleDigest: '', policyDigest: '' },
  ...{ narrowing: {}, times: 3, by: 'ann' },
  ...{ at: '2026-11-25T12:00:00.000Z', until: '2126-11-25T12:00:00.000Z' },
};
const PLAN: GrantPlan = { terms: TERMS, sentence: 'Allows clerk to pay.', assurance: 'claimed' };
const SIGNATURE: VoteSignature = {
  ...{ kind: 'ssh', armored: 'armored', at: TERMS.at, notAfter: TERMS.until },
};
const SIGNER: Signer = {
  approver: 'ann',
  sign: () => Promise.reject(new Error('no decision is signed here')),
  signGrant: () => Promise.resolve(SIGNATURE),
};

/** Plans the grant of these flags for a server that plans like this. */
async function plan(flags: Parameters<typeof planned>[0], changes: Partial<GrantPlan> = {}, signer?: Signer) {
  const screen = testScreen();
  const asked: GrantOptions[] = [];
  const given: GrantAsked[] = [];
  const grants: Pick<Countersign['grants'], 'plan' | 'coverage' | 'give'> = {
    plan: async (_turn, _callId, options) => {
      asked.push(options);
      return { ...PLAN, ...changes };
    },
    coverage: async () => ({ covered: 4, denied: 1, calls: 9, turns: 7 }),
    give: async (one) => {
      given.push(one);
      return { ...one, used: 0, takenAt: TERMS.at };
    },
  };
  const client = new Proxy<Countersign>(Object.create(null), {
    get: (_, name) => (name === 'grants' ? grants : 'default'),
  });
  const planning = await planned(flags, {
    ...{ client, view: turn([call()]), callId: '1.1', approver: 'ann', signer },
    context: testContext(client, screen),
  });
  return { planning, asked, given, printed: screen.printed };
}

it('asks for no grant where no option does', async () => {
  const { planning, asked, printed } = await plan({});
  expect({ planning, asked, printed }).toEqual({ planning: undefined, asked: [], printed: [] });
});

it.each<[string, GrantFlags, Partial<GrantOptions>]>([
  ['a time', { for: '30m' }, { forMs: 1_800_000 }],
  ['a plain number, which counts seconds', { for: '30' }, { forMs: 30_000 }],
  ['a time in words', { for: '7 days' }, { forMs: 604_800_000 }],
  ['a count', { times: '3' }, { times: 3 }],
  ['both', { for: '2h', times: '500' }, { forMs: 7_200_000, times: 500 }],
  [
    'each kind of condition',
    { times: '1', prefix: ['path=src/', 'q=a=b'], range: ['cents=..500'], glob: ['to=*@example.com'] },
    {
      narrowing: {
        path: { is: 'prefix', prefix: 'src/' },
        q: { is: 'prefix', prefix: 'a=b' },
        cents: { is: 'range', max: 500 },
        to: { is: 'glob', glob: '*@example.com' },
      },
    },
  ],
  [
    'a range without an end',
    { times: '1', range: ['n=-1.5..'] },
    { narrowing: { n: { is: 'range', min: -1.5 } } },
  ],
  ['a range', { times: '1', range: ['n=0..1e3'] }, { narrowing: { n: { is: 'range', min: 0, max: 1000 } } }],
])('plans %s', async (_, flags, options) => {
  const { asked } = await plan(flags);
  expect(asked).toEqual([
    { by: 'ann', narrowing: {}, ...(flags.times === '1' ? { times: 1 } : {}), ...options },
  ]);
});

it.each<[string, Parameters<typeof planned>[0], RegExp]>([
  ['a long reason', { times: '1', reason: 'ü'.repeat(251) }, /--reason: .*over 500 bytes/],
  ['a condition alone', { prefix: ['path=src/'] }, /--prefix needs --for or --times/],
  ['no time', { for: 'soon' }, /--for soon: this is not a time/],
  ['a unit that is none', { for: '3 moons' }, /this is not a time/],
  ['no count', { times: 'many' }, /--times many: this is not a whole number/],
  ['a count below nothing', { times: '-1' }, /is not a whole number/],
  ['a condition without an argument', { times: '1', glob: ['=x'] }, /=x names no argument/],
  ['a condition without a value', { times: '1', glob: ['path'] }, /path names no argument/],
  ['one end of a range', { times: '1', range: ['n=5'] }, /5 is not a range/],
  ['a range of words', { times: '1', range: ['n=a..b'] }, /a\.\.b is not a range/],
  ['a range of three', { times: '1', range: ['n=1..2..3'] }, /is not a range/],
  ['an argument twice', { times: '1', prefix: ['n=a'], range: ['n=1..2'] }, /n is narrowed twice/],
])('refuses %s, and asks the server nothing', async (_, flags, message) => {
  await expect(plan(flags)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(message),
  });
});

it('says what it allows and how often it would have, and gives it only then', async () => {
  const { planning, given, printed } = await plan({ for: '30m', reason: 'quick ones' });
  expect(printed).toEqual([
    'Allows clerk to pay.',
    'Of 9 calls of the last 7 turns in which somebody was asked it would have allowed 4, 1 of which somebody denied.',
  ]);
  expect(given).toEqual([]);
  await planning?.give();
  expect(given).toEqual([{ ...TERMS, reason: 'quick ones' }]);
  expect(printed.at(-1)).toBe(`Grant ${TERMS.id} holds. Take it back: cs grants 0a1b2c3d --revoke`);
});

it('says who has to confirm it', async () => {
  const held = 'Until it is confirmed it allows nothing: one more.';
  const { planning, printed } = await plan({ times: '3' }, { held });
  expect(printed[1]).toBe(held);
  await planning?.give();
  expect(printed.at(-1)).toContain('waits for others: cs grants 0a1b2c3d --confirm.');
});

it('signs it where a key is named', async () => {
  const { planning, given } = await plan({ times: '3' }, { assurance: 'signed_ssh' }, SIGNER);
  await planning?.give();
  expect(given).toEqual([{ ...TERMS, signature: SIGNATURE }]);
});

it('refuses an unsigned one where the rule wants signatures', async () => {
  await expect(plan({ times: '3' }, { assurance: 'signed' })).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(/wants decisions signed/),
  });
});

it.each([
  ['many calls', ['--all', '--tool', 'pay', '--yes', '--for', '30m'], /--for and --all exclude each other/],
  ['changed arguments', ['t-1/1', '--set', 'cents=5', '--times', '3'], /--times and a change exclude/],
  ['hunks', ['t-1/1', '--hunks', '1', '--for', '1h'], /--for and a change exclude/],
])('`approve` gives none beside %s', async (_, args, message) => {
  const approving = runCommand(addApprove, { view: turn([call()]) }, 'approve', ...args);
  await expect(approving).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(message) });
});

it('keeps the flags that were given, and no other option', () => {
  const options = { for: '1h', reason: 'x', glob: ['a=b'] };
  expect(grantFlags(options)).toEqual({ for: '1h', glob: ['a=b'] });
});
