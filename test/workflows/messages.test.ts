import { RawValue } from '@temporalio/common';
import { firstAsked, decodedValueOf, weightOf } from '../../src/workflows/messages';

const ofBytes = (bytes: number): RawValue =>
  RawValue.fromPayload({ metadata: {}, data: new Uint8Array(bytes) });

it.each<[string, RawValue | undefined, number]>([
  ['no message', undefined, 0.2],
  ['a short one', ofBytes(100), 0.3],
  ['a KiB', ofBytes(1024), 1.2],
  ['the longest decision', ofBytes(256 * 1024), 256.2],
  ['one that is refused for its length', ofBytes(1_900_000), 1536.2],
])('a message weighs by its length alone: %s', (_, message, weight) => {
  expect(weightOf(message)).toBeCloseTo(weight, 1);
});

it.each(['encoding', 'data'])(
  'a message whose %s is absent, which is an empty array here, is not read',
  (field) => {
    const metadata = { encoding: Buffer.from('json/plain') };
    const payload = { metadata, data: Buffer.from('{"from":3}') };
    expect(firstAsked(RawValue.fromPayload(payload))).toBe(3);
    Reflect.set(field === 'data' ? payload : metadata, field, []);
    const message = RawValue.fromPayload(payload);
    expect([firstAsked(message), decodedValueOf(message)]).toEqual([0, undefined]);
  },
);
