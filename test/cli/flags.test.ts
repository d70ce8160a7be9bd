import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import fc from 'fast-check';
import { readArguments, readCount, readMoment, readText, readTime } from '../../src/cli/flags';
import { readWhere } from '../../src/cli/batch';

type WhereFacts = Parameters<Awaited<ReturnType<typeof readWhere>>>[0];

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'countersign-cli-'));
  writeFileSync(join(directory, 'args.json'), '{"path": "ü.txt"}\n');
  writeFileSync(join(directory, 'broken.json'), '{"path": ');
  writeFileSync(join(directory, 'latin.json'), Buffer.from('{"path": "ü"}', 'latin1'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const usage = expect.objectContaining({ code: 'usage' });
const noInput = { keyboard: undefined };
const piped = (...chunks: (string | Buffer)[]) => ({
  keyboard: { input: Readable.from(chunks), output: new Writable() },
});

describe('text', () => {
  it('is itself, or what a file holds', async () => {
    await expect(readText('a@b', '--content', noInput)).resolves.toBe('a@b');
    await expect(readText(`@${join(directory, 'args.json')}`, '--content', noInput)).resolves.toBe(
      '{"path": "ü.txt"}\n',
    );
  });

  it('is what is piped in, however that is cut', async () => {
    const bytes = Buffer.from('ü.txt');
    const cut = piped(bytes.subarray(0, 1), bytes.subarray(1));
    await expect(readText('@-', '--content', cut)).resolves.toBe('ü.txt');
    await expect(readText('@-', '--content', noInput)).resolves.toBe('');
  });

  it.each(['@no-such-file', '@', '@.'])('from %s is a mistake that names the option', async (value) => {
    await expect(readText(value, '--content', noInput)).rejects.toThrow(usage);
    await expect(readText(value, '--content', noInput)).rejects.toThrow(`--content ${value}`);
  });
});

describe('arguments', () => {
  it('are an object, written or in a file', async () => {
    await expect(readArguments('{"a":1}', noInput)).resolves.toEqual({ a: 1 });
    await expect(readArguments(`@${join(directory, 'args.json')}`, noInput)).resolves.toEqual({
      path: 'ü.txt',
    });
  });

  it.each(['', '{', '[]', 'null', '3', '"a"', '{"a":1} x'])('refuses %j', async (text) => {
    await expect(readArguments(text, noInput)).rejects.toThrow(usage);
  });

  it.each([
    ['a number that would become another', '{"a":{"id":9007199254740993}}', /\/a\/id: .* 9007199254740992/],
    ['a key that is there twice', '{"a":1,"a":2}', /\/a: .*twice/],
    ['half a character', '{"a":"\\ud83d"}', /\/a: .*half a character/],
  ])('refuses %s and names the place', async (_what, text, message) => {
    await expect(readArguments(text, noInput)).rejects.toThrow(message);
  });

  it('refuses a file that is not JSON, and one that is not UTF-8', async () => {
    await expect(readArguments(`@${join(directory, 'broken.json')}`, noInput)).rejects.toThrow(/not JSON/);
    await expect(readArguments(`@${join(directory, 'latin.json')}`, noInput)).rejects.toThrow(/not UTF-8/);
  });
});

describe('times and counts', () => {
  it.each([
    ['30s', 30_000],
    ['5m', 300_000],
    ['10', 10_000],
    ['0', 0],
    ['2 hours', 7_200_000],
  ])('%s is %d ms', (text, ms) => {
    expect(readTime(text, '--wait')).toBe(ms);
  });

  it.each(['', 'soon', '-5s', '99 years', '1s1'])('refuses the time %j', (text) => {
    expect(() => readTime(text, '--wait')).toThrow(usage);
  });

  it.each(['', '0', '-1', '1.5', 'x', '1e3', '99999999999999999999'])('refuses the count %j', (text) => {
    expect(() => readCount(text, '--limit')).toThrow(usage);
  });

  it('takes a count', () => {
    expect(readCount('20', '--limit')).toBe(20);
  });
});

describe('moments', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');

  it.each([
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T08:30:00Z', '2026-11-20T08:30:00.000Z'],
    ['2026-11-20T08:30:00.5+01:00', '2026-11-20T07:30:00.500Z'],
    ['24h', '2026-11-20T12:00:00.000Z'],
    ['7d', '2026-11-14T12:00:00.000Z'],
    ['7 days', '2026-11-14T12:00:00.000Z'],
  ])('%s is %s', (text, moment) => {
    expect(readMoment(text, '--since', now)).toBe(moment);
  });

  it.each([
    '',
    'yesterday',
    '7',
    '2026',
    '2026-13-01',
    '2026-11-20 ',
    '12x',
    '-1d',
    '99 years',
    "2026-01-01' OR '1",
  ])('refuses %j', (text) => {
    expect(() => readMoment(text, '--since', now)).toThrow(usage);
  });
});

const facts: WhereFacts = {
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
const holds = async (where: string): Promise<boolean> => (await readWhere(where))(facts);

describe('a condition', () => {
  it.each([
    'args.amount<50',
    'args.amount == 10',
    'args.amount >= 10 && args.amount <= 10',
    'args.amount + 1 == 11',
    'args.a.b.c < -1.0',
    'args.amount != 11',
    `args.to.contains('example')`,
    `args.to == "ann@example.org"`,
    `args.to.matches('^ann@')`,
    `"a" in args.list`,
    '3 in args.list',
    'args.list[0] == "a"',
    'args.list[3].deep',
    'args["odd name"] == "x"',
    'args["a-b"] == 1',
    'args.nothing == null',
    'args.yes',
    '!(args.amount > 10)',
    'tool == "pay" && agent == "clerk" || turn == "x"',
    `age > duration('5m')`,
    `age >= duration('10m') && age < duration('0.5h')`,
    'has(args.amount) && !has(args.missing)',
    'args.missing < 50 || true',
    'true',
  ])('%s is true', async (where) => {
    expect(await holds(where)).toBe(true);
  });

  it.each([
    'args.amount < 10',
    'args.amount == "10"',
    'args.missing == null',
    `args.to.contains('evil')`,
    '"3" in args.list',
    'args.yes == 1',
    'tool == "PAY"',
    'false',
    'true && false',
  ])('%s is not', async (where) => {
    expect(await holds(where)).toBe(false);
  });

  it.each([
    'args.missing < 50',
    'args.missing >= 50',
    'args.text < 50',
    'args.constructor == "x"',
    'args.__proto__ == null',
    'args.list.length > 0',
    'args.amount',
    'args.to',
    'args.amount.contains("1")',
  ])('%s cannot be worked out, and its opposite is not true either', async (where) => {
    expect(await holds(where)).toBe(false);
    expect(await holds(`!(${where})`)).toBe(false);
    expect(await holds(`(${where}) && true`)).toBe(false);
    expect(await holds(`(${where}) || true`)).toBe(true);
  });

  it('goes by the schema, where there is one', async () => {
    const where = await readWhere('args.amount / 4 == 2');
    const of = (type: string): boolean =>
      where({ ...facts, schema: { type: 'object', properties: { amount: { type } } } });
    expect([of('integer'), of('number')]).toEqual([true, false]);
  });
});

describe('a condition that cannot be read', () => {
  it.each<[string, RegExp, number]>([
    ['args.amount <', /there is < where that cannot be/, 12],
    ['amount < 5', /'amount' is not known; there are args/, 0],
    ['args.amount = 5', /there is = where that cannot be/, 12],
    ['args.amount < 5 and true', /there is a where that cannot be/, 16],
    ['process.exit()', /there is no function 'exit'/, 0],
    ['safety == "safe"', /'safety' is not known/, 0],
  ])('%j', async (where, message, at) => {
    const read = readWhere(where);
    await expect(read).rejects.toThrow(message);
    await expect(read).rejects.toMatchObject({ code: 'usage', hint: expect.any(String) });
    await expect(read).rejects.toThrow(`\n  ${' '.repeat(at)}^`);
  });

  it('is refused, and never anything else, whatever it is', async () => {
    const words = ['args', '.', 'a', '<', '==', '5', '"x"', '&&', '||', '!', '(', ')', '[', ']', ' '];
    const text = fc.array(fc.constantFrom(...words)).map((all) => all.join(' '));
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), text), async (where) => {
        try {
          expect(typeof (await holds(where))).toBe('boolean');
        } catch (error) {
          expect(error).toMatchObject({ code: 'usage' });
        }
      }),
    );
  });
});
