import fc from 'fast-check';
import type * as Bytes from '../../../src/contract/text/bytes';
import { isWellFormed, limitText, utf8Bytes, wellFormed } from '../../../src/contract/text/bytes';

/** As a workflow and the page have it: without Buffer. */
function countedByHand(): (text: string) => number {
  const { Buffer: kept } = globalThis;
  Reflect.deleteProperty(globalThis, 'Buffer');
  try {
    let loaded: typeof Bytes | undefined;
    jest.isolateModules(
      () => (loaded = jest.requireActual<typeof Bytes>('../../../src/contract/text/bytes')),
    );
    if (loaded === undefined) throw new Error('not loaded');
    return loaded.utf8Bytes;
  } finally {
    globalThis.Buffer = kept;
  }
}

test.each([
  ['', 0],
  ['a', 1],
  ['ä', 2],
  ['€', 3],
  ['😀', 4],
  ['half a pair: \ud83d', 16],
  ['\ude00\ud83d', 6],
  ['\ud83da', 4],
])('%j has %i bytes, with Buffer and without', (text, bytes) => {
  expect([utf8Bytes(text), countedByHand()(text)]).toEqual([bytes, bytes]);
});

test('both count the same for any text, halves of pairs included', () => {
  const byHand = countedByHand();
  const unit = fc.oneof(fc.integer({ max: 0xff_ff, min: 0 }), fc.integer({ max: 0xdf_ff, min: 0xd8_00 }));
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = String.fromCharCode(...units);
      expect(byHand(text)).toBe(utf8Bytes(text));
      expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
    }),
  );
});

test.each([
  ['plain', 'plain'],
  ['a pair: 😀', 'a pair: 😀'],
  ['half a pair: \ud83d', 'half a pair: \ufffd'],
  ['\ude00\ud83d', '\ufffd\ufffd'],
])('%j is %j as UTF-8', (text, formed) => {
  expect(wellFormed(text)).toBe(formed);
  expect(isWellFormed(text)).toBe(text === formed);
});

test.each([
  [1024 * 1024, '1 MiB'],
  [10 * 1024 * 1024, '10 MiB'],
  [1024 * 1024 + 16 * 1024, '1040 KiB'],
  [64 * 1024, '64 KiB'],
])('a limit of %i bytes is %s', (bytes, text) => {
  expect(limitText(bytes)).toBe(text);
});
