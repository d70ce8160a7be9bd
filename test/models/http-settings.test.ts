import { CountersignError } from '../../src/contract/errors';
import { type HttpModelKind, toSettings } from '../../src/models/http-settings';
import { openaiCompatible, type OpenAICompatibleOptions } from '../../src/models/openai-compatible';

const KIND: HttpModelKind = { name: 'test' };
const SECRET = 'sk-not-to-be-shown-1234';
const base = { baseUrl: 'https://api.example.com/v1', model: 'gpt' };

function errorOf(options: unknown): CountersignError {
  try {
    openaiCompatible(options as OpenAICompatibleOptions);
  } catch (error) {
    if (error instanceof CountersignError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

it('fills in the defaults', () => {
  expect(toSettings(KIND, base)).toEqual({
    id: 'api.example.com/gpt',
    baseUrl: 'https://api.example.com/v1',
    model: 'gpt',
    apiKey: undefined,
    headers: {},
    timeoutMs: 300_000,
    stream: undefined,
    takes: [],
    secrets: [],
  });
});

it.each([
  [1500, 1500],
  ['2 minutes', 120_000],
  ['250ms', 250],
])('takes a timeout of %p', (timeout, timeoutMs) => {
  expect(toSettings(KIND, { ...base, timeout })).toMatchObject({ timeoutMs });
});

describe('the key', () => {
  const name = 'COUNTERSIGN_TEST_KEY';
  afterEach(() => {
    delete process.env[name];
  });

  it.each([SECRET, ` ${SECRET}\n`])('is read from the environment and trimmed', (value) => {
    process.env[name] = value;
    expect(toSettings(KIND, { ...base, apiKey: { env: name } })).toMatchObject({
      apiKey: SECRET,
      secrets: [SECRET],
    });
  });

  it.each<[string, unknown, RegExp]>([
    ['a variable that is not set', { env: name }, /COUNTERSIGN_TEST_KEY is not set/],
    ['empty text', '', /apiKey is empty/],
    ['blanks', '  ', /apiKey is empty/],
    ['process.env of a variable that is not set', undefined, /apiKey is empty/],
    ['a line break inside', `${SECRET}\n${SECRET}`, /a header cannot carry/],
    ['a number', 5, /apiKey/],
  ])('%s is refused', (_, apiKey, message) => {
    const error = errorOf({ ...base, apiKey });
    expect(error).toMatchObject({ code: 'config_invalid' });
    expect(error.message).toMatch(message);
    expect(`${error.message}${error.hint}`).not.toContain(SECRET);
  });

  it('empty in the environment is refused', () => {
    process.env[name] = '';
    expect(errorOf({ ...base, apiKey: { env: name } }).hint).toContain(name);
  });
});

it.each<[string, Record<string, unknown>, RegExp]>([
  ['no URL', { baseUrl: 'api.example.com' }, /baseUrl/],
  ['another protocol', { baseUrl: 'file:///etc' }, /baseUrl/],
  ['an URL with a password', { baseUrl: `https://me:${SECRET}@example.com` }, /user, password/],
  ['an URL with a query', { baseUrl: `https://example.com/?key=${SECRET}` }, /query/],
  ['no model', { model: '' }, /model/],
  ['an unknown option', { retries: 3 }, /retries/],
  ['a header that cannot be sent', { headers: { 'x-key': `${SECRET}\nx: y` } }, /header "x-key"/],
  ['a name that is no header', { headers: { 'x key': SECRET } }, /header "x key"/],
  ['a timeout that is none', { timeout: 'soon' }, /timeout/],
  ['a timeout of nothing', { timeout: 0 }, /timeout/],
  ['a timeout without end', { timeout: Infinity }, /timeout/],
  ['a timeout of a month', { timeout: '30 days' }, /timeout/],
  ['a timeout of empty text', { timeout: '' }, /timeout/],
])('%s is refused', (_, more, message) => {
  const error = errorOf({ ...base, ...more });
  expect(error).toMatchObject({ code: 'config_invalid' });
  expect(error.message).toMatch(message);
  expect(`${error.message}${error.hint}${String(error.stack)}`).not.toContain(SECRET);
});

it('treats the values of headers with keys as secrets, and no others', () => {
  const headers = { 'x-api-key': SECRET, authorization: 'Bearer abcdefghij', 'x-title': 'my agent' };
  const { secrets } = toSettings(KIND, { ...base, headers });
  expect([...new Set(secrets)].sort()).toEqual(['Bearer abcdefghij', 'abcdefghij', SECRET].sort());
});
