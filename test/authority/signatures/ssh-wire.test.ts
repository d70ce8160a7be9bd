import fc from 'fast-check';
import { readBase64, readWire, WireError, wireString } from '../../../src/authority/signatures/ssh-wire';
import { mpint } from '../../support/ssh';

it('reads what it writes', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array()), (parts) => {
      const wire = readWire(Buffer.concat(parts.map(wireString)));
      for (const part of parts) expect(wire.bytes()).toEqual(Buffer.from(part));
      wire.end();
    }),
  );
});

it.each<[string, string, (wire: ReturnType<typeof readWire>) => unknown]>([
  ['a number that is cut off', '000000', (wire) => wire.uint32()],
  ['a string that is cut off', '0000000261', (wire) => wire.bytes()],
  ['a length of 4 GiB', 'ffffffff61', (wire) => wire.bytes()],
  ['a name with a zero byte', '0000000100', (wire) => wire.text()],
  ['a name with other letters than ASCII', '00000002c3a9', (wire) => wire.text()],
  ['a byte where there is none', '', (wire) => wire.byte()],
  ['a negative number', '0000000180', (wire) => wire.positive()],
  ['a number with a zero too many', '00000002007f', (wire) => wire.positive()],
  ['zero', '0000000100', (wire) => wire.positive()],
  ['an empty number', '00000000', (wire) => wire.positive()],
  ['something behind the end', '00', (wire) => wire.end()],
])('refuses %s', (_case, hex, read) => {
  expect(() => read(readWire(Buffer.from(hex, 'hex')))).toThrow(WireError);
});

it('reads a number without its sign byte', () => {
  const wire = readWire(Buffer.concat([mpint(Buffer.from('80', 'hex')), mpint(Buffer.from('007f', 'hex'))]));
  expect([wire.positive().toString('hex'), wire.positive().toString('hex')]).toEqual(['80', '7f']);
});

it.each(['YQ', 'YR==', 'Y Q==', 'YQ==\n', '-_==', '='])(
  'takes only the one text of bytes in base64: %j',
  (text) => {
    expect(readBase64(text)).toBeUndefined();
  },
);
