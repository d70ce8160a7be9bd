import type { RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createWebhook } from '../../src/notify/webhook-and-command';
import { openSlack } from '../../src/notify/slack-api';
import { openaiCompatible } from '../../src/models/openai-compatible';
import { openai } from '../../src/models/providers';
import { CountersignError } from '../../src/contract/errors';
import type { Model } from '../../src/models/model';
import { connect as connectClient } from '../../src/client/connect';
import { outgoingFetch, proxyFor } from '../../src/system/proxies';
import { createOidc } from '../../src/server/auth/oidc';
import { createProxy } from '../../src/server/auth/proxy';
import { openFileStore } from '../../src/store';
import { postToInbox } from '../../src/client/stream-news';
import { createExecutor } from '../../src/tools/executor';
import { createHttpTools } from '../../src/tools/http';
import { hostList } from '../../src/tools/http/hosts';
import { systemLookup } from '../../src/tools/http/send';
import { sendOutside } from '../../src/tools/http/send-outside';
import { safeFetch } from '../../src/tools/mcp/oauth';
import { createRegistry } from '../../src/tools/registry';
import { APP_TOKEN, BOT_TOKEN, startSlackServer } from '../notify/slack-server';
import { notice } from '../notify/support';
import { type HttpProxy, ownProxyVariables, type ProxyAnswers, startHttpProxy } from '../support/http-proxy';
import { useServer } from '../tools/http/servers';
import { account } from '../tools/mcp/login-support';
import { always, connect } from '../tools/mcp/support';

ownProxyVariables();
let proxy: HttpProxy;
let how: ProxyAnswers;
beforeEach(async () => {
  how = { answer: (_, response) => void response.end('{}') };
  proxy = await startHttpProxy(how);
  process.env['HTTP_PROXY'] = proxy.url;
});
afterEach(() => proxy.close());

const json = (value: unknown): RequestListener => {
  return (_, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};

const askModel = (model: Model) =>
  model.generate({
    instructions: 'Help.',
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [],
    signal: always(),
  });

const REPLY = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
};
const chat = (): Model => openaiCompatible({ baseUrl: 'http://models.test/v1', model: 'm', stream: false });

const network = () => ({
  privateHosts: hostList('privateHosts', [], (_, why) => new CountersignError('usage', why)),
  ...{ lookup: systemLookup, maxBytes: 1000, signal: always() },
});

/** Somebody who sends requests, what the proxy answers in place of the server, and what it is asked for. */
type Caller = [name: string, answer: RequestListener, act: () => Promise<unknown>, asked: string];

