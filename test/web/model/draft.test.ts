import fc from 'fast-check';
import { type Json, type JsonObject, pointerOf } from '../../../src/contract/json';
import {
  type ArgumentsDraft,
  fieldIssues,
  issuesAt,
  isChanged,
  issuesOf,
  issuesWithin,
  type Path,
  putBack,
  setAt,
  setNumber,
  setText,
  valueAt,
} from '../../../src/web/model/draft';

const draft = (value: JsonObject, texts = {}): ArgumentsDraft => ({ value, texts });
const half = (text: string, problem = 'is not whole') => ({ text, problem });

const CASES: [string, JsonObject, Path, Json | undefined, JsonObject][] = [
  ['a leaf', { a: 1, b: 2 }, ['a'], 3, { a: 3, b: 2 }],
  ['a new leaf', { a: 1 }, ['b'], 2, { a: 1, b: 2 }],
  ['below', { a: { b: [1, 2] } }, ['a', 'b', 1], 3, { a: { b: [1, 3] } }],
  ['an item at the end', { a: [1] }, ['a', 1], 2, { a: [1, 2] }],
  ['a leaf out', { a: 1, b: 2 }, ['a'], undefined, { b: 2 }],
  ['an item out', { a: [1, 2, 3] }, ['a', 1], undefined, { a: [1, 3] }],
  ['into what is not there', {}, ['a', 'b'], 1, { a: { b: 1 } }],
  ['a name that every object has', {}, ['constructor'], 1, { constructor: 1 } as unknown as JsonObject],
];

it.each(CASES)('sets %s', (_, before, path, value, after) => {
  const given = structuredClone(before);
  expect(setAt(draft(given), path, value).value).toEqual(after);
  expect(given).toEqual(before);
});

it('keeps the order of names', () => {
  expect(Object.keys(setAt(draft({ b: 1, a: 2 }), ['b'], 3).value)).toEqual(['b', 'a']);
});

it('reads back what it set, and leaves the rest', () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), leaf), fc.string(), leaf, (value, name, json) => {
      fc.pre(name !== '__proto__' && !Object.hasOwn(value, '__proto__'));
      const after = setAt(draft(value), [name], json).value;
      expect(valueAt(after, [name])).toEqual(json);
      for (const other of Object.keys(value)) if (other !== name) expect(after[other]).toEqual(value[other]);
    }),
  );
});

it('keeps what is half typed in later items of a list with them when an item goes', () => {
  const half = { text: '1e', problem: 'has to be a number' };
  const value = { list: [{ n: 1 }, { n: 2 }, { n: 3 }], other: [0, 1] };
  const texts = {
    '/list/0/n': half,
    '/list/1/n': half,
    '/list/2/n': { ...half, text: '2e' },
    '/other/1': half,
  };
  expect(setAt({ value, texts }, ['list', 1], undefined)).toEqual({
    value: { list: [{ n: 1 }, { n: 3 }], other: [0, 1] },
    texts: { '/list/0/n': half, '/list/1/n': { ...half, text: '2e' }, '/other/1': half },
  });
});

it('puts an earlier value back with what is half typed in it, also at another place', () => {
  const half = { text: '1e', problem: 'has to be a number' };
  const value = { list: [{ pay: { n: 1 } }, { pay: { n: 2 } }], pays: 0 };
  const before = { value, texts: { '/list/1/pay/n': half, '/list/0/pay/n': half, '/pays': half } };
  const other = setAt(before, ['list', 1, 'pay'], null);
  expect(putBack(other, ['list', 1, 'pay'], [before, ['list', 1, 'pay']])).toEqual(before);
  const gone = setAt(other, ['list', 0], undefined);
  expect(putBack(gone, ['list', 0, 'pay'], [before, ['list', 1, 'pay']])).toEqual({
    value: { list: [{ pay: { n: 2 } }], pays: 0 },
    texts: { '/list/0/pay/n': half, '/pays': half },
  });
});

it('puts the whole back', () => {
  const before = draft({ a: 1 }, { '/a': half('1e') });
  expect(putBack(draft({ b: 1 }, { '/b': half('x') }), [], [before, []])).toEqual(before);
});

