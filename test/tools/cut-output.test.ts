import fc from 'fast-check';
import { createCapture, createPartialOutput, cutOutput } from '../../src/tools/cut-output';

const MARK = /\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n/;

it('leaves alone what fits exactly', () => {
  expect(cutOutput('é'.repeat(100), 200)).toBe('é'.repeat(100));
});

it('keeps head and tail, and counts what is between', () => {
  const cut = cutOutput(`HEAD${'x'.repeat(1000)}TAIL`, 200);
  expect(cut).toMatch(/^HEADx+\n\[\.\.\. \d+ bytes left out \.\.\.\]\nx+TAIL$/);
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(200);
});

it('says only the mark where there is no room for more', () => {
  expect(cutOutput('x'.repeat(100), 5)).toBe('\n[... 100 bytes left out ...]\n');
});

it('holds the limit, splits no character, and its count is right', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\n'), minLength: 0, maxLength: 300 });
  fc.assert(
    fc.property(text, fc.integer({ min: 64, max: 400 }), (given, limit) => {
      const cut = cutOutput(given, limit);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
      expect(cut).not.toMatch(/\p{Surrogate}|\ufffd/u);
      const mark = MARK.exec(cut);
      if (mark === null) return expect(cut).toBe(given);
      const [head = '', , tail = ''] = cut.split(MARK);
      expect(given.startsWith(head) && given.endsWith(tail)).toBe(true);
      return expect(Buffer.byteLength(head + tail) + Number(mark[1])).toBe(Buffer.byteLength(given));
    }),
  );
});

describe('partial output', () => {
  it.each<[string, string[]]>([
    ['nothing', []],
    ['one piece', ['abc']],
    ['empty pieces', ['', 'a', '']],
  ])('%s stays as it is', (_, pieces) => {
    const partial = createPartialOutput(200);
    for (const piece of pieces) partial.add(piece);
    expect(partial.text()).toBe(pieces.join(''));
  });

  it('is what cutting the whole would give, whatever the pieces', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary-ascii', maxLength: 200 }), { maxLength: 30 }),
        (pieces) => {
          const partial = createPartialOutput(150);
          for (const piece of pieces) partial.add(piece);
          const whole = cutOutput(pieces.join(''), 150);
          const [head, , tail] = whole.split(MARK);
          const [partialHead, , partialTail] = partial.text().split(MARK);
          expect([partialHead, partialTail, MARK.exec(partial.text())?.[1]]).toEqual([
            head,
            tail,
            MARK.exec(whole)?.[1],
          ]);
        },
      ),
    );
  });
});

describe('the captured output of a command', () => {
  function captured(chunks: readonly Uint8Array[], limit: number): string {
    const capture = createCapture(limit);
    for (const chunk of chunks) capture.add(Buffer.from(chunk));
    return capture.text();
  }

  it.each([
    ['nothing', [], 1000, ''],
    ['a character cut by a chunk', [[0xc3], [0xa9]], 1000, 'é'],
    ['NUL and escapes', [[0x1b, 0x5b, 0x32, 0x4a, 0]], 1000, '\u001b[2J\0'],
  ])('keeps %s', (...[, chunks, limit, text]) => {
    expect(
      captured(
        chunks.map((chunk) => Uint8Array.from(chunk)),
        limit,
      ),
    ).toBe(text);
  });

  it('says that bytes are no text', () => {
    const text = captured([Uint8Array.from([0x61, 0xff, 0x62])], 1000);
    expect(text).toMatch(/^\[the output is not UTF-8/);
    expect(text).toMatch(/a\ufffdb$/);
  });

  it('keeps head and tail within the limit, cuts no character, and counts what is left out', () => {
    const piece = fc
      .constantFrom('a', 'é', '€', '📁', '\n')
      .chain((unit) => fc.integer({ min: 1, max: 400 }).map((times) => unit.repeat(times)));
    const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.array(piece, { minLength: 1, maxLength: 8 }),
        sizes,
        fc.integer({ min: 256, max: 2000 }),
        (pieces, steps, limit) => {
          const whole = Buffer.from(pieces.join(''));
          const text = captured(chunksOf(whole, steps), limit);
          const cut = /\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n/.exec(text);
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
          expect(text).not.toContain('\ufffd');
          if (cut === null) return expect(text).toBe(whole.toString());
          const kept = Buffer.byteLength(text) - Buffer.byteLength(cut[0]);
          expect(kept + Number(cut[1])).toBe(whole.length);
          expect(whole.toString().startsWith(text.slice(0, cut.index))).toBe(true);
          expect(whole.toString().endsWith(text.slice(cut.index + cut[0].length))).toBe(true);
        },
      ),
    );
  });

  function chunksOf(bytes: Buffer, sizes: readonly number[]): Buffer[] {
    const chunks: Buffer[] = [];
    for (let at = 0, turn = 0; at < bytes.length; turn++) {
      const size = sizes[turn % sizes.length] ?? 1;
      chunks.push(bytes.subarray(at, at + size));
      at += size;
    }
    return chunks;
  }
});
