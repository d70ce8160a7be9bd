import { type Model, ModelError, type Settle } from '../../src/models/model';
import { openaiCompatible } from '../../src/models/openai-compatible';
import { ProviderGate } from '../../src/models/provider-gate';
import { completion, type FakeServer, json, requestOf, startServer } from './openai/server';

let server: FakeServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

let made = 0;
/** A model that shares its limits with no other test. */
const model = (more: { tokensPerMinute?: number } = {}, name = `m${(made += 1)}`): Model =>
  openaiCompatible({ baseUrl: server.baseUrl, model: name, apiKey: 'key', stream: false, ...more });

function admit(to: Model, tokens: number) {
  const controller = new AbortController();
  const state = { waits: false, passed: false };
  const asked = { tokens, signal: controller.signal, onWait: () => void (state.waits = true) };
  if (to.admit === undefined) throw new Error('it lets everything through');
  const own: Promise<Settle> = to.admit(asked).then((settle) => {
    state.passed = true;
    return settle;
  });
  own.catch(() => undefined);
  return { own, state, cancel: () => controller.abort(new Error('the turn was cancelled')) };
}

const says = (remaining: number, reset: string, limit = 1_000) =>
  json(completion({ content: 'hi' }), {
    headers: {
      'x-ratelimit-limit-tokens': String(limit),
      'x-ratelimit-remaining-tokens': String(remaining),
      'x-ratelimit-reset-tokens': reset,
    },
  });

test('a provider that has room lets everything through at once', async () => {
  const one = model();
  server.answer = says(900, '1h');
  await one.generate(requestOf());
  const { own, state } = admit(one, 800);
  await own;
  expect(state.waits).toBe(false);
});

test('what is let through counts before its answer is there', async () => {
  const one = model();
  server.answer = says(900, '1h');
  await one.generate(requestOf());
  await admit(one, 800).own;
  const next = admit(one, 200);
  expect(next.state.waits).toBe(true);
  next.cancel();
  await expect(next.own).rejects.toThrow('the turn was cancelled');
});

test('a call waits until there is room, and then goes', async () => {
  const one = model();
  server.answer = says(0, '600ms');
  await one.generate(requestOf());
  const since = performance.now();
  const { own, state } = admit(one, 500);
  expect(state).toEqual({ waits: true, passed: false });
  await own;
  // Half of the limit is there after half of the time.
  expect(performance.now() - since).toBeGreaterThan(200);
});

test('another name of a model has limits of its own, another object of the same name has not', async () => {
  server.answer = says(0, '1h');
  await model({}, 'shared').generate(requestOf());
  const same = admit(model({}, 'shared'), 500);
  const other = admit(model({}, 'unshared'), 500);
  await other.own;
  expect([same.state.waits, other.state.waits]).toEqual([true, false]);
  same.cancel();
  await expect(same.own).rejects.toThrow('cancelled');
});

test('a refusal with retry-after holds the other calls back too', async () => {
  const one = model();
  server.answer = json(
    { error: { message: 'slow down' } },
    { status: 429, headers: { 'retry-after': '30' } },
  );
  await expect(one.generate(requestOf())).rejects.toMatchObject({ kind: 'rate_limit' });
  const { own, state, cancel } = admit(one, 1);
  expect(state.waits).toBe(true);
  cancel();
  await expect(own).rejects.toThrow('cancelled');
});

test.each([
  ['nonsense', { 'x-ratelimit-remaining-tokens': 'none', 'x-ratelimit-reset-tokens': 'never' }],
  ['less than nothing', { 'x-ratelimit-remaining-tokens': '-1', 'x-ratelimit-reset-tokens': '0' }],
  ['nothing', {}],
])('a provider that says %s holds nothing back', async (_, headers: Record<string, string>) => {
  const one = model();
  server.answer = json(completion({ content: 'hi' }), { headers });
  await one.generate(requestOf());
  const { own, state } = admit(one, 1_000_000);
  await own;
  expect(state.waits).toBe(false);
});

describe('tokensPerMinute', () => {
  test('lets through what fits, in the order in which it was asked for; one that gives up holds nobody back', async () => {
    const one = model({ tokensPerMinute: 1_000 });
    await admit(one, 600).own;
    const large = admit(one, 600);
    const small = admit(one, 100);
    expect([large.state.waits, small.state.waits]).toEqual([true, true]);
    large.cancel();
    await small.own;
    expect(large.state.passed).toBe(false);
  });

  test('counts what was really used', async () => {
    const one = model({ tokensPerMinute: 1_000 });
    const settle = await admit(one, 900).own;
    settle({ inputTokens: 100, outputTokens: 100 });
    const next = admit(one, 800);
    await next.own;
    expect(next.state.waits).toBe(false);
  });

  test('is a number above zero', () => {
    for (const tokensPerMinute of [0, -1, 1.5, NaN])
      expect(() => model({ tokensPerMinute })).toThrow('tokensPerMinute');
  });
});

describe('where there is no room for long', () => {
  const gate = () => new ProviderGate({ said: 50, inAll: 100 });
  const asked = { tokens: 1_000, signal: new AbortController().signal, onWait: () => undefined };

  test('a call beyond tokensPerMinute fails as one that is refused, and says when to come back', async () => {
    const one = gate();
    await one.admit(asked, 1_000);
    const refused: unknown = await one.admit(asked, 1_000).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ModelError);
    expect(refused).toMatchObject({ kind: 'rate_limit', options: { retryable: true } });
    expect(refused).toHaveProperty('options.retryAfterMs', expect.closeTo(60_000, -4));
  });

  test('a call beyond what the provider said goes to it in the end', async () => {
    const one = gate();
    const headers = new Headers({ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1h' });
    one.heard({ headers, status: 200 });
    await expect(one.admit(asked)).resolves.toBeInstanceOf(Function);
  });
});
