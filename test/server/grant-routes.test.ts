import fc from 'fast-check';
import type { JsonObject } from '../../src/contract/json';
import { covers } from '../../src/authority/grants/covers';
import { exactly, narrowingProblem } from '../../src/authority/grants/narrowing';
import { wideningsOf } from '../../src/server/grant-routes';
import '../support/properties';

const ANY = { is: 'glob', glob: '**' };

test.each<[string, JsonObject, object[]]>([
  ['a word', { at: 'ann' }, [ANY]],
  ['a path', { at: 'src/web/a.ts' }, [{ is: 'prefix', prefix: 'src/web/' }, ANY]],
  ['a URL', { at: 'https://a.example/b/c?d=/e' }, [{ is: 'prefix', prefix: 'https://a.example/b/' }, ANY]],
  ['a path that climbs', { at: '../a/b' }, [ANY]],
  ['a number', { at: 50 }, [{ is: 'range', min: 0, max: 50 }]],
  ['a number below 0', { at: -1 }, []],
  ['a truth', { at: true }, []],
  ['a list', { at: ['a'] }, []],
  ['what a program runs', { command: 'ls' }, []],
])('of %s, the narrowest is first', (_, args, wider) => {
  const [name = ''] = Object.keys(args);
  expect(wideningsOf(args)).toEqual({ [name]: [exactly(args)[name], ...wider] });
});

test('whatever the arguments are, each suggestion is one that a grant may have, and covers the call', () => {
  const args = fc.dictionary(
    fc.constantFrom('a', 'path', 'command', '__proto__', 'sql'),
    fc.oneof(
      fc.jsonValue(),
      fc.domain().map((host) => `https://${host}/a?b#c`),
      fc.string().map((text) => `a/${text}/b`),
    ),
  );
  fc.assert(
    fc.property(args, (drawn) => {
      const given: JsonObject = JSON.parse(JSON.stringify(drawn));
      for (const [name, conditions] of Object.entries(wideningsOf(given)))
        for (const condition of conditions) {
          const narrowing = { ...exactly(given), [name]: condition };
          expect(narrowingProblem(narrowing)).toBeUndefined();
          expect(covers(narrowing, given)).toBe(true);
        }
    }),
  );
});
