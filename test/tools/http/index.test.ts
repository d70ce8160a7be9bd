import { rootCertificates } from 'node:tls';
import type { JsonObject } from '../../../src/contract/json';
import type { ToolResult } from '../../../src/contract/result';
import { makeContext } from '../../../src/tools/context';
import { createExecutor } from '../../../src/tools/executor';
import { createHttpTools, type HttpOptions } from '../../../src/tools/http';
import { asCalled } from '../../../src/tools/prepare';
import { createRegistry } from '../../../src/tools/registry';
import type { Policy, Tool } from '../../../src/tools/types';
import { useServer } from './servers';

const VALUE = 'p4ss/word+"of?us&me';

/** `/echo` answers with all that it was sent, in every form; `/404` with that. */
const server = useServer(({ url, headers }, response) => {
  if (url === '/404')
    return void response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
  if (url === '/slow') return void response.writeHead(200).write('a');
  const key = String(headers['x-key']);
  response.writeHead(200, { 'x-echo': key });
  response.end(
    [
      key,
      JSON.stringify({ key }),
      encodeURIComponent(key),
      new URLSearchParams({ key }).toString(),
      Buffer.from(`user:${key}`).toString('base64'),
      Buffer.from(key).toString('base64url'),
    ].join('\n'),
  );
});

const listed = (): HttpOptions => ({
  hosts: [server.host],
  privateHosts: [server.host],
  secrets: { KEY: { hosts: [server.host], headers: ['x-key'] } },
});

const toolOf = (options: HttpOptions): Tool => {
  const [tool] = createHttpTools(options);
  if (tool === undefined) throw new Error('there is no http_request');
  return tool;
};

interface How {
  options?: HttpOptions;
  approve?: boolean;
  policy?: Policy;
}

const call = (
  args: JsonObject,
  { options = listed(), approve = false, policy }: How = {},
): Promise<ToolResult> =>
  createExecutor({
    registry: createRegistry(createHttpTools(options)),
    secrets: (name) => (name === 'KEY' ? VALUE : undefined),
    policy,
  }).execute(
    { name: 'http_request', arguments: args },
    approve ? { approve: () => ({ decision: 'approved' }) } : {},
  );

const url = (path: string): string => `http://${server.host}${path}`;

it('is dangerous and unsafe, but for what reads from a listed host', () => {
  const tool = toolOf(listed());
  expect(tool).toMatchObject({
    name: 'http_request',
    safety: 'dangerous',
    effect: 'unsafe',
    retry: { maximumAttempts: 1 },
  });
  expect(asCalled(tool, { url: url('/') })).toMatchObject({
    safety: 'safe',
    effect: 'pure',
    retry: { maximumAttempts: 5 },
  });
  expect(asCalled(tool, { url: 'https://elsewhere.example/' })).toMatchObject({
    safety: 'dangerous',
    effect: 'pure',
  });
  expect(asCalled(tool, { url: url('/'), method: 'POST' })).toMatchObject({
    safety: 'dangerous',
    effect: 'unsafe',
  });
  expect(asCalled(tool, { url: 'nonsense' })).toMatchObject({ safety: 'dangerous', effect: 'unsafe' });
});

it('says in its description what needs no approval, and which secrets there are', () => {
  expect(toolOf(listed()).description).toContain(
    `GET and HEAD need no approval at: ${server.host}. Secrets: KEY.`,
  );
  expect(toolOf({}).description).not.toContain('GET');
});

it('reads from a listed host without a question', async () => {
  expect(await call({ url: url('/404') })).toMatchObject({
    success: true,
    content: expect.stringMatching(
      /^404 Not Found\n(.*\n)*content-type: text\/plain\n(.*\n)*\nnothing here$/,
    ),
    metadata: { safety_level: 'safe', approved: false },
  });
});

it.each<[string, JsonObject, How]>([
  ['POST', { method: 'POST' }, {}],
  ['GET of a host that is not listed', {}, { options: { privateHosts: ['127.0.0.1:1'] } }],
  ['a header that is not listed', { headers: { 'x-http-method-override': 'DELETE' } }, {}],
  ['a key in the URL', { url: 'PATH?token=abc' }, {}],
])('asks about %s, and sends nothing where nobody answers', async (_, args, how) => {
  const given = { url: url('/'), ...args };
  const where = given.url.replace('PATH', url('/'));
  const options = how.options === undefined ? listed() : { privateHosts: [server.host] };
  expect(await call({ ...given, url: where }, { options })).toMatchObject({ error: { code: 'denied' } });
  expect(server.connections()).toBe(0);
});

it('sends what was approved, once', async () => {
  const result = await call({ method: 'POST', url: url('/'), body: 'pay' }, { approve: true });
  expect(result).toMatchObject({ success: true, metadata: { safety_level: 'dangerous', approved: true } });
  expect(server.heard).toEqual([expect.objectContaining({ method: 'POST', body: 'pay' })]);
});

