import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { payloadConverter as lenient } from '../../src/encryption/bundle-converters';
import { failureConverter as hiding } from '../../src/encryption/failure-converter';
import { loadEncryption } from '../../src/encryption/load';
import { drawKey } from './ring';

describe.each([
  ['without keys', {}, { failureConverter: defaultFailureConverter, path: undefined, ofWorker: [] }],
  [
    'with keys',
    { keys: [drawKey('first')] },
    { failureConverter: hiding, path: expect.any(String), ofWorker: [expect.anything()] },
  ],
])('the converters, %s', (_, options, { failureConverter, path, ofWorker }) => {
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
    const codecs = who === 'worker' ? ofWorker : payloadCodecs;
    expect(converter).toEqual({ payloadCodecs: codecs, failureConverterPath: path });
    expect(loadDataConverter(converter).failureConverter).toBe(failureConverter);
  });
});
