import fc from 'fast-check';
import { checkAnswer, toForm } from '../../../src/contract/schema/question-form';
import { fieldsOf } from '../../../src/contract/question';

const form = (properties: unknown, more: object = {}): unknown => ({ type: 'object', properties, ...more });
const one = (field: unknown): unknown => form({ a: field });
const issuesOf = (schema: unknown) => {
  const made = toForm(schema);
  return made.ok ? [] : made.issues;
};

it('keeps titles, defaults, formats and what is required, and refuses other fields', () => {
  const given = form(
    { mail: { type: 'string', format: 'email', title: 'Mail' }, n: { type: 'integer', default: 2 } },
    { required: ['mail'], title: 'Who', $schema: 'x', additionalProperties: true },
  );
  expect(toForm(given)).toEqual({
    ok: true,
    form: {
      type: 'object',
      properties: {
        mail: { type: 'string', format: 'email', title: 'Mail', maxLength: 2000 },
        n: { type: 'integer', default: 2 },
      },
      required: ['mail'],
      additionalProperties: false,
    },
  });
});

const many = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, { type: 'string' }]));

it.each<[what: string, schema: unknown, path: string]>([
  ['nothing', undefined, ''],
  ['a list', [], ''],
  ['no object', { type: 'string' }, ''],
  ['no fields', form({}), '/properties'],
  ['21 fields', form(many), '/properties'],
  ['more than 16,000 characters', one({ type: 'string', description: 'x'.repeat(17_000) }), ''],
  ['a root that refers elsewhere', form({ a: { type: 'string' } }, { $ref: '#' }), '/$ref'],
  ['a required field that is not there', form({ a: { type: 'string' } }, { required: ['b'] }), '/required'],
  ['a name with a blank', form({ 'a b': { type: 'string' } }), '/properties'],
  [
    'a name from the prototype',
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
    '',
  ],
  ['an object inside', one({ type: 'object' }), '/properties/a'],
  ['a list inside', one({ type: 'array' }), '/properties/a'],
  ['two types', one({ type: ['string', 'null'] }), '/properties/a'],
  ['a pattern', one({ type: 'string', pattern: '(a+)+$' }), '/properties/a/pattern'],
  ['an unknown format', one({ type: 'string', format: 'ipv4' }), '/properties/a/format'],
  ['a choice of nothing', one({ type: 'string', enum: [] }), '/properties/a/enum'],
  ['a choice twice', one({ type: 'string', enum: ['x', 'x'] }), '/properties/a/enum'],
  ['a choice of numbers', one({ type: 'string', enum: [1] }), '/properties/a/enum'],
  ['a title that is a number', one({ type: 'string', title: 1 }), '/properties/a/title'],
  ['lengths the wrong way', one({ type: 'string', minLength: 5, maxLength: 2 }), '/properties/a'],
  ['a length without end', one({ type: 'string', maxLength: 1e6 }), '/properties/a'],
  ['a minimum that is a text', one({ type: 'number', minimum: '1' }), '/properties/a/minimum'],
  ['a default that does not fit', one({ type: 'integer', default: 'x' }), '/properties/a/default'],
  [
    'a default that is no choice',
    one({ type: 'string', enum: ['x'], default: 'y' }),
    '/properties/a/default',
  ],
])('refuses %s, with its place', (_what, schema, path) => {
  expect(issuesOf(schema).map((issue) => issue.path)).toContain(path);
});

it.each([{ secret: true }, { format: 'password' }, { writeOnly: true }])(
  'refuses a field marked as secret by %j, and says where secrets are set',
  (mark) => {
    const [issue, ...others] = issuesOf(form({ a: { type: 'string', ...mark }, b: { type: 'string' } }));
    expect(issue).toEqual({ path: '/properties/a', message: expect.stringContaining('under `secrets`') });
    expect(others).toEqual([]);
  },
);

it('never throws, and makes a form that can be read whatever it is given', () => {
  fc.assert(
    fc.property(fc.anything(), fc.dictionary(fc.string(), fc.jsonValue()), (schema, properties) => {
      for (const made of [toForm(schema), toForm({ type: 'object', properties })])
        if (made.ok) expect(fieldsOf({ text: '', form: made.form }).length).toBeGreaterThan(0);
    }),
  );
});

it('fills in defaults and leaves what a person said', () => {
  const made = toForm(
    form({ a: { type: 'integer', default: 3 }, b: { type: 'boolean' } }, { required: ['b'] }),
  );
  if (!made.ok) throw new Error('no form');
  const asked = { text: '?', form: made.form };
  expect(checkAnswer(asked, { b: false })).toMatchObject({ content: { a: 3, b: false }, issues: [] });
  expect(checkAnswer(asked, { a: 4 })).toMatchObject({ content: { a: 4 }, issues: [{ path: '' }] });
});
