import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import fc from 'fast-check';
import { fromPayload } from '../../../src/history/decode/payloads';

const payload = (encoding: string, data: string | Uint8Array | null): Payload => ({
  metadata: { encoding: Buffer.from(encoding) },
  data: typeof data === 'string' ? Buffer.from(data) : data,
});

/** What came of it, or what was thrown. */
const outcome = (read: () => unknown): unknown => {
  try {
    return { value: read() };
  } catch (error) {
    return { threw: error instanceof Error ? error.constructor.name : String(error) };
  }
};

it.each<[string, Payload]>([
  ['JSON', payload('json/plain', '{"a":[1,"ü",null]}')],
  ['a part of a larger buffer', payload('json/plain', Buffer.from('xx"part"yy').subarray(2, 8))],
  ['bytes that are no Buffer', payload('json/plain', new Uint8Array([34, 195, 188, 34]))],
  ['text that is no JSON', payload('json/plain', '{')],
  ['nothing at all', payload('json/plain', '')],
  ['no data', payload('json/plain', null)],
  ['half a character', payload('json/plain', Buffer.from([0x22, 0xe2, 0x82, 0x22]))],
  ['half a pair of surrogates', payload('json/plain', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))],
  ['a byte order mark', payload('json/plain', Buffer.from([0xef, 0xbb, 0xbf, 0x31]))],
  ['null', payload('binary/null', '')],
  ['bytes', payload('binary/plain', 'abc')],
  ['an encoding nobody knows', payload('text/rot13', 'abc')],
  ['no encoding', { metadata: {}, data: Buffer.from('1') }],
  ['no metadata', { data: Buffer.from('1') }],
])('reads %s as the SDK does', (_, given) => {
  const read = outcome(() => fromPayload(given, defaultPayloadConverter));
  expect(read).toEqual(outcome(() => defaultPayloadConverter.fromPayload(given)));
});

it('reads any JSON as the SDK does', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
      const given = payload('json/plain', text);
      expect(fromPayload(given, defaultPayloadConverter)).toEqual(defaultPayloadConverter.fromPayload(given));
    }),
  );
});

it('reads any bytes in a JSON string as the SDK does: the record tells what a turn saw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ min: 0x80, maxLength: 8 }), (bytes) => {
      const given = payload('json/plain', Buffer.from([0x22, ...bytes, 0x22]));
      expect(fromPayload(given, defaultPayloadConverter)).toBe(defaultPayloadConverter.fromPayload(given));
    }),
  );
});

it("leaves JSON to a converter of somebody's own", () => {
  const read = jest.fn(() => 'read by its own');
  const own: PayloadConverter = {
    toPayload: () => payload('json/plain', '1'),
    fromPayload: read as PayloadConverter['fromPayload'],
  };
  const given = payload('json/plain', '1');
  expect(fromPayload(given, own)).toBe('read by its own');
  expect(read).toHaveBeenCalledWith(given);
});