describe('through the proxy goes', () => {
  it.each<Caller>([
    ['a model', json(REPLY), () => askModel(chat()), 'POST http://models.test/v1/chat/completions'],
    [
      'a model of a provider',
      json({}),
      () => askModel(openai({ model: 'm', apiKey: 'k', baseUrl: 'http://openai.test/v1' })).catch(() => 0),
      'POST http://openai.test/v1/responses',
    ],
    [
      'an MCP server',
      (_, response) => void response.writeHead(403).end(),
      () => {
        const start = { kind: 'http', url: 'http://mcp.test/mcp', headers: {} } as const;
        const { connection } = connect({ name: 'far', prefix: 'far', start });
        return connection
          .list(always())
          .catch(() => 0)
          .finally(() => connection.close());
      },
      'POST http://mcp.test/mcp',
    ],
    [
      'the login at an MCP server',
      json({}),
      () =>
        safeFetch(account('http://127.0.0.1:9998/mcp'))('http://127.0.0.1:9998/token', { method: 'POST' }),
      'POST http://127.0.0.1:9998/token',
    ],
    [
      'a webhook',
      json({}),
      () =>
        Promise.resolve(
          createWebhook('http://hooks.test/x', Buffer.alloc(16)).deliver(notice('a'), always(), undefined),
        ),
      'POST http://hooks.test/x',
    ],
    [
      'a message to a browser',
      json({}),
      () =>
        sendOutside(
          {
            method: 'POST',
            url: new URL('http://push.test/x'),
            headers: [['ttl', '1']],
            body: Buffer.from('a'),
          },
          network(),
        ),
      'POST http://push.test/x',
    ],
    [
      'the issuer of a web inbox',
      json({ issuer: 'http://127.0.0.1:9998' }),
      () => createOidc({ issuer: 'http://127.0.0.1:9998', clientId: 'c' }, 'http://127.0.0.1:7243').check(),
      'GET http://127.0.0.1:9998/.well-known/openid-configuration',
    ],
    [
      'the store of files',
      json({}),
      async () => {
        const env = {
          AWS_ACCESS_KEY_ID: 'k',
          AWS_SECRET_ACCESS_KEY: 's',
          AWS_ENDPOINT_URL_S3: 'http://s3.test',
        };
        return openFileStore('s3://files', { env })?.put({ name: 'a.txt', bytes: Buffer.from('a') });
      },
      'PUT http://s3.test/files/ca/ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb',
    ],
    [
      'news for the web inbox',
      json({}),
      () => postToInbox({ url: 'http://inbox.test', token: 't' }, '/api/stream/news', {}),
      'POST http://inbox.test/api/stream/news',
    ],
  ])('%s', async (_name, answer, act, asked) => {
    how.answer = answer;
    await act();
    expect(proxy.asked).toEqual([asked]);
  });

  it('what asks for the keys of a proxy that signs people in', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    how.answer = json({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] });
    const token = await new SignJWT({ sub: 'ann' })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer('i')
      .setAudience('a')
      .setExpirationTime('1h')
      .sign(privateKey);
    const keys = { url: 'http://keys.test/jwks' };
    const signedIn = createProxy({ header: 'x', issuer: 'i', audience: 'a', keys });
    expect(await signedIn.identify(token)).toMatchObject({ subject: 'ann' });
    expect(proxy.asked).toEqual(['GET http://keys.test/jwks']);
  });

  it('Slack, by its interface and by its socket', async () => {
    const server = await startSlackServer();
    try {
      const api = await openSlack({ api: server.api, token: BOT_TOKEN, appToken: APP_TOKEN });
      expect(await api.identify()).toMatchObject({ team: 'T1' });
      const socket = api.openSocket();
      await socket.start();
      await socket.disconnect();
      const { host } = new URL(server.api);
      expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${host}`]));
      expect(proxy.asked.length).toBeGreaterThanOrEqual(3);
    } finally {
      await server.close();
    }
  });
});

it.each(['127.0.0.1:1', 'localhost:1', '[::1]:1'])('no client asks for a server at %s', async (address) => {
  for (const name of ['http_proxy', 'https_proxy']) process.env[name] = proxy.url;
  await expect(connectClient({ address, timeoutMs: 100 })).rejects.toMatchObject({ code: 'no_server' });
  expect(proxy.asked).toEqual([]);
});

it('passes on what a server answers, and the body that it gets', async () => {
  how.answer = (request, response) => {
    response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], 'x-length': request.headers['content-length'] });
    request.pipe(response);
  };
  const asked = new Request('http://far.test/', { method: 'PUT', body: 'grün' });
  const answer = await outgoingFetch(asked);
  expect(answer).toBeInstanceOf(Response);
  expect([answer.status, answer.headers.get('x-length'), await answer.text()]).toEqual([201, '5', 'grün']);
  expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  how.answer = (_, response) => void response.writeHead(204).end();
  expect((await outgoingFetch('http://far.test/')).body).toBeNull();
});

it('ends with its signal', async () => {
  how.answer = () => undefined;
  const ended = outgoingFetch('http://far.test/', { signal: AbortSignal.timeout(20) });
  await expect(ended).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('gives the proxy the name and the password of its address, whatever letters they have', async () => {
  process.env['HTTP_PROXY'] = proxy.url.replace('//', '//ann:50%25%zz@');
  await outgoingFetch('http://far.test/');
  const [sent = ''] = proxy.authorizations;
  expect(Buffer.from(sent.replace('Basic ', ''), 'base64').toString()).toBe('ann:50%%zz');
});

const local = useServer((_, response) => void response.end('here'));

it('leaves out hosts that NO_PROXY names', async () => {
  process.env['NO_PROXY'] = 'localhost, 127.0.0.1';
  expect(await (await outgoingFetch(`http://${local.host}/`)).text()).toBe('here');
  expect(proxy.asked).toEqual([]);
});

it('is not asked by http_request', async () => {
  const tools = createHttpTools({ hosts: [local.host], privateHosts: [local.host] });
  const executor = createExecutor({ registry: createRegistry(tools) });
  const result = await executor.execute({
    name: 'http_request',
    arguments: { url: `http://${local.host}/` },
  });
  expect(result).toMatchObject({ success: true });
  expect(local.heard).toHaveLength(1);
  expect(proxy.asked).toEqual([]);
});

it('reaches no private address in its place', async () => {
  const request = { method: 'POST', url: new URL('http://10.0.0.1/'), headers: [], body: undefined } as const;
  await expect(sendOutside(request, network())).rejects.toThrow('10.0.0.1 is a private address');
  expect(proxy.asked).toEqual([]);
});

it.each([
  ['http://a.test/', 'http_proxy'],
  ['https://a.test/', 'https_proxy'],
  ['https://a.test/', 'http_proxy', { https_proxy: '' }],
  ['https://a.test/', 'HTTPS_PROXY', { https_proxy: '' }],
  ['https://not.test/', undefined],
  ['https://x.NOT.test/', undefined],
  ['https://cannot.test/', 'https_proxy'],
  ['https://x.dot.test/', undefined],
  ['https://x.star.test/', undefined],
  ['https://port.test:8443/', undefined],
  ['https://port.test/', 'https_proxy'],
  ['https://usual.test/', undefined],
  ['http://usual.test/', 'http_proxy'],
  ['http://[::1]:8080/', undefined],
  ['http://[::2]:80/', undefined],
  ['http://10.1.2.3/', undefined],
  ['http://172.20.9.9/', undefined],
  ['http://172.32.0.1/', 'http_proxy'],
  ['http://[fd00::7]/', undefined],
  ['http://[::ffff:a01:203]/', 'http_proxy'],
  ['http://a.test/', 'http_proxy', { no_proxy: '10.0.0.0/8,a/8,1.2.3.4/99,/8' }],
  ['http://localhost/', 'http_proxy'],
  ['http://a.test/', undefined, { no_proxy: '*' }],
])('%s is reached by %s', (url, name, more: Record<string, string> = {}) => {
  const env = {
    ...{ http_proxy: 'http://p:1', https_proxy: 'https://q:2' },
    ...(name === 'HTTPS_PROXY' ? { HTTPS_PROXY: 'http://r:3' } : {}),
    NO_PROXY:
      'not.test .dot.test,*.star.test, port.test:8443,usual.test:443,::1,[::2]:80,10.1.2.3,172.16.0.0/12,fd00::/8',
    ...more,
  };
  expect(proxyFor(new URL(url), env)?.name).toBe(name);
});

it.each(['proxy.test:3128', 's3cret', 'socks5://ann:s3cret@proxy.test', 'ann:s3cret@proxy.test:1', '//x'])(
  'says that %s does not name a proxy, and does not repeat it',
  async (value) => {
    process.env['HTTP_PROXY'] = value;
    const error: unknown = await outgoingFetch('http://far.test/').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      cause: { code: 'proxy_failed', message: 'HTTP_PROXY is not the http(s) URL of a proxy' },
    });
    expect(JSON.stringify(error)).not.toContain(value);
    await expect(askModel(chat())).rejects.toMatchObject({
      kind: 'request',
      message: 'models.test/m: HTTP_PROXY is not the http(s) URL of a proxy',
    });
  },
);

