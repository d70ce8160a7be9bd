import fc from 'fast-check';
import {
  decodeText,
  encodeText,
  encodingOf,
  fromModel,
  hashBytes,
  isBinary,
} from '../../../src/tools/workspace/text';

it.each<[string, Buffer, string]>([
  ['ASCII', Buffer.from('a'), 'utf8'],
  ['UTF-8', Buffer.from('é'), 'utf8'],
  ['nothing', Buffer.alloc(0), 'utf8'],
  ['Latin-1', Buffer.from([0xe9]), 'latin1'],
])('%s is read as %s', (_, bytes, encoding) => {
  expect(encodingOf(bytes)).toBe(encoding);
});

it('reads and writes any bytes without a change', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (array) => {
      const bytes = Buffer.from(array);
      const encoding = encodingOf(bytes);
      expect(encodeText(decodeText(bytes, encoding), encoding)).toEqual(bytes);
    }),
  );
});

it('spells text of a model as UTF-8, also in a file that is not', () => {
  expect(fromModel('é', 'utf8')).toBe('é');
  expect(encodeText(fromModel('é', 'latin1'), 'latin1')).toEqual(Buffer.from('é', 'utf8'));
});

it('refuses half a character', () => {
  expect(() => fromModel('\ud800', 'utf8')).toThrow(/half a character|surrogate/);
});

it.each<[string, Buffer, boolean]>([
  ['text', Buffer.from('a\n'), false],
  ['a NUL among the first bytes', Buffer.from('a\0b'), true],
  ['a NUL far behind', Buffer.from(`${'a'.repeat(8000)}\0`), false],
])('%s is binary: %s', (_, bytes, binary) => {
  expect(isBinary(bytes)).toBe(binary);
});

it('hashes with SHA-256', () => {
  expect(hashBytes(Buffer.from(''))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
});
