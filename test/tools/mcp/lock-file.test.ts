import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { McpStart } from '../../../src/tools/mcp/declare';
import type { Definition } from '../../../src/tools/mcp/definition';
import {
  formatLock,
  isAgreed,
  type Lock,
  lockedServer,
  lockStart,
  lockTool,
  readLock,
  standings,
} from '../../../src/tools/mcp/lock-file';
import { scratchDirectory } from '../../support/scratch';

const scratch = scratchDirectory();
const read: Definition = { name: 'read', inputSchema: { type: 'object' }, description: 'Reads.' };
const stdio = (command: string, ...args: string[]): McpStart => ({
  kind: 'stdio',
  command,
  args,
  cwd: '.',
  env: {},
});
const lock = (): Lock => ({
  version: 1,
  servers: { files: { start: lockStart(stdio('files')), tools: { read: lockTool(read) } } },
});

describe('the file', () => {
  const written = (text: string): string => {
    const path = join(scratch(), 'lock');
    writeFileSync(path, text);
    return path;
  };

  it('comes back as it was written', async () => {
    expect(await readLock(written(formatLock(lock())))).toEqual(lock());
  });

  it('is empty where it is not there', async () => {
    expect(await readLock(join(scratch(), 'none'))).toEqual({ version: 1, servers: {} });
  });

  it.each([
    ['no JSON', 'x'],
    ['another version', '{"version":2,"servers":{}}'],
    ['a tool that is not the one of its digest', formatLock(lock()).replace('Reads.', 'Sends me your keys.')],
    ['a tool under another name', formatLock(lock()).replace('"read": {', '"write": {')],
  ])('is refused: %s', async (_case, text) => {
    await expect(readLock(written(text))).rejects.toMatchObject({ code: 'config_invalid' });
  });

  it('has nothing of a server that is only a name of JavaScript', () => {
    expect(lockedServer(lock(), 'constructor')).toBeUndefined();
  });
});

describe('how a server is started', () => {
  const env = { TOKEN: 'hunter2hunter2', HOST: '${HOST}', KEY: { secret: 'key' } };
  const start: McpStart = { kind: 'stdio', command: 'files', args: ['--all'], cwd: '.', env };

  it('says how people log in, without the secret, and without the port of their machine', () => {
    const oauth = {
      clientId: 'ours',
      clientSecret: 'hunter2hunter2',
      issuer: 'https://as',
      scopes: ['read'],
    };
    const far: McpStart = { kind: 'http', url: 'https://x', headers: {}, oauth };
    const locked = { start: lockStart(far), tools: {} };
    expect(JSON.stringify(locked)).not.toContain('hunter2');
    for (const change of [{ clientId: 'other' }, { scopes: ['read', 'write'] }, { issuer: 'https://other' }])
      expect(isAgreed(lockStart({ ...far, oauth: { ...oauth, ...change } }), locked)).toBe(false);
    expect(isAgreed(lockStart({ ...far, oauth: { ...oauth, callbackPort: 1 } }), locked)).toBe(true);
    const text = formatLock({ version: 1, servers: { far: locked } });
    const path = join(scratch(), 'lock');
    writeFileSync(path, text);
    return expect(readLock(path)).resolves.toEqual({ version: 1, servers: { far: locked } });
  });

  it('is kept with the sources of values, never with the values', () => {
    const text = JSON.stringify(lockStart(start));
    expect(text).not.toContain('hunter2');
    expect(lockStart(start)).toMatchObject({ env: { HOST: '${HOST}', KEY: 'secret key' } });
  });

  it.each([
    ['command', { command: 'other' }],
    ['argument', { args: ['--all', '--really'] }],
    ['folder', { cwd: '/tmp' }],
    ['variable', { env: { ...env, NODE_OPTIONS: '--require ./x' } }],
    ['value', { env: { ...env, TOKEN: 'hunter3hunter3' } }],
    ['source of a value', { env: { ...env, KEY: { secret: 'other' } } }],
  ])('is not what was agreed to with another %s', (_what, change) => {
    const locked = { start: lockStart(start), tools: {} };
    expect(isAgreed(lockStart(start), locked)).toBe(true);
    expect(isAgreed(lockStart({ ...start, ...change }), locked)).toBe(false);
  });
});

it('says how each tool stands', () => {
  const locked = { tools: { read: lockTool(read), gone: lockTool({ ...read, name: 'gone' }) } };
  const listed = [
    { ...read, description: 'Reads, and tells me.' },
    { ...read, name: 'new' },
    { ...read, name: 'constructor' },
  ];
  expect(Object.fromEntries(standings(locked, listed))).toEqual({
    read: 'changed',
    gone: 'gone',
    new: 'new',
    constructor: 'new',
  });
  expect([...standings(locked, [read]).values()]).toEqual(['allowed', 'gone']);
});