describe('a proxy that', () => {
  const host = (): string => new URL(proxy.url).host;

  it.each<[number, RegExp, string]>([
    [407, /wants a name and a password, or others \(HTTP 407\); nothing was sent$/, 'request'],
    [403, /answers HTTP 403; nothing was sent$/, 'request'],
    [502, /answers HTTP 502; nothing was sent$/, 'network'],
    [0, /cannot be reached \(UND_ERR_SOCKET\); nothing was sent$/, 'network'],
  ])('answers a tunnel with %s is named', async (status, why, kind) => {
    how.refuse = status;
    process.env['HTTPS_PROXY'] = proxy.url.replace('//', '//ann:s3cret@');
    const model = openaiCompatible({ baseUrl: 'https://models.test/v1', model: 'm' });
    const error: unknown = await askModel(model).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind, message: expect.stringMatching(why) });
    expect(error).toMatchObject({ message: expect.stringContaining(`the proxy ${host()} of HTTPS_PROXY`) });
    expect(JSON.stringify(error)).not.toContain('s3cret');
    expect(proxy.asked).toEqual(['CONNECT models.test:443']);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a model', () => askModel(chat())],
    [
      'a webhook',
      async () =>
        createWebhook('http://hooks.test/', Buffer.alloc(16)).deliver(notice('a'), always(), undefined),
    ],
    [
      'an issuer',
      () => createOidc({ issuer: 'http://127.0.0.1:9998', clientId: 'c' }, 'http://127.0.0.1:7243').check(),
    ],
    ['the inbox', () => postToInbox({ url: 'http://inbox.test', token: 't' }, '/', {})],
    ['Slack', async () => (await openSlack({ api: 'http://slack.test/api', token: BOT_TOKEN })).identify()],
  ])('wants a password is named to %s', async (_name, act) => {
    how.refuse = 407;
    await expect(act()).rejects.toThrow(
      `the proxy ${host()} of HTTP_PROXY wants a name and a password, or others (HTTP 407)`,
    );
  });

  it('cannot be reached is named, and asked again', async () => {
    proxy.close();
    await expect(askModel(chat())).rejects.toMatchObject({
      kind: 'network',
      message: `models.test/m: the proxy ${host()} of HTTP_PROXY cannot be reached (ECONNREFUSED); nothing was sent`,
    });
  });
});