it('lets a policy ask about what is safe', async () => {
  const policy: Policy = ({ safety, effect }) => (safety === 'safe' && effect === 'pure' ? 'ask' : 'refuse');
  expect(await call({ url: url('/') }, { policy })).toMatchObject({ error: { code: 'denied' } });
  expect(await call({ url: url('/') }, { policy, approve: true })).toMatchObject({ success: true });
});

it('sends a secret by its name, and redacts every echo of it', async () => {
  const { content, arguments: args } = await call({
    url: url('/echo'),
    headers: { 'X-Key': '{{secret:KEY}}' },
  });
  expect(server.heard[0]?.headers['x-key']).toBe(VALUE);
  expect(args).toMatchObject({ headers: { 'x-key': '{{secret:KEY}}' } });
  expect(content).toContain('x-echo: [redacted]');
  expect(content.match(/\[redacted\]/g)).toHaveLength(7);
  for (const form of [VALUE, encodeURIComponent(VALUE), Buffer.from(VALUE).toString('base64').slice(0, -4)])
    expect(content).not.toContain(form);
});

it.each<[id: string, args: JsonObject]>([
  ['in the URL', { url: 'PATH?q=' + encodeURIComponent(VALUE) }],
  ['in a header', { url: 'PATH', headers: { 'x-other': VALUE, 'x-key': '{{secret:KEY}}' } }],
  ['in the body', { url: 'PATH', body: JSON.stringify({ a: VALUE }) }],
  [
    'in the body, in base64',
    { url: 'PATH', body: Buffer.from(`a:${VALUE}`).toString('base64'), body_encoding: 'base64' },
  ],
])('sends no request with the value of a secret %s', async (_, args) => {
  const executor = createExecutor({
    registry: createRegistry(createHttpTools(listed())),
    secrets: () => VALUE,
  });
  const approve = () => ({ decision: 'approved' as const });
  await executor.execute({
    name: 'http_request',
    arguments: { url: url('/'), headers: { 'x-key': '{{secret:KEY}}' } },
  });
  const given = { method: 'POST', ...args, url: String(args['url']).replace('PATH', url('/')) };
  expect(await executor.execute({ name: 'http_request', arguments: given }, { approve })).toMatchObject({
    error: { code: 'tool', message: expect.stringContaining('holds the value of a secret') },
  });
  expect(server.heard).toHaveLength(1);
});

it.each<[string, JsonObject, string]>([
  ['a private address', { url: 'http://169.254.169.254/' }, 'is a private address'],
  ['another scheme', { url: 'file:///etc/passwd' }, 'starts with http:// or https://'],
  [
    'a secret that goes elsewhere',
    { url: 'https://a.example/', headers: { 'x-key': '{{secret:KEY}}' } },
    'may not go to',
  ],
])('refuses %s before anybody is asked', async (_, args, why) => {
  const tool = toolOf(listed());
  const parsed = tool.parse(args);
  if (!parsed.ok) throw new Error('the arguments do not fit');
  const context = makeContext(
    { callId: '1.1', tool: tool.name },
    {},
    { signal: new AbortController().signal },
  );
  await expect(tool.preview?.(parsed.value, context)).rejects.toThrow(why);
  await expect(tool.handle(parsed.value, context)).rejects.toThrow(why);
});

it('says that nothing was sent where a secret cannot be read', async () => {
  const options = { ...listed(), secrets: { OTHER: { hosts: [server.host], headers: ['x-key'] } } };
  const result = await call(
    { method: 'POST', url: url('/'), headers: { 'x-key': '{{secret:OTHER}}' } },
    { options, approve: true },
  );
  expect(result).toMatchObject({ error: { code: 'tool', message: 'there is no secret "OTHER"' } });
  expect(server.connections()).toBe(0);
});

it('ends with its time, and says of a request with an effect that nobody knows what it did', async () => {
  const options = { ...listed(), timeout: 300 };
  expect(await call({ url: url('/slow') }, { options })).toMatchObject({ error: { code: 'timeout' } });
  const result = await call({ method: 'POST', url: url('/slow') }, { options, approve: true });
  expect(result.error).toMatchObject({ code: 'timeout', message: expect.stringContaining('is not known') });
});

