import { format as others } from '@cfworker/json-schema';
import { fitsFormat, FORMATS } from '../../../src/contract/schema/values';

it.each<[string, string[], string[]]>([
  ['date', ['2024-02-29', '2026-12-31'], ['2023-02-29', '2026-13-01', '2026-00-01', '26-1-1', '2026-04-31']],
  [
    'time',
    ['23:59:60', '10:00:00', '10:00:00.5Z', '10:00:00+02:00'],
    ['24:00:00', '10:60:00', '10:00:60', 'x'],
  ],
  [
    'date-time',
    ['2026-01-01T10:00:00Z', '2026-01-01t10:00:00+02:00'],
    ['2026-01-01T10:00:00', '2026-01-01', ''],
  ],
  ['duration', ['P1W', 'P1Y2M3DT4H5M6S', 'PT0.5S'], ['P', 'PT', 'P1', '1W', 'P1W1D', 'P1H']],
  [
    'uri',
    ['http://a/b?c#d', 'mailto:a@b', 'http://[::1]:80/', 'urn:x'],
    ['/a', 'http://a b', 'a:b#c#d', '1:x', 'x:%4'],
  ],
  ['uri-reference', ['', '/a', '../b', '#c', '//h/p', 'a:b'], ['a b', '%', 'http://[::1', '\\a', 'a[b']],
  ['uri-template', ['/a/{b}', '{?x,y*}'], ['{', '}', '{}', 'a b']],
  [
    'url',
    ['http://a.de', 'https://u:p@a-b.example.org:8080/x?y', 'ftp://8.8.8.8/'],
    ['http://a', 'http://10.0.0.1', 'http://localhost', 'a.de', 'http://a.de/x y', 'http://-a.de'],
  ],
  ['email', ['a@b', 'a.b+c@x-y.de'], ['a@b@c', '.a@b', 'a..b@c', '@b', 'a@', 'a@-b', `${'a'.repeat(65)}@b`]],
  ['hostname', ['a', 'a-b.c.', 'xn--a.de'], ['', '-a', 'a-', 'a..b', 'a_b', `${'a'.repeat(64)}.de`]],
  ['ipv4', ['1.2.3.4', '255.255.255.255'], ['1.2.3', '256.1.1.1', '1.2.3.4.5', '1.2.3.a', '']],
  [
    'ipv6',
    ['::', '::1', '1:2:3:4:5:6:7:8', '1::8', '::ffff:1.2.3.4', '1:2:3:4:5:6:1.2.3.4'],
    ['1:2', ':::', '1::2::3', '1:2:3:4:5:6:7:8:9', '12345::', '1.2.3.4', '::1.2.3', '1:2:3:4:5:6:7:8::'],
  ],
  ['regex', ['^a+$'], ['(', '[']],
  ['uuid', ['00000000-0000-0000-0000-000000000000'], ['0', '00000000-0000-0000-0000-00000000000g']],
  ['json-pointer', ['', '/a~0~1', '/'], ['a', '/~2', '/~']],
  ['json-pointer-uri-fragment', ['#', '#/a%20'], ['', '#a', '#/ ']],
  ['relative-json-pointer', ['0', '1/a', '0#'], ['/a', '01', '-1']],
])('%s', (name, good, bad) => {
  expect(good.filter((text) => fitsFormat(name, text) !== true)).toEqual([]);
  expect(bad.filter((text) => fitsFormat(name, text) !== false)).toEqual([]);
});

it('knows the formats that the validator before it knew', () => {
  expect(FORMATS.map(([name]) => name).sort()).toEqual(Object.keys(others).sort());
});
