import {
  assertReferences,
  fillReferences,
  type Header,
  isHeaderValue,
  referencesIn,
  secretRules,
} from '../../../src/tools/http/references';
import { hostList } from '../../../src/tools/http/hosts';

const rules = secretRules({
  GITHUB: { hosts: ['api.github.com', '127.0.0.1:8080'], headers: ['Authorization', 'x-token'] },
  other: { hosts: ['*.example.com'], headers: ['x-key'] },
});
const isPrivate = hostList('privateHosts', ['127.0.0.1:8080']);

const check = (url: string, header: Header, body?: string): void =>
  assertReferences({ url: new URL(url), headers: [header], body }, rules, isPrivate);

it.each<[string, Header]>([
  ['https://api.github.com/user', ['authorization', 'Bearer {{secret:GITHUB}}']],
  ['https://api.github.com/user', ['x-token', '{{secret:GITHUB}}']],
  ['https://a.example.com/', ['x-key', '{{secret:other}}']],
  ['http://127.0.0.1:8080/', ['x-token', '{{secret:GITHUB}}']],
  ['https://elsewhere.example/', ['accept', '{ {secret} }']],
])('lets a secret go to %s as %j', (url, header) => {
  expect(() => check(url, header)).not.toThrow();
});

it.each<[why: string, url: string, header: Header, body: string | undefined, message: string]>([
  [
    'an unknown secret',
    'https://api.github.com/',
    ['x-token', '{{secret:NOPE}}'],
    undefined,
    'no secret NOPE',
  ],
  [
    'an inherited name',
    'https://api.github.com/',
    ['x-token', '{{secret:constructor}}'],
    undefined,
    'no secret',
  ],
  [
    'another host',
    'https://api.github.com.evil.example/',
    ['x-token', '{{secret:GITHUB}}'],
    undefined,
    'may not go to',
  ],
  [
    'another port',
    'https://api.github.com:8443/',
    ['x-token', '{{secret:GITHUB}}'],
    undefined,
    'may not go to',
  ],
  [
    'another header',
    'https://api.github.com/',
    ['x-other', '{{secret:GITHUB}}'],
    undefined,
    'in the header authorization or x-token',
  ],
  ['plain HTTP', 'http://api.github.com/', ['x-token', '{{secret:GITHUB}}'], undefined, 'plain HTTP'],
  [
    'the URL',
    'https://api.github.com/?key={{secret:GITHUB}}',
    ['accept', '*/*'],
    undefined,
    'in the value of a header only',
  ],
  [
    'the path',
    'https://api.github.com/{{secret:GITHUB}}',
    ['accept', '*/*'],
    undefined,
    'in the value of a header only',
  ],
  [
    'the body',
    'https://api.github.com/',
    ['accept', '*/*'],
    '{"key": "{{secret:GITHUB}}"}',
    'in the value of a header only',
  ],
  ['a blank', 'https://api.github.com/', ['x-token', '{{ secret:GITHUB }}'], undefined, 'in another form'],
  ['capitals', 'https://api.github.com/', ['x-token', '{{SECRET:GITHUB}}'], undefined, 'in another form'],
  [
    'a name that cannot be',
    'https://api.github.com/',
    ['x-token', '{{secret:a b}}'],
    undefined,
    'in another form',
  ],
  ['an empty name', 'https://api.github.com/', ['x-token', '{{secret:}}'], undefined, 'in another form'],
  [
    'one within another',
    'https://api.github.com/',
    ['x-token', '{{secret:{{secret:GITHUB}}}}'],
    undefined,
    'in another form',
  ],
])('refuses %s', (_, url, header, body, message) => {
  expect(() => check(url, header, body)).toThrow(message);
});

it('finds the names in a value', () => {
  expect(referencesIn('a {{secret:one}} {{secret:two}}{{secret:one}} {secret:three}')).toEqual([
    'one',
    'two',
    'one',
  ]);
});

const secrets = (values: Record<string, string>) => ({
  get: async (name: string) => values[name] ?? '',
  hide: (text: string) => text,
});

it('fills in values as they are, and each once', async () => {
  const filled = await fillReferences(
    [
      ['authorization', 'Bearer {{secret:A}}.{{secret:B}}'],
      ['accept', '*/*'],
    ],
    secrets({ A: '$& $1 {{secret:B}}', B: 'b2345678' }),
  );
  expect(filled).toEqual([
    ['authorization', 'Bearer $& $1 {{secret:B}}.b2345678'],
    ['accept', '*/*'],
  ]);
});

it.each(['line\r\nx-evil: 1', 'line567\n', 'nul4567\0', 'größe678'])(
  'sends no secret such as %j, and does not quote it',
  async (value) => {
    const filling = fillReferences([['x-token', '{{secret:A}}']], secrets({ A: value }));
    await expect(filling).rejects.toThrow('The secret A holds a character that no header can carry');
    await expect(filling).rejects.not.toThrow(value);
  },
);

it('sends no secret that is too short to be redacted in the answer', async () => {
  const filling = fillReferences([['x-token', '{{secret:A}}']], secrets({ A: '1234567' }));
  await expect(filling).rejects.toThrow('The secret A has fewer than 8 characters');
});

it.each([
  ['a name with a blank', { 'a b': { hosts: ['a.example'], headers: ['x'] } }],
  ['no host', { a: { hosts: [], headers: ['x'] } }],
  ['no header', { a: { hosts: ['a.example'], headers: [] } }],
  ['a host that is none', { a: { hosts: ['https://a.example'], headers: ['x'] } }],
])('refuses a secret of the configuration with %s', (_, given) => {
  expect(() => secretRules(given)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
});

it.each([
  ['a\tb ~', true],
  ['', true],
  ['a\nb', false],
  ['ä', false],
  ['\x7f', false],
])('knows whether a header can carry %j: %j', (text, expected) => {
  expect(isHeaderValue(text)).toBe(expected);
});
