import fc from 'fast-check';
import { hideSecrets, isSecretName, redactSecrets, redactText } from '../../../src/contract/text/redact';

// Put together here, so that no file of the project holds anything of a secret's shape.
const long = 'a1B2c3D4'.repeat(5);
const jwt = `eyJ${long}.eyJ${long}.${long}`;
const pem = (kind: string, body: string): string =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${body}\n-----END ${kind}PRIVATE KEY-----`;

describe('names', () => {
  it.each([
    'password',
    'PASSWORD',
    'dbPassword',
    'passwd',
    'pwd',
    'secret',
    'client_secret',
    'token',
    'x-auth-token',
    'accessToken',
    'api_key',
    'apiKey',
    'API-KEY',
    'Authorization',
    'cookie',
    'Set-Cookie',
    'private_key',
    'aws_access_key_id',
    'credentials',
    'passphrase',
    'auth',
  ])('%s is a secret', (name) => {
    expect(redactSecrets({ a: [{ [name]: 'hunter2' }] })).toEqual({ a: [{ [name]: '[redacted]' }] });
  });

  it.each(['path', 'author', 'content', 'compass', 'key', 'pinned', 'authority', 'passed'])(
    '%s is none',
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  it.each<[unknown, unknown]>([
    [{ max_tokens: 100 }, { max_tokens: 100 }],
    [{ tokens: 'abc' }, { tokens: '[redacted]' }],
    [{ pin: 1234 }, { pin: '[redacted]' }],
    [{ password: null }, { password: null }],
    [{ token: true }, { token: true }],
    [{ secret: { a: 1 } }, { secret: '[redacted]' }],
    [{ secrets: ['a'] }, { secrets: '[redacted]' }],
    [
      ['--password', 'hunter2', '--user', 'bob'],
      ['--password', '[redacted]', '--user', 'bob'],
    ],
    [['--token=abcdef'], ['--token=[redacted]']],
    [
      [1, null, undefined, true],
      [1, null, undefined, true],
    ],
  ])('%j → %j', (value, redacted) => {
    expect(redactSecrets(value)).toEqual(redacted);
  });
});

describe('shapes', () => {
  it.each<[string, string]>([
    ['a bearer token', `Bearer ${long}`],
    ['a bearer token in a header', `curl -H "Authorization: Bearer ${long}" http://x`],
    ['basic credentials', `authorization: Basic ${long}`],
    ['short basic credentials in a header', `Authorization: Basic ${long.slice(0, 8)}`],
    ['an OpenAI key', `sk-${long}`],
    ['an OpenAI project key', `sk-proj-${long}-${long}`],
    ['a payment key', `sk_live_${long}`],
    ['a GitHub token', `ghp_${long}`],
    ['a fine-grained GitHub token', `github_pat_${long}`],
    ['a GitLab token', `glpat-${long}`],
    ['an npm token', `//registry/:_authToken=npm_${long}`],
    ['a Slack token', `xoxb-${long}`],
    ['a Google key', `AIza${long}`],
    ['a web token', jwt],
    ['a cookie header', `Cookie: session=${long}; other=${long}`],
    ['an assignment', `DB_PASSWORD=${long}`],
    ['a quoted assignment', `password = "two ${long} words"`],
    ['JSON', `{"apiKey":"${long}"}`],
    ['JSON in JSON', JSON.stringify(`{"password":"x ${long}"}`)],
    ['an assignment with quotes inside', `secret="a\\"${long}"`],
    ['a quote that never closes', `token='${long}`],
    ['a flag', `login --password ${long}`],
    ['a query', `https://x/y?access_token=${long}&z=1`],
    ['an URL with a password', `postgres://bob:${long}@host/db`],
    ['an URL with a password that has an @', `postgres://bob:${long}@${long}@host/db`],
    ['an URL with a token', `https://${long}@github.com/x`],
    ['a private key', pem('RSA ', long)],
    ['a private key without a kind', pem('', long)],
    ['a private key cut short', `-----BEGIN PRIVATE KEY-----\n${long}`],
    ['two private keys', `${pem('EC ', long)} and ${pem('', long)}`],
  ])('%s', (_, text) => {
    const redacted = redactText(`before, ${text} after`);
    expect(redacted).toContain('[redacted]');
    expect(redacted).not.toContain(long.slice(0, 8));
    expect(redacted).toMatch(/^before, /);
  });

  it('an AWS key id', () => {
    expect(redactText(`id AKIA${'ABCD1234'.repeat(2)}.`)).toBe('id [redacted].');
  });

  it('keeps what stands around a secret', () => {
    expect(redactText(`postgres://bob:${long}@host/db`)).toBe('postgres://bob:[redacted]@host/db');
    expect(redactText(`a ${pem('', long)} b ${pem('', long)} c`)).toBe('a [redacted] b [redacted] c');
    expect(redactText(`{"apiKey":"${long}","path":"/a"}`)).toBe('{"apiKey":[redacted],"path":"/a"}');
  });

  it.each([
    'The quick brown fox reads /etc/hosts at https://example.com:8080/a@b.',
    'Basic understanding of tokens and secrets is enough',
    'task-list sk-short disk-space-is-low-on-this-machine',
    'mailto:bob@example.com and git@github.com:owner/name.git',
    '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----',
  ])('leaves alone: %s', (text) => {
    expect(redactText(text)).toBe(text);
  });
});

