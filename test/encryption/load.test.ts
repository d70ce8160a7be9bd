import { LENIENT_CONVERTER, loadEncryption } from '../../src/encryption/load';
import { drawKey } from './ring';

it.each([
  ['without keys', {}],
  ['with keys', { keys: [drawKey('first')] }],
])('gives a worker of somebody else the converter of ours, %s', (_, options) => {
  const encryption = loadEncryption({ required: false, ...options }, {});
  const converter = { ...encryption.listing(), ...encryption.worker() };
  expect(converter).toEqual({
    ...encryption.worker(),
    payloadCodecs: [expect.anything()],
    payloadConverterPath: LENIENT_CONVERTER,
  });
});
