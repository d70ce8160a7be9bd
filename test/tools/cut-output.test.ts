import fc from 'fast-check';
import { cutOutput } from '../../src/tools/cut-output';
import { createPartialOutput } from '../../src/tools/partial-output';

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
