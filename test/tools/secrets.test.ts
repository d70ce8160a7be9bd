import { REDACTED } from '../../src/contract/text/redact';
import { createCapture, cutOutput, splitAtCuts } from '../../src/tools/cut-output';
import { isToolError } from '../../src/tools/errors';
import { createSecrets, type SecretProvider } from '../../src/tools/secrets';

const VALUE = 'p4ss/w"ö\\rd+?=1';
const never = new AbortController().signal;

const handedOut = async (...values: string[]) => {
  const rest = [...values];
  const secrets = createSecrets(() => rest.shift());
  for (const _ of values) await secrets.get('key', never);
  return secrets;
};

const json = JSON.stringify(VALUE).slice(1, -1);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

it.each<[string, string]>([
  ['as it is', VALUE],
  ['in JSON', JSON.stringify({ a: [{ b: VALUE }] })],
  ['in JSON within JSON', JSON.stringify(JSON.stringify(VALUE))],
  ['in JSON of ASCII alone', json.replace('ö', '\\u00f6')],
  ['in JSON as PHP writes it', json.replaceAll('/', '\\/')],
  ['in JSON as Python and PHP write it', json.replace('ö', '\\u00f6').replaceAll('/', '\\/')],
  ['in JSON as .NET writes it', 'p4ss/w\\u0022\\u00F6\\\\rd\\u002B?=1'],
  ['in HTML', VALUE.replaceAll('"', '&quot;')],
  ['in HTML, with numbers', VALUE.replaceAll('"', '&#34;')],
  ['in hex', Buffer.from(VALUE).toString('hex')],
  ['in hex, with capitals', Buffer.from(VALUE).toString('hex').toUpperCase()],
  ['in a URL', `https://x.example/?key=${encodeURIComponent(VALUE)}`],
  ['in a URL, with small letters', encodeURIComponent(VALUE).toLowerCase()],
  ['in a form', new URLSearchParams({ key: VALUE }).toString()],
  ['in base64', base64(VALUE)],
  ['in base64 without its end', base64(VALUE).replaceAll('=', '')],
  ['in base64url', Buffer.from(VALUE).toString('base64url')],
  ['as a password in base64', base64(`a:${VALUE}`)],
  ['as a password in base64, one letter on', base64(`ab:${VALUE}!`)],
  ['as a password in base64, two letters on', base64(`abc:${VALUE}!!`)],
  ['twice', `${VALUE}${VALUE}`],
])('is taken out of a text %s', async (_, text) => {
  const { hide } = await handedOut(VALUE);
  const hidden = hide(text);
  expect(hidden).toContain(REDACTED);
  for (const form of [VALUE, json, encodeURIComponent(VALUE), base64(VALUE).slice(0, -4)])
    expect(hidden).not.toContain(form);
});

it.each([
  ['Go', 'a\\u0026b\\u003cc\\u003ed'],
  ['.NET', 'a\\u0026b\\u003Cc\\u003Ed'],
  ['HTML', 'a&amp;b&lt;c&gt;d'],
])('is taken out of a text with its signs as %s writes them', async (_, beginning) => {
  const { hide } = await handedOut('a&b<c>d-end');
  expect(hide(`<${beginning}-end>`)).toBe(`<${REDACTED}>`);
});

it.each([0, 1, 4, 7, 8, 12, 15])(
  'no more than three of its characters are left beside a cut through it, %i characters in',
  async (at) => {
    const { hide } = await handedOut(VALUE);
    const limit = 2000;
    const head = 'a'.repeat((limit - 128) / 2 - Buffer.byteLength(VALUE.slice(0, at)));
    for (const text of [`${head}${VALUE}${'b'.repeat(5000)}`, `${'b'.repeat(5000)}${VALUE}${head}`]) {
      const capture = createCapture(limit);
      capture.add(Buffer.from(text));
      const [before = '', , after = ''] = splitAtCuts(hide(capture.text()));
      expect(after).not.toBe('');
      const parts = Array.from({ length: VALUE.length - 3 }, (_, from) => VALUE.slice(from, from + 4));
      for (const part of parts) expect(`${before} ${after}`).not.toContain(part);
    }
  },
);

it('leaves the text beside a cut as it is where it is not of a secret', async () => {
  const { hide } = await handedOut(VALUE);
  const cut = cutOutput(`${'p4s'.repeat(100)}${'x'.repeat(500)}`, 300);
  expect(splitAtCuts(cut)).toHaveLength(3);
  expect(hide(cut)).toBe(cut);
});

