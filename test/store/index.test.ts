import { openFileStore } from '../../src/store';

describe('the place', () => {
  it.each([undefined, ''])('is nowhere where it is %j', (place) => {
    expect(openFileStore(place, { env: {} })).toBeUndefined();
  });

  it('comes from COUNTERSIGN_FILES', () => {
    expect(openFileStore(undefined, { env: { COUNTERSIGN_FILES: '/tmp/x' } })).toBeDefined();
  });

  it.each([
    ['https://example.org/files', {}, 'the store of files is neither a folder nor a bucket'],
    ['s3://', {}, 'the store of files is neither a folder nor a bucket'],
    ['s3://files', {}, 'files in S3 need AWS_ACCESS_KEY_ID, which is not set'],
    [
      's3://files',
      { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_ENDPOINT_URL_S3: 'minio' },
      'the endpoint of S3 is not an http(s) URL',
    ],
  ])('is not %s with %j', (place, env, message) => {
    expect(() => openFileStore(place, { env })).toThrow(
      expect.objectContaining({ code: 'config_invalid', message }),
    );
  });
});
