import { isPair, makePushKeys } from '../../src/notify/push-keys';

it('are drawn as browsers and push services write them', () => {
  const drawn = Array.from({ length: 50 }, makePushKeys);
  for (const keys of drawn) {
    expect(keys.publicKey).toMatch(/^B[\w-]{86}$/);
    expect(Buffer.from(keys.privateKey, 'base64url')).toHaveLength(32);
    expect(isPair(keys)).toBe(true);
  }
  expect(new Set(drawn.map(({ privateKey }) => privateKey)).size).toBe(50);
});

it.each<[string, string]>([
  ['another key', makePushKeys().privateKey],
  ['nothing', ''],
  ['no key', 'A'.repeat(43)],
  ['too long', 'B'.repeat(400)],
])('do not belong to %s', (_name, privateKey) => {
  expect(isPair({ publicKey: makePushKeys().publicKey, privateKey })).toBe(false);
});