it('leaves other text as it is, and short values', async () => {
  const { hide } = await handedOut('short', VALUE);
  expect(hide('a short story, p4ss')).toBe('a short story, p4ss');
});

it('hides the longer of two where one is a part of the other', async () => {
  const { hide } = await handedOut('12345678', '12345678-and-more');
  expect(hide('<12345678-and-more>')).toBe(`<${REDACTED}>`);
});

it.each([1, 2, 3, 5, 7, 100])('hides a secret that comes in pieces of %i characters', async (size) => {
  const secrets = await handedOut(VALUE, 'p4ss/w"other-one');
  const text = `before ${VALUE} between p4ss/ and p4ss/w"other-one after`;
  const stream = secrets.hideStream();
  let out = '';
  for (let at = 0; at < text.length; at += size) out += stream.add(text.slice(at, at + size));
  expect(out + stream.rest()).toBe(`before ${REDACTED} between p4ss/ and ${REDACTED} after`);
});

it('shows no long beginning of a secret where the text ends', async () => {
  const stream = (await handedOut(VALUE)).hideStream();
  expect(stream.add(`x ${VALUE.slice(0, -1)}`) + stream.rest()).toBe(`x ${REDACTED}`);
  const short = (await handedOut(VALUE)).hideStream();
  expect(short.add('x p4ss') + short.rest()).toBe('x p4ss');
});

it.each<[string, SecretProvider | undefined, string, boolean, string | undefined]>([
  ['is missing', undefined, 'the config names no provider', false, undefined],
  [
    'throws',
    () => {
      throw new Error('vault sealed: token=abc');
    },
    'could not be read',
    true,
    'vault sealed',
  ],
  ['rejects', () => Promise.reject(new Error('refused')), 'could not be read', true, 'refused'],
  ['gives nothing', () => undefined, 'there is no secret "key"', false, undefined],
  ['gives an empty text', () => '', 'there is no secret "key"', false, undefined],
  // @ts-expect-error as JavaScript may
  ['gives a number', () => 12345678, 'there is no secret "key"', false, undefined],
])('says what is wrong where the provider %s', async (_, provider, message, retryable, warned) => {
  const warnings: string[] = [];
  const secrets = createSecrets(provider, (line) => warnings.push(line));
  const error: unknown = await secrets.get('key', never).catch((reason: unknown) => reason);
  expect(isToolError(error) && [error.message, error.retryable]).toEqual([
    expect.stringContaining(message),
    retryable,
  ]);
  expect(String(error)).not.toContain('sealed');
  expect(warnings).toEqual(warned === undefined ? [] : [expect.stringContaining(warned)]);
});

it('does not wait for a provider that hangs, nor longer than its call', async () => {
  const secrets = createSecrets(() => new Promise(() => undefined));
  const reason = new Error('cancelled');
  await expect(secrets.get('key', AbortSignal.timeout(20))).rejects.toThrow('timeout');
  await expect(secrets.get('key', AbortSignal.abort(reason))).rejects.toBe(reason);
}, 15_000);

it('hands out a short one, and warns that it will be seen', async () => {
  const warnings: string[] = [];
  const secrets = createSecrets(
    () => 'short',
    (line) => warnings.push(line),
  );
  expect(await secrets.get('pin', never)).toBe('short');
  expect(warnings).toEqual(['the secret "pin" is too short to be redacted']);
});

it('keeps the newest only, so that new tokens for each call do not fill the memory', async () => {
  const values = Array.from({ length: 201 }, (_, at) => `token-number-${at}.`);
  const { hide } = await handedOut(...values);
  expect(hide('token-number-0. token-number-1. token-number-200.')).toBe(
    `token-number-0. ${REDACTED} ${REDACTED}`,
  );
});

it('keeps one that is in use as long as the worker runs, however many come after it', async () => {
  const rest = Array.from({ length: 201 }, (_, at) => `token-number-${at}.`);
  const secrets = createSecrets(() => rest.shift());
  secrets.pin('header-of-a-server');
  secrets.pin('short');
  for (let at = 0; at < 201; at++) await secrets.get('key', never);
  expect(secrets.hide('header-of-a-server short')).toBe(`${REDACTED} short`);
});