describe('the preview', () => {
  const previewOf = async (
    args: JsonObject,
    options: HttpOptions = listed(),
  ): Promise<string | undefined> => {
    const tool = toolOf(options);
    const parsed = tool.parse(args);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    const context = makeContext(
      { callId: '1.1', tool: tool.name },
      {},
      { signal: new AbortController().signal },
    );
    return (await tool.preview?.(parsed.value, context))?.text;
  };

  it('shows method, host, path, headers with the names of secrets, and the body last', async () => {
    const headers = { 'Content-Type': 'application/json', 'X-Key': 'a {{secret:KEY}}' };
    expect(await previewOf({ method: 'POST', url: url('/pay?x=1'), headers, body: '{"a":\n1}' })).toBe(
      [
        `POST http://${server.host}/pay?x=1`,
        `to ${server.host}`,
        'content-type: application/json',
        'x-key: a {{secret:KEY}}',
        'with the secret KEY',
        '',
        'body, 8 bytes:',
        '{"a":\n1}',
      ].join('\n'),
    );
  });

  it.each([
    ['https://münchen.example/ä', 'GET https://xn--mnchen-3ya.example/%C3%A4\nto xn--mnchen-3ya.example'],
    ['https://аpple.example/', 'GET https://xn--pple-43d.example/\nto xn--pple-43d.example'],
    ['http://0x08080808/', 'GET http://8.8.8.8/\nto 8.8.8.8'],
    ['https://A.EXAMPLE/', 'GET https://a.example/\nto a.example'],
    ['https://a.example:443/', 'GET https://a.example/\nto a.example'],
  ])('of %s says where it really goes', async (given, text) => {
    expect(await previewOf({ url: given })).toBe(text);
  });

  it('shows bytes in base64', async () => {
    expect(
      await previewOf({ method: 'PUT', url: 'https://a.example/', body: 'AP8Q', body_encoding: 'base64' }),
    ).toBe('PUT https://a.example/\nto a.example\n\nbody, 3 bytes, here in base64:\nAP8Q');
  });
});

it('refuses hosts on no list where it is set so', async () => {
  const options: HttpOptions = { ...listed(), others: 'refuse' };
  const result = await call({ url: 'https://elsewhere.example/' }, { options, approve: true });
  expect(result).toMatchObject({
    error: { code: 'tool', message: expect.stringContaining('not among the hosts') },
  });
});

it.each<[string, HttpOptions]>([
  ['a host that is none', { hosts: ['https://a.example'] }],
  ['a * for everybody', { hosts: ['*.co.uk'] }],
  ['a private host that is none', { privateHosts: ['10.0.0.0/8'] }],
  ['a secret without hosts', { secrets: { a: { hosts: [], headers: ['x'] } } }],
  ['too few bytes', { maxBytes: 1 }],
  ['too many bytes', { maxBytes: 1e9 }],
  ['a certificate that is none', { ca: '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----' }],
  ['a time that is none', { timeout: 'soon' }],
])('refuses an option: %s', (_, options) => {
  expect(() => createHttpTools(options)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
});

describe('the digest', () => {
  const secrets = (use: { hosts: string[]; headers: string[] }): HttpOptions => ({ secrets: { KEY: use } });
  const key = { hosts: ['api.example.com'], headers: ['authorization', 'x-key'] };

  it.each<[string, HttpOptions, HttpOptions]>([
    ['nothing else', {}, {}],
    ['what is the default, said', {}, { others: 'ask', privateHosts: [], safeHeaders: [] }],
    ['private hosts in another order', { privateHosts: ['a', 'b'] }, { privateHosts: ['B', 'a', 'b'] }],
    ['headers in another order', { safeHeaders: ['x-a', 'x-b'] }, { safeHeaders: ['X-B', 'x-a'] }],
    [
      'the same secrets, written otherwise',
      secrets(key),
      secrets({ hosts: ['API.example.com'], headers: ['X-Key', 'authorization'] }),
    ],
    ['another time, other output', {}, { timeout: '1 minute', outputLimit: 1024, maxBytes: 4096 }],
  ])('is the same with %s', (_case, one, other) => {
    expect(toolOf(one).digest).toBe(toolOf(other).digest);
  });

  it.each<[string, HttpOptions, HttpOptions]>([
    ['a private host', {}, { privateHosts: ['10.0.0.7'] }],
    ['other requests refused', {}, { others: 'refuse' }],
    ['one more header', { safeHeaders: ['x-a'] }, { safeHeaders: ['x-a', 'x-b'] }],
    ['one more host for a secret', secrets(key), secrets({ ...key, hosts: [...key.hosts, 'b.example.com'] })],
    ['one less header for a secret', secrets(key), secrets({ ...key, headers: ['x-key'] })],
    ['certificates to trust', {}, { ca: rootCertificates[0] ?? '' }],
  ])('is another with %s', (_case, one, other) => {
    expect(toolOf(one).digest).not.toBe(toolOf(other).digest);
  });

  it('counts for a request that runs without a question, too', () => {
    const [one, other] = [toolOf(listed()), toolOf({ ...listed(), others: 'refuse' })];
    const args = { url: url('/') };
    expect(asCalled(one, args).digest).toBe(one.digest);
    expect(asCalled(one, args).digest).not.toBe(asCalled(other, args).digest);
  });
});
