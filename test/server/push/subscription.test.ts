import fc from 'fast-check';
import { subscriptionId, subscriptionSchema } from '../../../src/server/push/subscription';
import { newBrowser } from '../../notify/push-server';

const { subscription } = newBrowser('https://push.example.org/send/abc');
const { p256dh, auth } = subscription.keys;
const offCurve = Buffer.alloc(65, 4).toString('base64url');

it('is taken as browsers give it, without what else they say', () => {
  const given = { ...subscription, expirationTime: null, options: {} };
  expect(subscriptionSchema.parse(given)).toEqual(subscription);
  const padded = `${Buffer.from(auth, 'base64url').toString('base64').replaceAll('+', '-').replaceAll('/', '_')}`;
  expect(subscriptionSchema.safeParse({ ...subscription, keys: { p256dh, auth: padded } }).success).toBe(
    true,
  );
  expect(subscriptionId(subscription)).toMatch(/^[0-9a-f]{64}$/);
});

it.each<[string, boolean]>([
  ['https://push.example.org/x', true],
  ['http://127.0.0.1:4433/x', true],
  ['http://localhost/x', true],
  ['http://push.example.org/x', false],
  ['http://10.0.0.7/x', false],
  ['https://user:word@push.example.org/x', false],
  ['https://push.example.org/x#y', false],
  [`https://push.example.org/${'x'.repeat(2048)}`, false],
  ['file:///etc/passwd', false],
  ['javascript:alert(1)', false],
  ['/x', false],
  ['', false],
])('an endpoint %s: %s', (endpoint, isTaken) => {
  expect(subscriptionSchema.safeParse({ ...subscription, endpoint }).success).toBe(isTaken);
});

it.each<[string, unknown]>([
  ['no keys', undefined],
  ['a key off the curve', { p256dh: offCurve, auth }],
  ['a short key', { p256dh: p256dh.slice(0, 80), auth }],
  ['a compressed key', { p256dh: Buffer.alloc(33, 2).toString('base64url'), auth }],
  ['no secret', { p256dh, auth: '' }],
  ['a short secret', { p256dh, auth: auth.slice(2) }],
  ['a long secret', { p256dh, auth: `${auth}AAAA` }],
  ['other signs', { p256dh, auth: '!'.repeat(22) }],
  ['numbers', { p256dh: 1, auth: 2 }],
])('refuses %s', (_name, keys) => {
  expect(subscriptionSchema.safeParse({ ...subscription, keys }).success).toBe(false);
});

it('never throws, whatever is sent', () => {
  const any = fc.oneof(fc.string(), fc.anything());
  fc.assert(
    fc.property(any, any, any, (endpoint, key, secret) => {
      subscriptionSchema.safeParse({ endpoint, keys: { p256dh: key, auth: secret } });
      subscriptionSchema.safeParse({ ...subscription, keys: { p256dh, auth: key } });
    }),
  );
});
