import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { payloadConverter as lenient } from '../../src/encryption/bundle-converters';
import { failureConverter as hiding } from '../../src/encryption/failure-converter';
import { loadEncryption } from '../../src/encryption/load';
import { drawKey } from './ring';

describe.each([
  ['without keys', {}, { failureConverter: defaultFailureConverter, path: undefined }],
  ['with keys', { keys: [drawKey('first')] }, { failureConverter: hiding, path: expect.any(String) }],
])('the converters, %s', (_, options, { failureConverter, path }) => {
  const encryption = loadEncryption({ required: false, ...options }, {});
  const payloadCodecs = [expect.anything()];

  it.each([
    ['client', defaultPayloadConverter],
    ['listing', lenient],
  ] as const)(
    'are loaded already for a %s: a client in one file has no other files',
    (who, payloadConverter) => {
      expect(encryption[who]()).toEqual({ payloadCodecs, payloadConverter, failureConverter });
    },
  );

  it.each(['worker', 'replay'] as const)('are named by path for a %s, whose threads load them', (who) => {
    const converter = encryption[who]();
    expect(converter).toEqual({ payloadCodecs, failureConverterPath: path });
    expect(loadDataConverter(converter).failureConverter).toBe(failureConverter);
  });
});