describe('robust', () => {
  it('knows circles, depth, hostile getters and odd keys', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    expect(redactSecrets(circle)).toEqual({ self: '[circular]' });
    let deep: unknown = 'x';
    for (let level = 0; level < 10_000; level++) deep = [deep];
    expect(JSON.stringify(redactSecrets(deep))).toContain('[too deep]');
    const hostile = {
      get a(): string {
        throw new Error('x');
      },
    };
    expect(redactSecrets(hostile)).toBe('[redacted]');
    const proto: unknown = JSON.parse('{"__proto__":{"a":1}}');
    expect(Object.keys(Object(redactSecrets(proto)))).toEqual(['__proto__']);
    expect(redactSecrets(new Error(`password=${long}`))).toBe('Error: password=[redacted]');
  });

  it('changes nothing that is given, and nothing twice', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const before = JSON.stringify(value);
        const once = redactSecrets(value);
        expect(JSON.stringify(value)).toBe(before);
        expect(redactSecrets(once)).toEqual(once);
      }),
    );
  });

  // A quadratic shape would need minutes for these, and run into the test's own limit.
  it.each([
    ['eyJ-'],
    ['eyJaaaaaaaa.'],
    ['sk-'],
    ['a'],
    [' '],
    ['://'],
    ['://a:'],
    ['://a:b'],
    ['password'],
    ['password="'],
    ["token='"],
    ['secret=\\"'],
    ['\\'],
    ['Bearer '],
    ['Basic '],
    ['-----BEGIN PRIVATE KEY-----'],
    ['-----BEGIN A '],
    ['--token '],
    ['-'],
    ['authorization:'],
    ['ghp_'],
    ['xoxb-'],
  ])(
    'a megabyte of %j',
    (piece) => {
      const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
      expect(typeof redactText(text)).toBe('string');
    },
    5_000,
  );
});

it.each<[string, string, readonly string[], string]>([
  ['every place', 'a-key and a-key', ['a-key'], '[redacted] and [redacted]'],
  ['the longer of two', 'a-key-2 and a-key', ['a-key-2', 'a-key'], '[redacted] and [redacted]'],
  ['what looks like a pattern', 'a.*b and axb', ['a.*b'], '[redacted] and axb'],
  ['what looks like a replacement', 'the $& stays', ['$&'], 'the [redacted] stays'],
  ['nothing where nothing is known', 'a-key', [], 'a-key'],
])('known secrets: takes out %s', (...[, text, secrets, hidden]) => {
  expect(hideSecrets(text, secrets)).toBe(hidden);
});
