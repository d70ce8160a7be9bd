import fc from 'fast-check';
import { CountersignError } from '../../src/contract/errors';
import { type AuditRecord, NO_HASH, SEALED_FIELDS } from '../../src/audit/format';
import { keyId } from '../../src/audit/file-key';
import { readLine, linesOfStream, wrongValue } from '../../src/audit/read';
import { continueChain, createExportedRuns, createVerifier } from '../../src/audit/chain';
import { fileOf, newKey, record, verifyLines } from './sample';
import { runs } from '../support/properties';
import { isThorough } from '../support/thorough';
import { sha256 } from '../../src/system/sha256';

const key = newKey();
const records = [1, 2, 3, 4, 5].map((event) => record(event));
const lines = fileOf(records, { key, heads: [2] });
const bytes = Buffer.from(`${lines.join('\n')}\n`);

/** Everything that checking a file does. */
const verifyBytes = async (file: Buffer): Promise<void> => {
  const verifier = createVerifier({ key: keyId(key) });
  const chunks = (async function* () {
    yield file;
  })();
  for await (const { lines: some, cut } of linesOfStream(chunks)) {
    for (const line of some) verifier.push(line);
    if (cut !== undefined) verifier.cut();
  }
  const { signed, records: all, head } = verifier.finish();
  if (signed < all || head === undefined) throw new CountersignError('audit_broken', 'some');
};

const thrownBy = (check: () => unknown): unknown => {
  try {
    check();
  } catch (error) {
    return error;
  }
  return undefined;
};

it('finds nothing wrong with a file as it was written', async () => {
  await expect(verifyBytes(bytes)).resolves.toBeUndefined();
  expect(verifyLines(lines)).toEqual({
    namespace: 'default',
    key: keyId(key),
    records: 5,
    signed: 5,
    redacted: 0,
    head: { n: 7, at: expect.any(String), hash: expect.any(String) },
    end: { next: 8, hash: expect.any(String) },
  });
});

it('finds every change of a single byte', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
      const changed = Buffer.from(bytes);
      changed[at] = ((changed[at] ?? 0) + by) % 256;
      await expect(verifyBytes(changed)).rejects.toMatchObject({
        code: 'audit_broken',
      });
    }),
    { numRuns: runs(2000) },
  );
});

/** A prime, so that it meets every place of a line. */
const STRIDE = isThorough ? 1 : 11;

it('finds every byte that is missing or doubled', async () => {
  for (let at = 0; at < bytes.length; at += STRIDE) {
    const without = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    const twice = Buffer.concat(
      [bytes.subarray(0, at), bytes.subarray(at)].toSpliced(1, 0, bytes.subarray(at, at + 1)),
    );
    for (const file of [without, twice]) {
      await expect(verifyBytes(file)).rejects.toMatchObject({ code: 'audit_broken' });
    }
  }
});

it('finds a file that ends early, wherever', async () => {
  const head = `${lines.slice(0, 4).join('\n')}\n`.length;
  for (let length = head % STRIDE; length < bytes.length; length += STRIDE) {
    const isAtHead = length === head;
    const verified = verifyBytes(bytes.subarray(0, length));
    // Up to a signed head a file is whole: only a head that was kept elsewhere tells that there was more.
    if (isAtHead) await expect(verified).resolves.toBeUndefined();
    else await expect(verified).rejects.toMatchObject({ code: 'audit_broken' });
  }
});

const without = (at: number): string[] => lines.toSpliced(at, 1);
const edit = (at: number, from: string, to: string): string[] =>
  lines.map((line, index) => (index === at ? line.replace(from, to) : line));
/** Changes a record and puts its own hash right. */
const forge = (at: number): string[] =>
  lines.map((line, index) => {
    if (index !== at) return line;
    const body = line.slice(0, line.indexOf(',"hash":"')).replace('approved', 'modified');
    return `${body},"hash":"${sha256(body)}${line.slice(line.indexOf('","open":'))}`;
  });

