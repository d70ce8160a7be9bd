import fc from 'fast-check';
import { LIMITS } from '../../src/contract/limits';
import { parseArguments } from '../../src/tools/parse-arguments';

const nested = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);

it.each<[string, object]>([
  ['{}', {}],
  ['', {}],
  [' { "a" : [ 1 , { "a" : null } ] } ', { a: [1, { a: null }] }],
  ['{"a":"a","b":{"a":"b"},"c":[{"a":1},{"a":2}]}', { a: 'a', b: { a: 'b' }, c: [{ a: 1 }, { a: 2 }] }],
  ['{"a\\"}":"{\\"a\\":1,\\"a\\":2}"}', { 'a"}': '{"a":1,"a":2}' }],
  ['{"":1," ":2}', { '': 1, ' ': 2 }],
  ['{"n":9007199254740991,"m":1e3,"z":-0.5}', { n: 9007199254740991, m: 1000, z: -0.5 }],
  ['{"constructor":1,"hasOwnProperty":2}', { constructor: 1, hasOwnProperty: 2 }],
])('reads %s', (raw, value) => {
  expect(parseArguments(raw)).toEqual({ ok: true, value });
});

it('takes 64 levels', () => {
  expect(parseArguments(nested(64)).ok).toBe(true);
});

it.each<[string, string, string, RegExp]>([
  ['a duplicate key', '{"a":1,"a":1}', '/a', /twice/],
  ['one spelt otherwise', '{"a":1,"\\u0061":2}', '/a', /twice/],
  ['one deep down', '{"x":[0,{"a~/b":1,"a~/b":2}]}', '/x/1/a~0~1b', /twice/],
  ['text after it', '{"a":1} and', '', /no valid JSON/],
  ['two objects', '{}{}', '', /no valid JSON/],
  ['a code fence', '```json\n{}\n```', '', /no valid JSON/],
  ['single quotes', "{'a':1}", '', /no valid JSON/],
  ['a comma too much', '{"a":1,}', '', /no valid JSON/],
  ['an end too early', '{"a":"b', '', /no valid JSON/],
  ['white space only', ' ', '', /no valid JSON/],
  ['a list', '[1]', '', /not a list/],
  ['null', 'null', '', /not null/],
  ['text', '"{}"', '', /not a string/],
  ['a number', '7', '', /not a number/],
  ['65 levels', nested(65), '', /64 levels/],
  ['65 lists', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`, '', /64 levels/],
  ['__proto__', '{"__proto__":{"admin":true}}', '/__proto__', /not allowed/],
  ['__proto__ spelt otherwise, deep down', '{"a":{"\\u005f_proto__":1}}', '/a/__proto__', /not allowed/],
  ['a number that becomes another', '{"id":12345678901234567890}', '/id', /more digits/],
  ['a number that becomes infinite', '{"n":[1,1e999]}', '/n/1', /too large/],
])('refuses %s', (...[, raw, path, message]) => {
  const parsed = parseArguments(raw);
  expect(parsed).toEqual({ ok: false, issues: [{ path, message: expect.stringMatching(message) }] });
});

it('refuses what is over the limit, in bytes, before it reads it', () => {
  const raw = JSON.stringify({ a: 'é'.repeat(LIMITS.argumentsBytes / 2) });
  expect(parseArguments(raw)).toMatchObject({
    ok: false,
    issues: [{ message: expect.stringContaining('bytes') }],
  });
});

it('does not break on depth within the limit of bytes', () => {
  expect(parseArguments('['.repeat(100_000)).ok).toBe(false);
  expect(parseArguments(nested(20_000)).ok).toBe(false);
});

const hasProto = (value: unknown): boolean => JSON.stringify(value).includes('__proto__');

it('gives what JSON.parse gives for every object it takes', () => {
  const object = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }))
    .filter((value) => !hasProto(value));
  fc.assert(
    fc.property(object, fc.constantFrom(0, 1, 2), (value, indent) => {
      const raw = JSON.stringify(value, null, indent);
      expect(parseArguments(raw)).toEqual({ ok: true, value: JSON.parse(raw) });
    }),
  );
});

it('never throws and takes nothing that JSON.parse refuses', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((text) => text.slice(1)),
        fc.json(),
      ),
      (raw) => {
        const parsed = parseArguments(raw);
        if (parsed.ok && raw !== '') expect(JSON.parse(raw)).toEqual(parsed.value);
      },
    ),
  );
});