describe('typing JSON', () => {
  it('takes it when it is JSON', () => {
    expect(setText(draft({ a: 1 }, { '/a': half('{') }), ['a'], '{"b":2}')).toEqual(draft({ a: { b: 2 } }));
  });

  it('keeps the last good value and says so until then', () => {
    const typed = setText(draft({ a: 1 }), ['a'], '{"b":');
    expect(typed).toEqual(draft({ a: 1 }, { '/a': half('{"b":', expect.stringContaining('not JSON')) }));
    expect(issuesOf(typed, undefined)).toEqual([
      { path: '/a', message: expect.stringContaining('this is not JSON') },
    ]);
  });

  it('wants an object as the whole', () => {
    const typed = setText(draft({ a: 1 }), [], '[1]');
    expect(issuesOf(typed, undefined)).toEqual([{ path: '', message: 'has to be an object' }]);
  });

  it('forgets what was typed below a place that gets another value', () => {
    const typed = draft({ a: { b: 1 } }, { '/a/b': half('{'), '/ab': half('{') });
    expect(setAt(typed, ['a'], 1).texts).toEqual({ '/ab': half('{') });
  });

  it.each([
    ['nothing', '', /not JSON/],
    ['half of it', '{', /not JSON/],
    ['a number that is too large', '[1e999]', /^\/0: this number is too large/],
    ['a number that would become another', '{"b":9007199254740993}', /^\/b: .* become 9007199254740992;/],
    ['such a number alone', '9007199254740993', /would become 9007199254740992/],
    ['a key __proto__', '{"__proto__":1}', /^\/__proto__: .*not allowed/],
    ['a key that is there twice', '{"b":{"c":1,"c":2}}', /^\/b\/c: .*twice/],
    ['half a character', '"\\ud800"', /half a character/],
    ['200 levels', '['.repeat(200) + ']'.repeat(200), /64 levels/],
  ])('refuses %s and says why, at its field', (_what, text, message) => {
    const typed = setText(draft({ a: 1 }), ['a'], text);
    expect(typed.value).toEqual({ a: 1 });
    expect(issuesOf(typed, undefined)).toEqual([{ path: '/a', message: expect.stringMatching(message) }]);
  });
});

describe('typing a number', () => {
  it('takes one that stays what was typed', () => {
    expect(setNumber(draft({ a: 1 }, { '/a': half('9007199254740993') }), ['a'], '2.50')).toEqual(
      draft({ a: 2.5 }),
    );
  });

  it('keeps the last good value beside one that would become another, and says so', () => {
    const typed = setNumber(draft({ a: 1 }), ['a'], '0.1000000000000000055');
    expect(typed.value).toEqual({ a: 1 });
    expect(typed.texts['/a']?.text).toBe('0.1000000000000000055');
    expect(issuesOf(typed, undefined)).toEqual([
      { path: '/a', message: 'cannot be kept exactly as a number' },
    ]);
  });

  it.each([
    ['', 'has to be a number'],
    ['12a', 'has to be a number'],
    ['12,5', 'has to be a number with a point: 12.5'],
  ])('says of %j that it %s', (text, message) => {
    const typed = setNumber(draft({ a: 1 }), ['a'], text);
    expect(typed.value).toEqual({ a: 1 });
    expect(issuesOf(typed, undefined)).toEqual([{ path: '/a', message }]);
  });
});

it.each([
  [[], ''],
  [['a', 0], '/a/0'],
  [['größe \ud800'], '/größe \ud800'],
  [['a/b', '~', 'x y'], '/a~1b/~0/x y'],
])('the pointer of %j is %j', (path, pointer) => {
  expect(pointerOf(path)).toBe(pointer);
});

