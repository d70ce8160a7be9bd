import { grantSentence } from '../../../src/authority/grants/grant-text';
import { exactly, type Narrowing } from '../../../src/authority/grants/narrowing';

const AT = '2026-11-24T12:00:00.000Z';
const TERMS = {
  id: 'g',
  agent: 'clerk',
  tool: 'pay',
  toolDigest: 'd',
  ruleDigest: '',
  policyDigest: '',
  narrowing: {},
  times: 1,
  until: AT,
  at: AT,
  by: 'ann',
};

test.each<[Narrowing, string]>([
  [{}, 'without arguments'],
  [exactly({ cents: 5 }), 'with exactly these arguments'],
  [
    {
      a: { is: 'prefix', prefix: 'src/' },
      b: { is: 'glob', glob: '**' },
      c: { is: 'range', min: 1, max: 2 },
      d: { is: 'equal', value: 'x' },
    },
    'with a beginning with "src/", b any text, c from 1 to 2, d = "x", and no other argument',
  ],
])('%j is said in words', (narrowing, text) => {
  expect(grantSentence({ ...TERMS, narrowing })).toContain(` pay ${text} without asking again: `);
});

test.each([
  [1, 'one call'],
  [3, 'up to 3 calls'],
  [500, 'every call (500 at most)'],
])('a grant of %i says how much it allows', (times, text) => {
  expect(grantSentence({ ...TERMS, times })).toBe(
    `Allows clerk to run pay without arguments without asking again: ${text}, until 2026-11-24 12:00 UTC.`,
  );
});
