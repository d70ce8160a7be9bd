import fc from 'fast-check';
import { documentOf, draftOf, readDocument } from '../../../src/cli/review/changed';

const subject = ['t-1/1.1', 'pay'] as const;

describe('the file', () => {
  it('holds the arguments under a head that says what to do', () => {
    expect(documentOf(draftOf({ amount: 10 }), ...subject)).toBe(
      [
        '// Arguments of pay, t-1/1.1. Lines that start with // are left out.',
        '// Save and close to go on. To give up, leave the file as it is, or empty: nothing is decided then.',
        '{',
        '  "amount": 10',
        '}',
        '',
      ].join('\n'),
    );
  });

  it('says what did not fit, and keeps what was typed', () => {
    const issues = [
      { path: '/amount', message: 'must be at most 100\x1b[2J' },
      { path: '', message: 'no' },
    ];
    const text = documentOf({ body: '{"amount": 1000}\n', issues }, ...subject);
    expect(text).toContain(
      '// This does not fit:\n//   /amount: must be at most 100\\x1b[2J\n//   (all): no\n',
    );
    expect(text).toMatch(/\n\{"amount": 1000\}\n$/);
  });

  it('hides nothing', () => {
    expect(draftOf({ to: 'a\u202eb' }).body).toContain('"a\\u202eb"');
  });
});

describe('what is left in it', () => {
  it.each<[string, string, object]>([
    ['arguments', '// x\n{"a": 1}\n', { outcome: 'arguments', arguments: { a: 1 } }],
    [
      'a comment among them',
      '{\n  // why\n  "a": "// not one"\n}',
      { outcome: 'arguments', arguments: { a: '// not one' } },
    ],
    ['nothing', '', { outcome: 'empty' }],
    ['comments alone', '// x\n\n  // y\n', { outcome: 'empty' }],
  ])('%s', (_name, text, expected) => {
    expect(readDocument(text)).toMatchObject(expected);
  });

  it.each([
    ['no JSON', '{"a": }', '', /not JSON/],
    ['a list', '[1]', '', /one object/],
    ['null', 'null', '', /one object/],
    ['a number that is too large', '{"a": 1e999}', '/a', /too large/],
    ['a number that would become another', '{"a": [9007199254740993]}', '/a/0', /become 9007199254740992;/],
    ['a name that is there twice', '{"a": 1, "a": 2}', '/a', /twice/],
    ['a name that is a trap', '{"__proto__": {}}', '/__proto__', /not allowed/],
    ['half a character', '{"a": "\\udc00"}', '/a', /half a character/],
  ])('%s is shown with its place, and what was typed is kept', (_name, text, path, message) => {
    const edited = readDocument(`// old\n${text}`);
    expect(edited).toMatchObject({
      outcome: 'wrong',
      draft: { body: text, issues: [{ path, message: expect.stringMatching(message) }] },
    });
  });

  it('is what was given, whatever the arguments are', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string().filter((key) => key !== '__proto__'),
          fc.jsonValue(),
        ),
        (value) => {
          const args = JSON.parse(JSON.stringify(value));
          expect(readDocument(documentOf(draftOf(args), ...subject))).toMatchObject({
            outcome: 'arguments',
            arguments: args,
          });
        },
      ),
    );
  });
});
