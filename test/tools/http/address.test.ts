import fc from 'fast-check';
import { addressIn, isPrivateHost, isPublicAddress } from '../../../src/tools/http/address';

describe('an address that is not public', () => {
  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255'],
    ...['127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1', '172.31.255.255'],
    ...['192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.0.1', '198.18.0.1', '198.19.255.255'],
    ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::ffff:0:7f00:1'],
    ...['64:ff9b::7f00:1', '64:ff9b:1::1', '100::1', '2001::1', '2001:db8::1', '2002:7f00:1::1', '3fff::1'],
    ...['5f00::1', 'fc00::1', 'fd12:3456::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', '4000::1'],
    ...['', 'example.com', '127.1', '0x7f.0.0.1', '2130706433', '8.8.8', '[::1]', '1.2.3.4/8'],
  ])('is %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

it.each([
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '172.32.0.1',
  '100.128.0.1',
  '2606:4700:4700::1111',
  '2a00:1450::1',
])('takes %s for public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

const PRIVATE_BLOCKS: [base: number, bits: number][] = [
  ...[[0x00000000, 8] as const, [0x0a000000, 8] as const, [0x7f000000, 8] as const],
  ...[[0x64400000, 10] as const, [0xac100000, 12] as const, [0xa9fe0000, 16] as const],
  ...[[0xc0a80000, 16] as const, [0xe0000000, 4] as const, [0xf0000000, 4] as const],
].map(([base, bits]) => [base, bits]);

/** Any way in which the parser of URLs takes an IPv4 address. */
const spelled = fc
  .tuple(fc.constantFrom(...PRIVATE_BLOCKS), fc.nat({ max: 0xffff_ffff }), fc.constantFrom(1, 2, 3, 4))
  .chain(([[base, bits], rest, count]) => {
    const address = (base + (rest % 2 ** (32 - bits))) >>> 0;
    const heads = [24, 16, 8].slice(0, count - 1).map((shift) => (address >>> shift) & 255);
    const tail = address % 2 ** (8 * (5 - count));
    const part = (value: number) =>
      fc.constantFrom(String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`);
    return fc.tuple(...[...heads, tail].map(part)).map((parts) => parts.join('.'));
  });

it('sees through every spelling of a private address', () => {
  fc.assert(
    fc.property(spelled, fc.boolean(), (text, isWide) => {
      const wide = text.replace(/[0-9a-fx.]/g, (char) =>
        char === '.' ? '。' : String.fromCodePoint(char.charCodeAt(0) + 0xfee0),
      );
      expect(isPrivateHost(new URL(`http://${isWide ? wide : text}/`))).toBe(true);
    }),
  );
});

it('takes no IPv6 address that carries an IPv4 address for public', () => {
  const prefix = fc.constantFrom('::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::');
  fc.assert(
    fc.property(prefix, fc.ipV4(), (start, address) => {
      expect(isPrivateHost(new URL(`http://[${start}${address}]/`))).toBe(true);
    }),
  );
});

it.each([
  ['http://localhost/', true],
  ['http://LOCALHOST:8080/', true],
  ['http://a.b.localhost/', true],
  ['http://notlocalhost/', false],
  ['http://localhost.example.com/', false],
  ['http://[::1]:80/', true],
  ['http://8.8.8.8/', false],
])('knows whether %s is private: %j', (url, expected) => {
  expect(isPrivateHost(new URL(url))).toBe(expected);
});

it.each([
  ['http://example.com/', undefined],
  ['http://127.1/', '127.0.0.1'],
  ['http://[2606:4700::1]/', '2606:4700::1'],
])('finds the address in %s', (url, expected) => {
  expect(addressIn(new URL(url))).toBe(expected);
});