it.each([
  ['an edited fact', edit(4, 'approved', 'modified'), 4, 'its hash is not that of its content'],
  ['an edited value', edit(4, 'boss', 'chef'), 4, 'the value of approver is not what was sealed'],
  ['an edit with its hash put right', forge(4), 5, 'it does not follow the record before it'],
  ['an edited record that the head alone covers', forge(6), 7, 'it does not follow the record before it'],
  ['a file without its first line', lines.slice(1), 0, 'the records 0 to 0 are missing'],
  ['a record that is gone', without(2), 2, 'the records 2 to 2 are missing'],
  ['a head that is gone', without(3), 3, 'the records 3 to 3 are missing'],
  ['a record twice', lines.toSpliced(3, 0, lines[2] ?? ''), 3, 'record 2 is in its place'],
  [
    'two records that changed places',
    [lines[0], lines[2], lines[1]].map(String),
    1,
    'the records 1 to 1 are missing',
  ],
  ['a line of another file', fileOf(records).toSpliced(2, 1, lines[2] ?? ''), 2, 'it does not follow'],
  ['a line that is no record', lines.toSpliced(2, 1, '{"n":2}'), 2, 'it is not a record'],
  ['an empty line', lines.toSpliced(2, 0, ''), 2, 'it is not a record'],
  ['a value under another name', edit(4, '"open":{"approver"', '"open":{"prompt"'), 4, 'never sealed'],
])('names the first bad record of %s', (_what, file, index, reason) => {
  expect(thrownBy(() => verifyLines(file))).toMatchObject({
    code: 'audit_broken',
    data: { index, line: index + 1, reason: expect.stringContaining(reason) },
  });
});

it('finds a signature of another key in a file that names ours', () => {
  const other = fileOf(records, { key: newKey() });
  const forged = lines.toSpliced(7, 1, other.at(-1) ?? '');
  expect(thrownBy(() => verifyLines(forged))).toMatchObject({ code: 'audit_broken' });
});

it('finds a file that was written anew with another key only where ours is pinned', () => {
  const anew = fileOf(records.slice(1));
  expect(verifyLines(anew).signed).toBe(4);
  expect(thrownBy(() => verifyLines(anew, { key: keyId(key) }))).toMatchObject({
    code: 'audit_broken',
    data: { expected: keyId(key) },
  });
});

const headOf = (file: readonly string[]) => {
  const head = readLine(file.at(-1) ?? '');
  if (typeof head === 'string') throw new Error(head);
  return head;
};

describe('a head that was kept elsewhere', () => {
  it('is in a file that only grew', () => {
    expect(verifyLines(lines, { head: headOf(lines.slice(0, 4)) }).signed).toBe(5);
  });

  it('finds a file that was cut at an earlier head', () => {
    expect(thrownBy(() => verifyLines(lines.slice(0, 4), { head: headOf(lines) }))).toMatchObject({
      code: 'audit_broken',
      data: { index: 4, reason: expect.stringContaining('a head of record 7 was kept elsewhere') },
    });
  });

  it('finds another file of the same key and length', () => {
    const other = fileOf(
      records.map((one) => ({ ...one, at: '2026-11-21T13:00:00.000Z' })),
      { key, heads: [2] },
    );
    expect(thrownBy(() => verifyLines(other, { head: headOf(lines) }))).toMatchObject({
      code: 'audit_broken',
      data: { index: 7 },
    });
  });

  it('has to be signed itself', () => {
    const head = { ...headOf(lines), sig: '0'.repeat(128) };
    expect(thrownBy(() => verifyLines(lines, { head }))).toMatchObject({ code: 'audit_broken' });
  });
});

it.each([
  ['nothing', []],
  ['text', ['hello']],
  ['a later format', [String(lines[0]).replace('"format":1', '"format":2')].map((line) => rehash(line))],
  [
    'a key that is none',
    [String(lines[0]).replace(/"key":"\w+"/, '"key":"short"')].map((line) => rehash(line)),
  ],
])('refuses what starts with %s', (_what, file) => {
  expect(thrownBy(() => verifyLines(file))).toMatchObject({ code: 'audit_broken' });
});

function rehash(line: string): string {
  const body = line.slice(0, line.indexOf(',"hash":"'));
  return `${body},"hash":"${sha256(body)}","open":{}}`;
}

it('tells how much is not signed', () => {
  const open = fileOf(records, { key, heads: [2], end: false });
  expect(verifyLines(open)).toMatchObject({ records: 5, signed: 2 });
  expect(verifyLines(fileOf([], { end: false }))).toMatchObject({ records: 0, signed: 0 });
});

