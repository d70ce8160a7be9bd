import fc from 'fast-check';
import { documentOf, draftOf, readDocument } from '../../../src/cli/edit/document';

const subject = { id: 't-1/1.1', tool: 'pay' };

describe('the file', () => {
  it('holds the arguments under a head that says what to do', () => {
    expect(documentOf(draftOf({ amount: 10 }), subject)).toBe(
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

  it('tells what did not fit, and keeps what was typed', () => {
    const issues = [
      { path: '/amount', message: 'must be at most 100\x1b[2J' },
      { path: '', message: 'no' },
    ];
    const text = documentOf({ body: '{"amount": 1000}\n', issues }, subject);
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
    ['no JSON', '{"a": }', /no JSON/],
    ['a list', '[1]', /one object/],
    ['null', 'null', /one object/],
    ['a number that JSON cannot carry', '{"a": 1e999}', /cannot carry/],
    ['a name that is a trap', '{"__proto__": {}}', /cannot carry/],
  ])('%s is told, and what was typed is kept', (_name, text, message) => {
    const edited = readDocument(`// old\n${text}`);
    expect(edited).toMatchObject({
      outcome: 'wrong',
      draft: { body: text, issues: [{ path: '', message: expect.stringMatching(message) }] },
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
          expect(readDocument(documentOf(draftOf(args), subject))).toMatchObject({
            outcome: 'arguments',
            arguments: args,
          });
        },
      ),
    );
  });
});
