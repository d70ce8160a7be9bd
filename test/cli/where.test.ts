import fc from 'fast-check';
import { type Facts, isTrueOf, parseWhere } from '../../src/cli/where';

const facts: Facts = {
  args: {
    amount: 10,
    to: 'ann@example.org',
    list: ['a', 3, null, { deep: true }],
    'odd name': 'x',
    'a-b': 1,
    nothing: null,
    yes: true,
    text: '10',
    a: { b: { c: -1.5 } },
  },
  tool: 'pay',
  agent: 'clerk',
  turn: 't-1',
  age: 600_000,
};
const holds = (where: string): boolean => isTrueOf(parseWhere(where), facts);

describe('a condition', () => {
  it.each([
    'args.amount<50',
    'args.amount == 10',
    'args.amount >= 10 and args.amount <= 10',
    'args.a.b.c < -1',
    'args.amount != 11',
    `args.to contains 'example'`,
    `args.to == "ann@example.org"`,
    `args.list contains "a"`,
    'args.list contains 3',
    'args.list.0 == "a"',
    'args.list[1] == 3',
    'args.list.3.deep',
    'args["odd name"] == "x"',
    'args.a-b == 1',
    'args.nothing == null',
    'args.to != null',
    'args.yes',
    'not args.amount > 10',
    '!(args.amount > 10)',
    'tool == "pay" && agent == "clerk" || turn == "x"',
    'false or true and true',
    'age > 5m',
    'age >= 10m and age < 0.5h',
    'age < 1d and age > 599s and age == 600000ms',
    `tool < "q"`,
    '50 > args.amount',
    'true',
    `"it's" contains "'"`,
    `'a\\'b' == "a'b"`,
  ])('%s is true', (where) => {
    expect(holds(where)).toBe(true);
  });

  it.each([
    'args.amount < 10',
    'args.amount == "10"',
    'args.text == 10',
    'args.text < 50',
    'args.missing < 50',
    'args.missing == null',
    'args.to contains "evil"',
    'args.list contains "3"',
    'args.yes == 1',
    'args.to',
    'args.amount',
    'tool == "PAY"',
    'false',
    'true and false',
  ])('%s is not', (where) => {
    expect(holds(where)).toBe(false);
  });

  it.each([
    'args.missing < 50',
    'args.missing >= 50',
    'args.text < 50',
    'args.constructor == "x"',
    'args.__proto__ == null',
    'args.list.length > 0',
    'args.to.length > 0',
    'args.a == args.a',
    'args.amount contains 1',
    'args.amount',
  ])('%s cannot be compared, and its opposite is not true either', (where) => {
    expect(holds(where)).toBe(false);
    expect(holds(`not (${where})`)).toBe(false);
    expect(holds(`(${where}) and true`)).toBe(false);
    expect(holds(`(${where}) or true`)).toBe(true);
  });

  it('binds not closer than and, and and closer than or', () => {
    expect(holds('not false and false')).toBe(false);
    expect(holds('true or false and false')).toBe(true);
    expect(holds('(true or false) and false')).toBe(false);
  });
});

describe('what cannot be read', () => {
  it.each<[string, RegExp, number]>([
    ['', /it ends where a path or a value/, 0],
    ['args.amount <', /it ends where a path or a value/, 13],
    ['amount < 5', /'amount' is not known; paths begin with args/, 0],
    ['args.amount = 5', /'=' means nothing here/, 12],
    ['args.amount < 5 args', /there is 'args' where the end/, 16],
    ['(args.amount < 5', /it ends where `\)`/, 16],
    ['args. < 5', /there is '<' where a part of a path/, 6],
    ['args[x] == 1', /there is 'x' where a part of a path/, 5],
    ['args.a == "open', /'"' means nothing here/, 10],
    ['process.exit()', /'process' is not known/, 0],
    ['args.a == 1; 2', /';' means nothing here/, 11],
    ['args.a == 5x', /'5' means nothing here/, 10],
    ['args.order == 9007199254740993', /this number would become 9007199254740992/, 14],
    ['not '.repeat(200) + 'true', /fewer levels/, 200],
  ])('%j', (where, message, at) => {
    const read = (): unknown => parseWhere(where);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ code: 'usage', hint: expect.any(String) }));
    expect(read).toThrow(`\n  ${' '.repeat(at)}^`);
  });

  it('is refused, and never anything else, whatever it is', () => {
    const words = fc.constantFrom(
      'args',
      '.',
      'a',
      '<',
      '==',
      '5',
      '10m',
      '"x"',
      'and',
      'or',
      'not',
      '(',
      ')',
      '[',
      ']',
      ' ',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(words).map((all) => all.join(' ')),
        ),
        (where) => {
          try {
            expect(typeof holds(where)).toBe('boolean');
          } catch (error) {
            expect(error).toMatchObject({ code: 'usage' });
          }
        },
      ),
    );
  });
});

it('compares numbers as JavaScript does, and text by code points', () => {
  const by = fc.constantFrom('<', '<=', '>', '>=', '==', '!=');
  fc.assert(
    fc.property(fc.integer(), fc.integer(), by, (left, right, sign) => {
      const expected = {
        '<': left < right,
        '<=': left <= right,
        '>': left > right,
        '>=': left >= right,
        '==': left === right,
        '!=': left !== right,
      };
      expect(isTrueOf(parseWhere(`args.n ${sign} ${right}`), { ...facts, args: { n: left } })).toBe(
        expected[sign],
      );
    }),
  );
});