describe('writing a chain', () => {
  /** Text with everything that is hard to write down: quotes, controls, surrogates without their other half. */
  const text = fc.string({
    unit: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"', '\\', '\n', '\ud800', '\udfff', '\u007f', ']', '}'),
    ),
  });
  const facts = fc.dictionary(
    fc.constantFrom('call', 'tool', 'code', 'ms', 'success'),
    fc.oneof(text, fc.nat(), fc.boolean()),
  );
  const sealed = fc.dictionary(fc.constantFrom(...SEALED_FIELDS), text);
  const records: fc.Arbitrary<AuditRecord> = fc
    .record({ facts, sealed, turn: text, event: fc.nat() })
    .map((more) => record(1, more));

  it('writes ASCII in one line that reads back, whatever the text', () => {
    fc.assert(
      fc.property(records, (one) => {
        const line = continueChain({ next: 1, hash: NO_HASH }).append(one);
        expect(line).toMatch(/^[\x20-\x7e\x7f]*$/);
        const read = readLine(line);
        if (typeof read === 'string') throw new Error(read);
        expect(wrongValue(read)).toBeUndefined();
        expect(Object.fromEntries([...read.open].map(([name, pair]) => [name, JSON.parse(pair)[1]]))).toEqual(
          {
            ...one.sealed,
          },
        );
        const whole = JSON.parse(line);
        expect(whole).toMatchObject({ n: 1, type: one.type, turn: one.turn, event: one.event, ...one.facts });
        expect(JSON.stringify(JSON.parse(`${read.body}}`)).length).toBeLessThanOrEqual(read.body.length + 1);
      }),
    );
  });

  it('writes files that are whole, whatever the text', () => {
    fc.assert(
      fc.property(fc.array(records, { maxLength: 5 }), (some) => {
        expect(verifyLines(fileOf(some))).toMatchObject({ records: some.length, signed: some.length });
      }),
    );
  });

  it('hides equal values behind hashes that differ', () => {
    const [, one, two] = fileOf([record(1), record(2)]).map((line) => readLine(line));
    if (typeof one !== 'object' || typeof two !== 'object') throw new Error('no lines');
    expect(one.sealed.get('approver')).not.toBe(two.sealed.get('approver'));
  });

  it('never draws a salt twice', () => {
    const some = Array.from({ length: 3000 }, (_, event) => record(event));
    const salts = fileOf(some).flatMap((line) =>
      [...line.matchAll(/\["([0-9a-f]{32})"/g)].map(([, salt]) => salt),
    );
    expect(salts).toHaveLength(6000);
    expect(new Set(salts).size).toBe(6000);
  });

  describe('createKnown', () => {
    const noted = (...records: Parameters<typeof fileOf>[0]) => {
      const known = createExportedRuns();
      for (const text of fileOf(records)) {
        const line = readLine(text);
        if (typeof line !== 'string') known.note(line);
      }
      known.settle();
      return known;
    };

    it.each([
      ['a record that is there', record(5, { part: 1 }), true],
      ['one before it', record(4), true],
      ['an earlier part of the same event', record(5), true],
      ['the next part', record(5, { part: 2 }), false],
      ['a later event', record(6), false],
      ['an early event of another run', record(1, { run: 'run-2' }), false],
    ])('knows whether a file has %s', (_what, one, expected) => {
      expect(noted(record(5), record(5, { part: 1 })).take(one)).toBe(expected);
    });

    it('believes only what a head vouches for', () => {
      const known = noted(record(1));
      const later = readLine(fileOf([record(2)])[1] ?? '');
      if (typeof later !== 'string') known.note(later);
      expect(known.take(record(2))).toBe(false);
    });

    it('takes each record once', () => {
      const known = createExportedRuns();
      expect([known.take(record(1)), known.take(record(1)), known.take(record(2))]).toEqual([
        false,
        true,
        false,
      ]);
    });

    it.each([
      ['turn_ended', true],
      ['continued', true],
      ['outcome', false],
    ])('holds a run whose last record is %s for whole: %s', (type, expected) => {
      expect(noted(record(1), record(9, { type })).hasWhole('run-1')).toBe(expected);
    });
  });
});