describe('mistakes', () => {
  const schema = {
    type: 'object',
    required: ['order', 'lines'],
    additionalProperties: false,
    properties: {
      order: { type: 'string' },
      amount: { type: 'number', maximum: 500 },
      'größe x': { type: 'integer' },
      lines: {
        type: 'array',
        items: { type: 'object', required: ['a/b'], properties: { 'a/b': { type: 'integer' } } },
      },
    },
  };

  it.each([
    ['a number that is none', { order: '1', lines: [], amount: '12a' }, ['amount'], 1],
    ['a number that is too large', { order: '1', lines: [], amount: 900 }, ['amount'], 1],
    ['a wrong field of another name', { order: '1', lines: [], 'größe x': 'y' }, ['größe x'], 1],
    ['a missing field', { lines: [] }, ['order'], 1],
    ['a missing field of an item', { order: '1', lines: [{}] }, ['lines', 0, 'a/b'], 1],
    ['a wrong field of an item', { order: '1', lines: [{ 'a/b': 'x' }] }, ['lines', 0, 'a/b'], 1],
    ['nothing', { order: '1', lines: [] }, [], 0],
  ])('are shown at their field: %s', (_, value, path, count) => {
    const issues = issuesOf(draft(JSON.parse(JSON.stringify(value))), schema);
    expect(issuesAt(issues, path).length).toBe(count);
    expect(issues.length === 0).toBe(count === 0);
  });

  it('leave others as they are', () => {
    const other = [{ path: '/a', message: 'is too long' }];
    expect(fieldIssues(other)).toEqual(other);
  });

  const card: JsonObject = {
    type: 'object',
    required: ['type', 'number'],
    properties: { type: { const: 'card' }, number: { type: 'string', minLength: 4 } },
  };
  const bank: JsonObject = {
    type: 'object',
    required: ['type', 'iban', 'bic'],
    properties: { type: { const: 'bank' }, iban: { type: 'string' }, bic: { type: 'string' } },
  };
  const wide: JsonObject = {
    type: 'object',
    required: ['day', 'mail', 'pay', 'note', 'parts', 'x y'],
    properties: {
      day: { type: 'string', format: 'date', pattern: '^\\d{4}-\\d\\d-\\d\\d$' },
      mail: { type: 'string', format: 'email', pattern: '^[a-z]+@[a-z.]+$' },
      pay: { oneOf: [card, bank] },
      note: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
      parts: { type: 'array', items: { anyOf: [card, { $ref: '#/$defs/count' }] } },
      'x y': { type: ['integer', 'null'] },
      whole: { enum: ['a', 'b'] },
    },
    $defs: { count: { type: 'integer', minimum: 1 } },
  };

  it('are one a field, in plain words, of the kind that the value is', () => {
    const value = {
      ...{ day: '22.11.', mail: 'a', pay: { type: 'card', number: '4' }, note: 'long' },
      ...{ parts: [0, { type: 'card', number: '' }, 5], 'x y': 'z', whole: 'c' },
    };
    expect(issuesOf(draft(value), wide)).toEqual([
      { path: '/day', message: 'has to be a date, such as 2026-11-22' },
      { path: '/mail', message: 'has to be an e-mail address' },
      { path: '/pay/number', message: 'is too short: 1 of at least 4 characters' },
      { path: '/note', message: 'is too long: 4 of at most 3 characters' },
      { path: '/parts/0', message: '0 is less than 1.' },
      { path: '/parts/1/number', message: 'must not be empty' },
      { path: '/x y', message: 'has to be a whole number or nothing' },
      { path: '/whole', message: 'has to be one of "a","b"' },
    ]);
  });

  it('of a value that is none of the kinds are one', () => {
    const value = { day: '2026-11-22', mail: 'a@b.c', pay: true, note: null, parts: [], 'x y': null };
    expect(issuesOf(draft(value), wide)).toEqual([
      { path: '/pay', message: expect.stringContaining('exactly one') },
    ]);
    expect(issuesOf(draft({ ...value, pay: { type: 'bank', iban: '', bic: '' } }), wide)).toEqual([]);
  });

  it('below a value that is edited as JSON name where they are', () => {
    const issues = [
      { path: '/a/b/0', message: 'x' },
      { path: '/ab', message: 'y' },
      { path: '/a', message: 'z' },
    ];
    expect(issuesWithin(issues, ['a'])).toEqual([
      { path: '/b/0', message: 'x' },
      { path: '', message: 'z' },
    ]);
  });
});

it.each([
  ['nothing', draft({ a: 1 }), false],
  ['a value', draft({ a: 2 }), true],
  ['half a value', draft({ a: 1 }, { '/a': half('2x') }), true],
])('tells whether %s was typed', (_, typed, expected) => {
  expect(isChanged(typed, { a: 1 })).toBe(expected);
});
