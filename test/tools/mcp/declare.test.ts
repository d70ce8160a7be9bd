import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  declaredServers,
  fillVariables,
  variablesIn,
  serversSchema,
  usesLogin,
} from '../../../src/tools/mcp/declare';
import { scratchDirectory } from '../../support/scratch';

const scratch = scratchDirectory();

describe('servers', () => {
  it('are read as other clients write them', async () => {
    const file = join(scratch(), '.mcp.json');
    const servers = {
      'My Files': { command: 'npx', args: ['-y', 'files@1.2.3'], disabled: false, alwaysAllow: ['read'] },
      web: { type: 'http', url: 'https://mcp.example.com', headers: { Authorization: 'Bearer ${TOKEN}' } },
    };
    writeFileSync(file, JSON.stringify({ mcpServers: servers, inputs: [] }));
    expect(await declaredServers(file)).toEqual([
      {
        name: 'My Files',
        prefix: 'my_files',
        start: { kind: 'stdio', command: 'npx', args: ['-y', 'files@1.2.3'], cwd: '.', env: {} },
      },
      {
        name: 'web',
        prefix: 'web',
        start: {
          kind: 'http',
          url: 'https://mcp.example.com',
          headers: { Authorization: 'Bearer ${TOKEN}' },
        },
      },
    ]);
  });

  it.each([
    ['no file', undefined],
    ['no JSON', 'servers:'],
    ['no servers', '{}'],
    ['a server with neither command nor url', '{"mcpServers":{"a":{"args":[]}}}'],
    ['a name that could end early', '{"mcpServers":{"a__b":{"command":"x"}}}'],
    [
      'a client secret without the place that it is for',
      '{"mcpServers":{"a":{"url":"https://x","oauth":{"clientId":"c","clientSecret":"s"}}}}',
    ],
    ['a scope that is none', '{"mcpServers":{"a":{"url":"https://x","oauth":{"scopes":["a b"]}}}}'],
    ['a port that is none', '{"mcpServers":{"a":{"url":"https://x","oauth":{"callbackPort":0}}}}'],
    ['another transport', '{"mcpServers":{"a":{"type":"sse","url":"https://x"}}}'],
    [
      'a command that does not fit, beside an address',
      '{"mcpServers":{"a":{"command":"x","args":"oops","url":"https://x"}}}',
    ],
    ['a state that is none', '{"mcpServers":{"a":{"command":"x","state":"call"}}}'],
  ])('are refused: %s', async (_case, text) => {
    const file = join(scratch(), '.mcp.json');
    if (text !== undefined) writeFileSync(file, text);
    await expect(declaredServers(file)).rejects.toMatchObject({ code: 'config_invalid' });
  });

  it('may say how people log in, beside what other clients keep there', async () => {
    const oauth = { clientId: 'ours', scopes: ['read'], callbackPort: 8123 };
    const [server] = await declaredServers({
      web: { url: 'https://x', oauth: { ...oauth, ...{ enabled: true } } },
    });
    expect(server?.start).toEqual({ kind: 'http', url: 'https://x', headers: {}, oauth });
  });

  it.each([
    [{}, true],
    [{ 'X-Team': 'a' }, true],
    [{ Authorization: 'x' }, false],
    [{ aUTHORIZATION: 'x' }, false],
  ])('with the headers %j have a login: %s', (headers, expected) => {
    expect(usesLogin({ kind: 'http', url: 'https://x', headers })).toBe(expected);
  });

  it('are refused where their tools would be called the same', async () => {
    await expect(declaredServers({ 'a-b': { command: 'x' }, 'A b': { command: 'x' } })).rejects.toMatchObject(
      {
        code: 'config_invalid',
        message: expect.stringContaining('a_b'),
      },
    );
  });

  it.each(['constructor', 'a__b', '_a', '-', '', 'ä', 'a'.repeat(33)])('checks the name %j', (name) => {
    expect(serversSchema.safeParse({ [name]: { command: 'x' } }).success).toBe(name === 'constructor');
  });
});

it.each([
  ['GitHub', 'github'],
  ['my-server.v2', 'my_server_v2'],
])('%s is the prefix %s', async (name, prefix) => {
  expect(await declaredServers({ [name]: { command: 'x' } })).toMatchObject([{ prefix }]);
});

it.each([
  ['${A}', 'one'],
  ['x-${A}-${B:-two}', 'x-one-two'],
  ['$A and ${}', '$A and ${}'],
  ['${NESTED}', '${A}'],
])('%s is filled in as %s', (text, expected) => {
  Object.assign(process.env, { A: 'one', NESTED: '${A}' });
  expect(fillVariables(text)).toBe(expected);
  delete process.env['A'];
  delete process.env['NESTED'];
});

it('names a variable that is not set', () => {
  expect(() => fillVariables('${NOT_SET}')).toThrow(/NOT_SET/);
  expect([variablesIn('${A}/${B:-b}'), variablesIn('$A')]).toEqual([['A', 'B'], []]);
});

it.each<['worker' | 'turn' | 'session' | undefined, string | undefined]>([
  [undefined, undefined],
  ['worker', undefined],
  ['turn', 'turn'],
  ['session', 'session'],
])('gives a server with the state %s connections by %s', async (state, expected) => {
  const own = state === undefined ? {} : { state };
  const servers = await declaredServers({ a: { command: 'x', ...own }, b: { url: 'https://x', ...own } });
  expect(servers.map((one) => one.state)).toEqual([expected, expected]);
});

it('says what is wrong with a state', async () => {
  const file = join(scratch(), '.mcp.json');
  writeFileSync(file, '{"mcpServers":{"a":{"url":"https://x","state":"forever"}}}');
  await expect(declaredServers(file)).rejects.toThrow("`state` is 'worker', 'turn' or 'session'");
});
